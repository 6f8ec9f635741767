/* The inline generator of the kernels: xoshiro256++ (Blackman & Vigna 2019), seeded by splitmix64 from one 64-bit key.
 *
 * A stream belongs to one (seed, chain, sweep, cell) and lives as long as one kernel call: nothing is carried over, so
 * that a checkpoint holds no generator and a lost cell can be run again with the same result. */
#ifndef TOPICX_RNG_H
#define TOPICX_RNG_H

#include <stdint.h>

typedef struct {
    uint64_t s0, s1, s2, s3;
} tx_rng;

#define TX_GOLDEN UINT64_C(0x9E3779B97F4A7C15)

/* The finaliser of splitmix64 (Steele, Lea & Flood 2014): every bit of x reaches every bit of the result. */
static inline uint64_t tx_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static inline uint64_t tx_splitmix64(uint64_t *state) { return tx_mix(*state += TX_GOLDEN); }

/* One more number into a key (begun with 0): see topicx/sampling/random_streams.py. */
static inline uint64_t tx_key(uint64_t key, uint64_t part) { return tx_mix((key ^ part) + TX_GOLDEN); }

static inline tx_rng tx_rng_seed(uint64_t key) {
    tx_rng rng;
    rng.s0 = tx_splitmix64(&key);
    rng.s1 = tx_splitmix64(&key);
    rng.s2 = tx_splitmix64(&key);
    rng.s3 = tx_splitmix64(&key);
    return rng;
}

/* `type result` is the next number of *rng, whose fields are of this type: uint64_t, or a vector of them. */
#define TX_RNG_STEP(type, result, rng)                                               \
    const type sum_ = (rng)->s0 + (rng)->s3, t_ = (rng)->s1 << 17;                   \
    const type result = ((sum_ << 23) | (sum_ >> 41)) + (rng)->s0;                   \
    (rng)->s2 ^= (rng)->s0;                                                          \
    (rng)->s3 ^= (rng)->s1;                                                          \
    (rng)->s1 ^= (rng)->s2;                                                          \
    (rng)->s0 ^= (rng)->s3;                                                          \
    (rng)->s2 ^= t_;                                                                 \
    (rng)->s3 = ((rng)->s3 << 45) | ((rng)->s3 >> 19)

static inline uint64_t tx_rng_next(tx_rng *rng) {
    TX_RNG_STEP(uint64_t, result, rng);
    return result;
}

/* Uniform on [0, 1), 53 bits. */
static inline double tx_rng_double(tx_rng *rng) {
    return (double)(int64_t)(tx_rng_next(rng) >> 11) * 0x1.0p-53;
}

#endif
