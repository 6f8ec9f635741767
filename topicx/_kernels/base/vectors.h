/* Vectors of 16 lanes, with the same bits on every CPU.
 *
 * Lane l of chunk c is entry 16 c + l. The lanes are part of an algorithm: additions run down the chunks within a lane,
 * then across the lanes in a fixed tree, and every operation is a single IEEE one (no contraction, no reciprocal
 * estimates), so that plain C, AVX2 and AVX-512 round alike. vectors_body.h has the operations, written once but for the
 * few that compilers do not find; whatever is made of them is a body too, included by instruction_sets.h:
 *
 *     #define TX_BODY "lanes_body.h"
 *     #include "instruction_sets.h"
 *
 * A body ends in a table of its functions, and TX_CHOOSE(table) is that of the widest instruction set the CPU has.
 * TOPICX_INSTRUCTIONS=avx512|avx2|plain asks for a narrower one. */
#ifndef TOPICX_VECTORS_H
#define TOPICX_VECTORS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"

#define TX_ALIGNED _Alignas(64)
#define TX_PASTE_(a, b) a##_##b
#define TX_PASTE(a, b) TX_PASTE_(a, b)
#define TX(name) TX_PASTE(name, TX_LANES)
#define TX_STRING_(a) #a
#define TX_STRING(a) TX_STRING_(a)
#define TX_ALWAYS static inline __attribute__((always_inline, unused))

#ifdef TX_X86
#define TX_CHOOSE(table) \
    (tx_instruction_set() == 2 ? &table##_avx512 : tx_instruction_set() == 1 ? &table##_avx2 : &table##_plain)
#else
#define TX_CHOOSE(table) (&table##_plain)
#endif

/* By rounding past the end of a lane of running sums, or into an empty one: the last entry with weight of a lane nearby;
 * -1: no lane has any. */
static __attribute__((noinline, cold, unused)) int64_t tx_repair(const float *sums, int64_t chunks, int lane) {
    const float *last = sums + 16 * (chunks - 1);
    int near = lane;
    while (near < 16 && !(last[near] > 0)) near++;
    if (near == 16)
        for (near = lane; near >= 0 && !(last[near] > 0);) near--;
    if (near < 0) return -1;
    int64_t c = chunks - 1;
    while (c > 0 && !(sums[16 * (c - 1) + near] < last[near])) c--;
    return 16 * c + near;
}

/* The names that a body uses. */
#define v16 TX(v16) /* 16 floats */
#define i16 TX(i16) /* 16 int32; a mask has all bits of a lane, or none */
#define v_load TX(v_load)
#define v_store TX(v_store)
#define v_load_half TX(v_load_half)
#define v_store_half TX(v_store_half)
#define v_load_part TX(v_load_part)
#define v_store_part TX(v_store_part)
#define v_all TX(v_all)
#define v_add TX(v_add)
#define v_sub TX(v_sub)
#define v_mul TX(v_mul)
#define v_div TX(v_div)
#define v_negative TX(v_negative)
#define v_horner TX(v_horner)
#define v_greater TX(v_greater)
#define v_mask TX(v_mask)
#define v_choose TX(v_choose)
#define v_max TX(v_max)
#define v_positive TX(v_positive)
#define v_abs TX(v_abs)
#define v_of TX(v_of)
#define v_bits TX(v_bits)
#define v_sum TX(v_sum)
#define v_most TX(v_most)
#define v_scan TX(v_scan)
#define v_last TX(v_last)
#define v_count_le TX(v_count_le)
#define v_add_from TX(v_add_from)
#define v_replace TX(v_replace)
#define v_gather TX(v_gather)
#define v_exp TX(v_exp)
#define v_log TX(v_log)
#define i_load TX(i_load)
#define i_all TX(i_all)
#define i_lanes TX(i_lanes)
#define i_below TX(i_below)
#define i_add TX(i_add)
#define i_sub TX(i_sub)
#define i_and TX(i_and)
#define i_down TX(i_down)
#define i_up TX(i_up)
#define i_half_up TX(i_half_up)
#define i_bits TX(i_bits)
#define i_same TX(i_same)
#define i_equal TX(i_equal)
#define i_less_one TX(i_less_one)
#define v_find TX(v_find)
#define v_draw TX(v_draw)

#define TX_BODY "vectors_body.h"
#include "instruction_sets.h"

#endif
