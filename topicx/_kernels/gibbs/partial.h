/* Gamma and Poisson variates with the same bits on every machine.
 *
 * NumPy's distributions call the system's log, exp and pow, whose last bits differ between libraries and CPUs. These
 * use the four operations and the square root alone (each correctly rounded by IEEE 754), in a fixed order. */
#ifndef TOPICX_PARTIAL_H
#define TOPICX_PARTIAL_H

#include <math.h>
#include <string.h>

#include "rng.h"

/* log x for a normal x > 0: x = 2^e m with m in [sqrt(1/2), sqrt 2), log m = 2 atanh((m - 1) / (m + 1)). */
static inline double tx_log(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    int64_t e = (int64_t)(bits >> 52) - 1023;
    bits = (bits & UINT64_C(0xFFFFFFFFFFFFF)) | UINT64_C(0x3FF0000000000000);
    double m;
    memcpy(&m, &bits, 8);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        e += 1;
    }
    const double s = (m - 1) / (m + 1), t = s * s;
    double sum = 1.0 / 19;
    for (int n = 17; n >= 1; n -= 2) sum = sum * t + 1.0 / n;
    return (double)e * 0.6931471805599453 + 2 * s * sum;
}

/* exp x for x <= 700; 0 below -700. */
static inline double tx_exp(double x) {
    if (x < -700) return 0;
    const double scaled = x * 1.4426950408889634;
    const int64_t k = (int64_t)(scaled + (scaled < 0 ? -0.5 : 0.5));
    const double r = (x - (double)k * 0.693147180369123816490) - (double)k * 1.90821492927058770002e-10;
    static const double inverse[13] = {1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
                                       1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600};
    double sum = 1.0 / 6227020800.0; /* Taylor's series up to r^13 / 13!, |r| <= log(2) / 2 */
    for (int n = 12; n >= 0; n--) sum = sum * r + inverse[n];
    const uint64_t bits = (uint64_t)(k + 1023) << 52;
    double power;
    memcpy(&power, &bits, 8);
    return sum * power;
}

/* Uniform on (0, 1): never 0, so that it has a logarithm. */
static inline double tx_open(tx_rng *rng) { return ((double)(int64_t)(tx_rng_next(rng) >> 12) + 0.5) * 0x1.0p-52; }

/* Standard normal, by Marsaglia's polar method (the second of the pair is not kept). */
static inline double tx_normal(tx_rng *rng) {
    double x, y, r;
    do {
        x = 2 * tx_open(rng) - 1;
        y = 2 * tx_open(rng) - 1;
        r = x * x + y * y;
    } while (r >= 1);
    return x * sqrt(-2 * tx_log(r) / r);
}

/* The U below which U^(1/a) is under e^-110: so far below the smallest single, e^-103, that Gamma(a) is 0 as a single. */
static inline double tx_gamma_vanishes(double a) { return tx_exp(-110 * a); }

/* boost times Gamma of shape a >= 1, scale 1 (Marsaglia & Tsang 2000). */
static double tx_gamma_from_one(tx_rng *rng, double a, double boost) {
    const double d = a - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        const double x = tx_normal(rng);
        double v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        const double u = tx_open(rng), xx = x * x;
        if (u < 1 - 0.0331 * xx * xx) return boost * d * v;
        if (tx_log(u) < 0.5 * xx + d * (1 - v + tx_log(v))) return boost * d * v;
    }
}

/* Gamma of shape a, scale 1; below shape 1, Gamma(a) = Gamma(a + 1) U^(1/a), or 0 if U is below `vanishes`. */
static inline double tx_gamma(tx_rng *rng, double a, double vanishes) {
    if (a >= 1) return tx_gamma_from_one(rng, a, 1);
    const double u = tx_open(rng);
    return u < vanishes ? 0 : tx_gamma_from_one(rng, a + 1, tx_exp(tx_log(u) / a));
}

/* The logarithm of what tx_gamma returns, from the same numbers of the same stream, where that would be 0 too: what
 * it lacks then comes from another stream. */
static inline double tx_log_gamma_variate(tx_rng *rng, tx_rng *other, double a, double vanishes) {
    if (a >= 1) return tx_log(tx_gamma_from_one(rng, a, 1));
    const double u = tx_open(rng);
    return tx_log(u) / a + tx_log(tx_gamma_from_one(u < vanishes ? other : rng, a + 1, 1));
}

/* log n! by Stirling's series, the first few by their product. */
static inline double tx_log_factorial(double n) {
    if (n < 16) {
        double product = 1;
        for (int i = 2; i <= (int)n; i++) product *= i;
        return tx_log(product);
    }
    const double x = n + 1, inverse = 1 / x, square = inverse * inverse;
    return (x - 0.5) * tx_log(x) - x + 0.91893853320467274178 +
           inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
}

/* Poisson of mean mu: by counting uniforms below 12, by transformed rejection (Hoermann 1993, PTRS) above. */
static inline int64_t tx_poisson(tx_rng *rng, double mu) {
    if (mu < 12) {
        const double end = tx_exp(-mu);
        double product = tx_open(rng);
        int64_t n = 0;
        while (product > end) {
            product *= tx_open(rng);
            n++;
        }
        return n;
    }
    const double root = sqrt(mu), log_mu = tx_log(mu);
    const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = tx_open(rng) - 0.5, v = tx_open(rng), us = 0.5 - (u < 0 ? -u : u);
        const double k = floor((2 * a / us + b) * u + mu + 0.43);
        if (us >= 0.07 && v <= v_r) return (int64_t)k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (tx_log(v) + tx_log(inverse_alpha) - tx_log(a / (us * us) + b) <= k * log_mu - mu - tx_log_factorial(k))
            return (int64_t)k;
    }
}

#endif
