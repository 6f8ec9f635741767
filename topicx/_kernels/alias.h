/* The hot loop of alias.pyx, over 16 lanes. */
#ifndef TOPICX_ALIAS_H
#define TOPICX_ALIAS_H

#include "clones.h"

/* The entry of a document's list on which r falls: see document_sums in gathers.h. */
TX_CLONES static int64_t tx_document_find(const float *sums, const float *ends, int64_t chunks, float r) {
    return tx_find(tx_load(ends), sums, chunks, r);
}

#endif
