/* Which vectors this processor has, asked of the processor itself: __builtin_cpu_supports needs a part of the
 * compiler's library that not every linker finds (zig's does not). TOPICX_INSTRUCTIONS (plain, avx2, avx512) asks for fewer. */
#ifndef TOPICX_CPU_H
#define TOPICX_CPU_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define TX_X86 1
#include <cpuid.h>
#include <immintrin.h>
#endif

#ifdef TX_X86
/* The registers that the system saves when it switches threads: without that, what the processor could do is no use. */
static inline uint32_t tx_saved_registers(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static inline int tx_all_bits(uint32_t found, uint32_t wanted) { return (found & wanted) == wanted; }
#endif

/* 0: plain, 1: AVX2 (with POPCNT, BMI, BMI2), 2: AVX-512 (F, DQ, BW, VL) */
static inline int tx_instruction_set(void) {
#ifdef TX_X86
    const char *wanted = getenv("TOPICX_INSTRUCTIONS");
    const int most = !wanted || !*wanted || !strcmp(wanted, "avx512") ? 2 : !strcmp(wanted, "avx2") ? 1 : 0;
    const uint32_t popcnt_xsave_avx = 1u << 23 | 1u << 27 | 1u << 28, bmi_avx2 = 1u << 3 | 1u << 5 | 1u << 8;
    const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
    uint32_t a, b, c, d, more;
    if (most == 0 || !__get_cpuid(1, &a, &b, &c, &d) || !tx_all_bits(c, popcnt_xsave_avx)) return 0;
    const uint32_t saved = tx_saved_registers();
    if (!tx_all_bits(saved, 0x06) || !__get_cpuid_count(7, 0, &a, &more, &c, &d)) return 0;
    if (!tx_all_bits(more, bmi_avx2)) return 0;
    return most == 2 && tx_all_bits(more, avx512) && tx_all_bits(saved, 0xE6) ? 2 : 1;
#else
    return 0;
#endif
}

#endif
