/* Functions compiled for several CPUs, for plain loops that compilers make vectors of (what counts in lanes is a body of
 * vectors.h instead).
 *
 * TX_CLONES before a function: compile it for AVX-512, AVX2 and the baseline, and choose at load time. Every operation is
 * a single IEEE one in a fixed order, and contraction is off: each clone gives the same bits. */
#ifndef TOPICX_CLONES_H
#define TOPICX_CLONES_H

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && !defined(TX_NO_CLONES)
#define TX_CLONES __attribute__((noinline, unused, target_clones("avx512f", "avx2", "default")))
#else
#define TX_CLONES __attribute__((noinline, unused))
#endif
#define TX_INLINE static inline __attribute__((always_inline, unused))

#endif
