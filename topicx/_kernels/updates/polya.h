/* What the augmentation of losses draws: Polya-Gamma and inverse Gaussian variates.
 *
 * PG(b, z) of any shape b >= 1, by rejection from tangents of the log density: PG(b, z) has the density of PG(b, 0) times
 * exp(-z^2 w / 2), up to a constant (Polson, Scott & Windle 2013, eq. 5), and is a sum of gamma variates of shape b, so
 * that from b = 1 on its log density is concave (a convolution of log-concave densities is one). Tangents at three points
 * bound it from above, and what is drawn under them is accepted by the density itself (Devroye 1986, VII.2; Gilks & Wild
 * 1992), whatever the size of b. The log density of PG(b, 0) is that of the first term of its series (an inverse
 * Gaussian), and a correction that `topicx.sampling.updates.polya_gamma` tabulates over log w. */
#ifndef TOPICX_POLYA_H
#define TOPICX_POLYA_H

#include "partial.h"

typedef struct {
    double shape;    /* b */
    double start;    /* log w of the first point */
    double step;     /* between points */
    int64_t points;
    const double *at; /* correction and its derivative by log w, point after point */
} tx_polya;

/* log density of PG(b, 0) less its constant, and the derivative by w. */
static inline double tx_polya_log(const tx_polya *t, double w, double *slope) {
    const double log_w = tx_log(w), bb = t->shape * t->shape / 8;
    double place = (log_w - t->start) / t->step, value = 0, by_log = 0;
    if (place >= (double)(t->points - 1)) { /* far out: a gamma tail */
        const double *last = t->at + 2 * (t->points - 1);
        const double log_end = t->start + t->step * (double)(t->points - 1), end = tx_exp(log_end);
        *slope = (t->shape - 1) / w - 4.934802200544679;
        return last[0] - 1.5 * log_end - bb / end + (t->shape - 1) * (log_w - log_end) - 4.934802200544679 * (w - end);
    }
    if (place > 0) {
        const int64_t i = (int64_t)place;
        const double *a = t->at + 2 * i, u = place - (double)i, h = t->step, rise = a[2] - a[0];
        const double c2 = 3 * rise - h * (2 * a[1] + a[3]), c3 = h * (a[1] + a[3]) - 2 * rise;
        value = a[0] + u * (h * a[1] + u * (c2 + u * c3));
        by_log = (h * a[1] + u * (2 * c2 + u * 3 * c3)) / h;
    }
    *slope = (by_log - 1.5 + bb / w) / w;
    return value - 1.5 * log_w - bb / w;
}

/* |z| from which on the tangents are no longer told apart: the log density is about z b / 4 there, and its spread beside
 * its mean sqrt(2 / (b z)), so that it is normal to some 1e-4. */
#define TX_POLYA_NARROW 1e9

static double tx_polya_draw(tx_rng *rng, const tx_polya *t, double z) {
    const double b = t->shape;
    double mean, spread, x[3], value[3], slope[3], edge[4], mass[3], total = 0;
    z = z < 0 ? -z : z;
    if (z < 0.05) {
        mean = b / 4 * (1 - z * z / 12);
        spread = sqrt(b / 24 * (1 - z * z / 5));
    } else {
        const double e = tx_exp(-z), tanh_half = (1 - e) / (1 + e);
        mean = b / (2 * z) * tanh_half;
        /* (sinh z - z) / cosh^2 (z / 2), by e^-z */
        spread = sqrt(b / (4 * z * z * z) * (2 * (1 - e * e) - 4 * z * e) / ((1 + e) * (1 + e)));
    }
    if (z > TX_POLYA_NARROW) return mean + spread * tx_normal(rng);
    x[1] = mean;
    x[2] = mean + 1.1 * spread;
    x[0] = mean > 1.4 * spread ? mean - 1.1 * spread : mean * mean / (mean + 2.4 * spread);
    for (int i = 0; i < 3; i++) {
        value[i] = tx_polya_log(t, x[i], slope + i) - z * z / 2 * x[i];
        slope[i] -= z * z / 2;
    }
    const double top = value[1];
    edge[0] = 0;
    edge[3] = INFINITY;
    for (int i = 0; i < 2; i++) /* where neighbouring tangents meet */
        edge[i + 1] = (value[i] - value[i + 1] + slope[i + 1] * x[i + 1] - slope[i] * x[i]) / (slope[i + 1] - slope[i]);
    for (int i = 0; i < 3; i++) {
        const double low = value[i] - top + slope[i] * (edge[i] - x[i]);
        const double width = edge[i + 1] - edge[i], s = slope[i];
        if (i == 2)
            mass[i] = tx_exp(low) / -s;
        else if (s * width < 1e-6 && s * width > -1e-6)
            mass[i] = tx_exp(low) * width;
        else /* e^(low + s width) - e^low, over s */
            mass[i] = (tx_exp(low + s * width) - tx_exp(low)) / s;
        total += mass[i];
    }
    for (;;) {
        double u = tx_open(rng) * total;
        int i = 0;
        while (i < 2 && u >= mass[i]) u -= mass[i++];
        const double low = value[i] - top + slope[i] * (edge[i] - x[i]), s = slope[i], width = edge[i + 1] - edge[i];
        double w;
        if (i < 2 && s * width < 1e-6 && s * width > -1e-6)
            w = edge[i] + u / mass[i] * width;
        else
            w = edge[i] + (tx_log(tx_exp(low) + s * u) - low) / s;
        if (!(w > 0)) continue;
        double unused;
        const double height = tx_polya_log(t, w, &unused) - z * z / 2 * w;
        if (tx_log(tx_open(rng)) <= height - value[i] - s * (w - x[i])) return w;
    }
}

/* Inverse Gaussian of shape 1 and mean 1 / a, a >= 0 (Michael, Schucany & Haas 1976). The smaller root is written so
 * that nothing cancels, and a = 0 (a Levy variate) is a case like any other. */
static inline double tx_wald(tx_rng *rng, double a) {
    double y = tx_normal(rng);
    y *= y;
    const double x = 2 / ((2 * a + y) + sqrt(y * (4 * a + y)));
    return tx_open(rng) * (1 + a * x) <= 1 ? x : 1 / (a * a * x);
}

#endif
