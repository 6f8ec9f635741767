/* Includes TX_BODY once for each instruction set, under the flags that it needs. In a body TX(name) is name_plain,
 * name_avx2 or name_avx512, and TX_SET is 0, 1 or 2; TX_CHOOSE(table) (vectors.h) is the table of this CPU. */
#ifndef TX_END_FLAGS
#ifdef __clang__
#define TX_BEGIN_AVX2 \
    _Pragma("clang attribute push(__attribute__((target(\"avx2,popcnt,bmi,bmi2\"))), apply_to = function)")
#define TX_BEGIN_AVX512 \
    _Pragma("clang attribute push(__attribute__((target(\"avx2,avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi,bmi2\"))), apply_to = function)")
#define TX_END_FLAGS _Pragma("clang attribute pop")
#else
#define TX_BEGIN_AVX2 _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,popcnt,bmi,bmi2\")")
#define TX_BEGIN_AVX512 \
    _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi,bmi2\")")
#define TX_END_FLAGS _Pragma("GCC pop_options")
#endif
#endif

#define TX_LANES plain
#define TX_SET 0
#include TX_BODY
#undef TX_LANES
#undef TX_SET

#ifdef TX_X86
TX_BEGIN_AVX2
#define TX_LANES avx2
#define TX_SET 1
#include TX_BODY
#undef TX_LANES
#undef TX_SET
TX_END_FLAGS

TX_BEGIN_AVX512
#define TX_LANES avx512
#define TX_SET 2
#include TX_BODY
#undef TX_LANES
#undef TX_SET
TX_END_FLAGS
#endif
#undef TX_BODY
