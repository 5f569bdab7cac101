/* Sums of squared distances to planes as functions of a place: what moving a vertex there would cost (Garland and
 * Heckbert 1997). */
#ifndef CRD_SURFACE_QUADRIC_H
#define CRD_SURFACE_QUADRIC_H

#include <math.h>
#include <stdbool.h>

/* xx, xy, xz, xd, yy, yz, yd, zz, zd, dd of the planes (x, y, z, d), each times its weight */
typedef struct crd_quadric {
    double m[10];
} crd_quadric;

static inline void crd_quadric_add(crd_quadric *q, const crd_quadric *other)
{
    for (int i = 0; i < 10; i++) q->m[i] += other->m[i];
}

/* The plane through `at` with this unit normal. */
static inline crd_quadric crd_quadric_plane(const double normal[3], const double at[3], double weight)
{
    const double p[4] = {normal[0], normal[1], normal[2], -(normal[0] * at[0] + normal[1] * at[1] + normal[2] * at[2])};
    crd_quadric q;
    int n = 0;
    for (int i = 0; i < 4; i++) {
        for (int k = i; k < 4; k++) q.m[n++] = weight * p[i] * p[k];
    }
    return q;
}

static inline double crd_quadric_cost(const crd_quadric *q, const double p[3])
{
    const double *m = q->m, x = p[0], y = p[1], z = p[2];
    const double cost = m[0] * x * x + 2 * m[1] * x * y + 2 * m[2] * x * z + 2 * m[3] * x + m[4] * y * y +
                        2 * m[5] * y * z + 2 * m[6] * y + m[7] * z * z + 2 * m[8] * z + m[9];
    return cost > 0 ? cost : 0;
}

/* Where it is least; false where that isn't one place, as on a plane or along a crease. */
static inline bool crd_quadric_least(const crd_quadric *q, double p[3])
{
    const double *m = q->m;
    const double a = m[4] * m[7] - m[5] * m[5], b = m[2] * m[5] - m[1] * m[7], c = m[1] * m[5] - m[2] * m[4];
    const double determinant = m[0] * a + m[1] * b + m[2] * c, trace = m[0] + m[4] + m[7];
    if (!(fabs(determinant) > 1e-6 * trace * trace * trace)) return false;
    const double d = m[0] * m[7] - m[2] * m[2], e = m[1] * m[2] - m[0] * m[5], f = m[0] * m[4] - m[1] * m[1];
    p[0] = -(a * m[3] + b * m[6] + c * m[8]) / determinant;
    p[1] = -(b * m[3] + d * m[6] + e * m[8]) / determinant;
    p[2] = -(c * m[3] + e * m[6] + f * m[8]) / determinant;
    return true;
}

#endif
