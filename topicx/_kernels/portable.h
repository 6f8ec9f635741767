/* What compilers have different names for. */
#ifndef TOPICX_PORTABLE_H
#define TOPICX_PORTABLE_H

#include <stdint.h>

#if defined(__GNUC__)
#define tx_prefetch(p) __builtin_prefetch((p), 0, 3)
#define tx_first_bit(m) __builtin_ctzll(m)
#else
#define tx_prefetch(p) ((void)(p))
static inline int tx_first_bit(uint64_t m) { int i = 0; while (!(m >> i & 1)) i++; return i; }
#endif

#endif
