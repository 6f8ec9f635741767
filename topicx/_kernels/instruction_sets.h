/* Includes TX_BODY once for each instruction set, under the flags that it needs. In a body TX(name) is name_plain,
 * name_avx2 or name_avx512, and TX_SET is 0, 1 or 2; TX_CHOOSE(table) (vectors.h) is the table of this CPU. */
#define TX_LANES plain
#define TX_SET 0
#include TX_BODY
#undef TX_LANES
#undef TX_SET

#ifdef TX_X86
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,popcnt,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,popcnt,bmi,bmi2")
#endif
#define TX_LANES avx2
#define TX_SET 1
#include TX_BODY
#undef TX_LANES
#undef TX_SET
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi,bmi2")
#endif
#define TX_LANES avx512
#define TX_SET 2
#include TX_BODY
#undef TX_LANES
#undef TX_SET
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
#undef TX_BODY
