/* Functions compiled for several CPUs, for plain loops that compilers make vectors of (what counts in lanes is a body
 * of vectors.h instead).
 *
 * TX_CLONED(type, name, parameters, arguments) after an inline function name_body makes `name`: the body compiled for
 * AVX-512, AVX2 and the baseline, chosen when it is called. Every operation is a single IEEE one in a fixed order, and
 * contraction is off: each clone gives the same bits. GCC's target_clones would be shorter, but needs glibc and GCC. */
#ifndef TOPICX_CLONES_H
#define TOPICX_CLONES_H

#include "cpu.h"

#define TX_INLINE static inline __attribute__((always_inline, unused))
#define TX_CLONE static __attribute__((noinline, unused))

#ifdef TX_X86
/* The set of this process. Threads that find it at the same time find the same. */
static inline int tx_clone_set(void) {
    static int set = -1;
    const int known = __atomic_load_n(&set, __ATOMIC_RELAXED);
    if (__builtin_expect(known >= 0, 1)) return known;
    const int found = tx_instruction_set();
    __atomic_store_n(&set, found, __ATOMIC_RELAXED);
    return found;
}

#define TX_CLONED(type, name, parameters, arguments) \
    TX_CLONE __attribute__((target("avx2,avx512f,avx512bw,avx512dq,avx512vl"))) type name##_avx512 parameters { \
        return name##_body arguments; \
    } \
    TX_CLONE __attribute__((target("avx2"))) type name##_avx2 parameters { return name##_body arguments; } \
    TX_CLONE type name##_plain parameters { return name##_body arguments; } \
    TX_INLINE type name parameters { \
        const int set = tx_clone_set(); \
        return set == 2 ? name##_avx512 arguments : set == 1 ? name##_avx2 arguments : name##_plain arguments; \
    }
#else
#define TX_CLONED(type, name, parameters, arguments) \
    TX_CLONE type name parameters { return name##_body arguments; }
#endif

#endif
