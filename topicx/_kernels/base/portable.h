/* What compilers have different names for. */
#ifndef TOPICX_PORTABLE_H
#define TOPICX_PORTABLE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#if defined(__GNUC__)
#define tx_prefetch(p) __builtin_prefetch((p), 0, 3)
#define tx_first_bit(m) __builtin_ctzll(m)
#else
#define tx_prefetch(p) ((void)(p))
static inline int tx_first_bit(uint64_t m) { int i = 0; while (!(m >> i & 1)) i++; return i; }
#endif

/* Eight bytes as a number, the first in its lowest bits. */
static inline uint64_t tx_eight(const void *p) {
    uint64_t value;
    memcpy(&value, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

/* Zero bytes for `free`, of which any may be read and written: many of them in large pages, where there are such, and
   written at once (a page that is read before it is written is made twice, and other threads stop for that). */
static inline void *tx_zeroed(size_t size) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    void *block;
    if (size >= 1 << 21) {
        if (posix_memalign(&block, 1 << 21, size)) return NULL;
        madvise(block, size, MADV_HUGEPAGE);
        return memset(block, 0, size);
    }
#endif
    return calloc(size, 1);
}

#endif
