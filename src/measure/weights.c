#include "measure/weights.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { DIRECTIONS = 13, AXES = 3 };
static const double PI = 3.14159265358979323846;

/* Classes: 0 to 2 along z, y, x; 3 to 5 diagonals of the faces normal to z, y, x; 6 space diagonals. */
static const int directions[DIRECTIONS][AXES] = {{1, 0, 0},  {0, 1, 0},  {0, 0, 1}, {0, 1, 1},  {0, 1, -1},
                                                 {1, 0, 1},  {1, 0, -1}, {1, 1, 0}, {1, -1, 0}, {1, 1, 1},
                                                 {1, 1, -1}, {1, -1, 1}, {-1, 1, 1}};
static const int class_of[DIRECTIONS] = {0, 1, 2, 3, 3, 4, 4, 5, 5, 6, 6, 6, 6};

static int corner(int z, int y, int x)
{
    return 4 * z + 2 * y + x;
}

/* ---- codes ---- */

/* Pairs of corners of a cell along direction d: calls for each with both corners' numbers. */
static int pairs_along(const int d[AXES], int pairs[4][2])
{
    int count = 0;
    for (int z = 0; z < 2; z++) {
        for (int y = 0; y < 2; y++) {
            for (int x = 0; x < 2; x++) {
                const int to[AXES] = {z + d[0], y + d[1], x + d[2]};
                if (to[0] < 0 || to[0] > 1 || to[1] < 0 || to[1] > 1 || to[2] < 0 || to[2] > 1) continue;
                pairs[count][0] = corner(z, y, x);
                pairs[count++][1] = corner(to[0], to[1], to[2]);
            }
        }
    }
    return count;
}

static int at(int code, int number)
{
    return code >> number & 1;
}

static int unlike_pairs(int code, int class)
{
    int count = 0;
    for (int d = 0; d < DIRECTIONS; d++) {
        int pairs[4][2];
        if (class_of[d] != class) continue;
        for (int i = 0, n = pairs_along(directions[d], pairs); i < n; i++) {
            count += at(code, pairs[i][0]) != at(code, pairs[i][1]);
        }
    }
    return count;
}

/* The corners of face `side` normal to `axis`, around it. */
static void face_corners(int axis, int side, int out[4])
{
    static const int around[4][2] = {{0, 0}, {0, 1}, {1, 1}, {1, 0}};
    for (int i = 0; i < 4; i++) {
        int c[AXES];
        c[axis] = side;
        c[(axis + 1) % AXES] = around[i][0];
        c[(axis + 2) % AXES] = around[i][1];
        out[i] = corner(c[0], c[1], c[2]);
    }
}

static int rectangle_euler(int code, const int corners[4])
{
    int held = 0;
    for (int i = 0; i < 4; i++) held += at(code, corners[i]);
    return (held == 1) - (held == 3);
}

static int triangle_euler(int code, int apex)
{
    int held = 0;
    for (int axis = 0; axis < AXES; axis++) held += at(code, apex ^ 1 << axis); /* its three neighbours */
    return (held == 1) - (held == 2);
}

static int tiles_of(int code, int class)
{
    int sum = 0, corners[4];
    if (class < 3) {
        for (int side = 0; side < 2; side++) {
            face_corners(class, side, corners);
            sum += rectangle_euler(code, corners);
        }
    } else if (class < 6) { /* the two rectangles through opposite edges along this axis */
        const int axis = class - 3, along = 4 >> axis;
        for (int turn = 0; turn < 2; turn++) {
            int ends[4];
            face_corners(axis, 0, ends);
            const int a = ends[turn], b = ends[turn + 2];
            const int tile[4] = {a, a | along, b, b | along};
            sum += rectangle_euler(code, tile);
        }
    } else {
        for (int apex = 0; apex < 8; apex++) sum += triangle_euler(code, apex);
    }
    return sum;
}

/* 8 times V - E + F - C of the corners that are set. */
static int euler6(int code)
{
    int sum = 0, pairs[4][2], corners[4];
    for (int i = 0; i < 8; i++) sum += at(code, i);
    for (int d = 0; d < AXES; d++) {
        for (int i = 0, n = pairs_along(directions[d], pairs); i < n; i++) {
            sum -= 2 * (at(code, pairs[i][0]) & at(code, pairs[i][1]));
        }
        for (int side = 0; side < 2; side++) {
            face_corners(d, side, corners);
            sum += 4 * (at(code, corners[0]) & at(code, corners[1]) & at(code, corners[2]) & at(code, corners[3]));
        }
    }
    return sum - 8 * (code == CRD_CELL_CODES - 1);
}

/* 8 times [any corner] - (faces with any corner)/2 + (edges with any end)/4 - corners/8. */
static int euler26(int code)
{
    int sum = 8 * (code != 0), pairs[4][2], corners[4];
    for (int i = 0; i < 8; i++) sum -= at(code, i);
    for (int d = 0; d < AXES; d++) {
        for (int i = 0, n = pairs_along(directions[d], pairs); i < n; i++) {
            sum += 2 * (at(code, pairs[i][0]) | at(code, pairs[i][1]));
        }
        for (int side = 0; side < 2; side++) {
            face_corners(d, side, corners);
            sum -= 4 * (at(code, corners[0]) | at(code, corners[1]) | at(code, corners[2]) | at(code, corners[3]));
        }
    }
    return sum;
}

static int bare_faces(int code, int axis)
{
    int count = 0, corners[4];
    for (int side = 0; side < 2; side++) {
        face_corners(axis, side, corners);
        count += !(at(code, corners[0]) | at(code, corners[1]) | at(code, corners[2]) | at(code, corners[3]));
    }
    return count;
}

static struct crd_code_counts count_code(int code)
{
    struct crd_code_counts counts = {.euler = {(int8_t)euler6(code), (int8_t)euler26(code)},
                                     .dual = (int8_t)euler6(CRD_CELL_CODES - 1 - code)};
    for (int i = 0; i < 8; i++) counts.corners = (int8_t)(counts.corners + at(code, i));
    for (int class = 0; class < CRD_CELL_CLASSES; class ++) {
        counts.unlike[class] = (int8_t)unlike_pairs(code, class);
        counts.tiles[class] = (int8_t)tiles_of(code, class);
    }
    for (int axis = 0; axis < AXES; axis++) counts.bare[axis] = (int8_t)bare_faces(code, axis);
    return counts;
}

void crd_cell_sum(const crd_cell_weights *weights, const int64_t histogram[CRD_CELL_CODES], crd_cell_sums *out)
{
    memset(out, 0, sizeof *out);
    for (int code = 0; code < CRD_CELL_CODES; code++) {
        const struct crd_code_counts *counts = &weights->codes[code];
        const int64_t n = histogram[code];
        if (n == 0) continue;
        out->cells += n;
        out->corners += n * counts->corners;
        for (int class = 0; class < CRD_CELL_CLASSES; class ++) {
            out->unlike[class] += n * counts->unlike[class];
            out->tiles[class] += n * counts->tiles[class];
        }
        out->euler[0] += n * counts->euler[0];
        out->euler[1] += n * counts->euler[1];
        out->dual += n * counts->dual;
        for (int axis = 0; axis < AXES; axis++) out->bare[axis] += n * counts->bare[axis];
    }
}

/* ---- the sphere ---- */

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static void normalise(double v[3])
{
    const double length = sqrt(dot(v, v));
    for (int i = 0; i < 3; i++) v[i] /= length;
}

/* The solid angle of a triangle of unit vectors (Van Oosterom & Strackee 1983). */
static double solid_angle(const double a[3], const double b[3], const double c[3])
{
    double axb[3];
    cross(a, b, axb);
    return 2.0 * atan2(fabs(dot(axb, c)), 1.0 + dot(a, b) + dot(b, c) + dot(c, a));
}

/* Cuts a polygon of directions by the half space v.normal >= 0; gives the number of corners that are left. */
static int clip(double (*polygon)[3], int count, const double normal[3])
{
    double out[64][3];
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const double *a = polygon[i], *b = polygon[(i + 1) % count];
        const double da = dot(a, normal), db = dot(b, normal);
        if (da >= 0.0) memcpy(out[kept++], a, sizeof *out);
        if ((da > 0.0 && db < 0.0) || (da < 0.0 && db > 0.0)) {
            for (int k = 0; k < 3; k++) out[kept][k] = a[k] + (b[k] - a[k]) * (da / (da - db));
            kept++;
        }
    }
    memcpy(polygon, out, (size_t)kept * sizeof *out);
    return kept;
}

void crd_sphere_shares(const double (*all)[3], int count, double *shares)
{
    double unit[DIRECTIONS][3];
    for (int i = 0; i < count; i++) {
        memcpy(unit[i], all[i], sizeof *unit);
        normalise(unit[i]);
    }
    for (int i = 0; i < count; i++) {
        /* A square on the tangent plane that holds all that can be nearest: with three right angles among the
         * directions that is less than 55 degrees away. */
        double polygon[64][3], e1[3] = {0}, e2[3], area = 0.0;
        int corners = 4, flat = 0;
        for (int k = 1; k < 3; k++) flat = fabs(unit[i][k]) < fabs(unit[i][flat]) ? k : flat;
        e1[flat] = 1.0;
        cross(unit[i], e1, e2);
        normalise(e2);
        cross(unit[i], e2, e1);
        for (int k = 0; k < 4; k++) {
            const double a = k == 0 || k == 3 ? 2.0 : -2.0, b = k < 2 ? 2.0 : -2.0;
            for (int j = 0; j < 3; j++) polygon[k][j] = unit[i][j] + a * e1[j] + b * e2[j];
        }
        for (int j = 0; j < count; j++) {
            for (int sign = -1; sign <= 1; sign += 2) {
                double normal[3];
                if (j == i) continue;
                for (int k = 0; k < 3; k++) normal[k] = unit[i][k] - sign * unit[j][k];
                corners = clip(polygon, corners, normal);
            }
        }
        for (int k = 0; k < corners; k++) normalise(polygon[k]);
        for (int k = 0; k < corners; k++) area += solid_angle(unit[i], polygon[k], polygon[(k + 1) % corners]);
        shares[i] = 2.0 * area / (4.0 * PI);
    }
}

/* ---- marching cubes ---- */

/* An edge of the cell: the axis along it, and the two coordinates across. */
static int edge_between(int a, int b)
{
    const int axis = a ^ b; /* 1, 2 or 4 */
    return axis * 8 + (a & b);
}

typedef struct mesh {
    int link[64][2]; /* the edges that a crossed edge is joined to */
    int links[64];
} mesh;

static void join(mesh *m, int a, int b)
{
    m->link[a][m->links[a]++] = b;
    m->link[b][m->links[b]++] = a;
}

/* On each face, corners of the phase that lie diagonally are cut off one by one: the phase is joined by faces alone. */
static void trace_face(int code, const int corners[4], mesh *m)
{
    for (int i = 0; i < 4; i++) {
        const int before = corners[(i + 3) % 4], here = corners[i], behind = corners[(i + 1) % 4];
        const int opposite = corners[(i + 2) % 4];
        if (at(code, here) == at(code, before) || at(code, here) == at(code, behind)) continue;
        /* `here` differs from both neighbours */
        if (at(code, here) == 0 && at(code, opposite) == 0) continue; /* the other diagonal is of the phase */
        join(m, edge_between(here, before), edge_between(here, behind));
    }
    for (int i = 0; i < 2; i++) { /* two neighbours against two */
        const int a = corners[i], b = corners[i + 1], c = corners[i + 2], d = corners[(i + 3) % 4];
        if (at(code, a) == at(code, b) && at(code, c) == at(code, d) && at(code, a) != at(code, c)) {
            join(m, edge_between(b, c), edge_between(d, a));
        }
    }
}

static void middle_of(int edge, const double spacing[3], double out[3])
{
    for (int axis = 0; axis < 3; axis++) {
        const int bit = 4 >> axis;
        out[axis] = spacing[axis] * (edge / 8 == bit ? 0.5 : (edge % 8 & bit) != 0 ? 1.0 : 0.0);
    }
}

static double triangle_area(const double a[3], const double b[3], const double c[3])
{
    double ab[3], ac[3], n[3];
    for (int k = 0; k < 3; k++) {
        ab[k] = b[k] - a[k];
        ac[k] = c[k] - a[k];
    }
    cross(ab, ac, n);
    return 0.5 * sqrt(dot(n, n));
}

/* The least area of all triangulations of a polygon: the same for its mirror image. */
static double least_area(double (*points)[3], int count)
{
    double best[16][16] = {{0}};
    for (int span = 2; span < count; span++) {
        for (int i = 0; i + span < count; i++) {
            const int j = i + span;
            best[i][j] = HUGE_VAL;
            for (int k = i + 1; k < j; k++) {
                const double area = best[i][k] + best[k][j] + triangle_area(points[i], points[k], points[j]);
                best[i][j] = area < best[i][j] ? area : best[i][j];
            }
        }
    }
    return best[0][count - 1];
}

double crd_mesh_area(int code, const double spacing[3])
{
    mesh m = {0};
    bool seen[64] = {false};
    double area = 0.0;
    for (int axis = 0; axis < AXES; axis++) {
        for (int side = 0; side < 2; side++) {
            int corners[4];
            face_corners(axis, side, corners);
            trace_face(code, corners, &m);
        }
    }
    for (int first = 0; first < 64; first++) {
        double points[16][3];
        int count = 0;
        if (m.links[first] != 2 || seen[first]) continue;
        for (int edge = first; !seen[edge];) {
            seen[edge] = true;
            middle_of(edge, spacing, points[count++]);
            edge = seen[m.link[edge][0]] ? m.link[edge][1] : m.link[edge][0];
        }
        area += least_area(points, count);
    }
    return area;
}

/* ---- all of it ---- */

void crd_cell_weights_make(const double spacing[3], crd_cell_weights *out)
{
    static const double pairs[CRD_CELL_CLASSES] = {4, 4, 4, 2, 2, 2, 1}; /* of a cell, along one direction */
    double along[DIRECTIONS][3], normals[DIRECTIONS][3], shares[DIRECTIONS], share[CRD_CELL_CLASSES];
    memset(out, 0, sizeof *out);
    out->volume = spacing[0] * spacing[1] * spacing[2];
    for (int d = 0; d < DIRECTIONS; d++) {
        /* the plane of the same indices (h, k, l) has the normal h/a, k/b, l/c */
        for (int k = 0; k < 3; k++) {
            along[d][k] = directions[d][k] * spacing[k];
            normals[d][k] = directions[d][k] / spacing[k];
        }
    }
    crd_sphere_shares(along, DIRECTIONS, shares);
    for (int d = DIRECTIONS - 1; d >= 0; d--) share[class_of[d]] = shares[d];
    for (int d = DIRECTIONS - 1; d >= 0; d--) {
        const int class = class_of[d];
        out->surface[class] = 2.0 * share[class] / (pairs[class] * sqrt(dot(along[d], along[d])));
    }
    crd_sphere_shares(normals, DIRECTIONS, shares);
    for (int d = DIRECTIONS - 1; d >= 0; d--) share[class_of[d]] = shares[d];
    for (int class = 0; class < CRD_CELL_CLASSES; class ++) {
        const double face = class < 3 ? out->volume / spacing[class] : 0.0;
        if (class < 3) { /* two rectangles a cell, a quarter for each corner */
            out->curvature[class] = 2.0 * PI * share[class] / (4.0 * 2.0 * face);
        } else if (class < 6) { /* a plane (0, 1, 1) holds the edge along z and a diagonal across it */
            const int axis = class - 3;
            const double across = hypot(spacing[(axis + 1) % 3], spacing[(axis + 2) % 3]);
            out->curvature[class] = 2.0 * PI * share[class] / (4.0 * spacing[axis] * across);
        } else { /* two triangles a cell for each of four planes */
            double a[3] = {spacing[0], -spacing[1], 0.0}, b[3] = {0.0, spacing[1], -spacing[2]}, n[3];
            cross(a, b, n);
            out->curvature[class] = 2.0 * PI * share[class] / (6.0 * 2.0 * 0.5 * sqrt(dot(n, n)));
        }
    }
    for (int code = 0; code < CRD_CELL_CODES; code++) {
        out->codes[code] = count_code(code);
        out->mesh[code] = crd_mesh_area(code, spacing);
    }
}

static double weighted(const double *weights, const int64_t *counts, int64_t cells)
{
    double sum = 0.0;
    for (int class = 0; class < CRD_CELL_CLASSES; class ++) sum += weights[class] * (double)counts[class];
    return cells > 0 ? sum / (double)cells : (double)NAN;
}

double crd_surface_density(const crd_cell_weights *weights, const crd_cell_sums *sums)
{
    return weighted(weights->surface, sums->unlike, sums->cells);
}

double crd_curvature_density(const crd_cell_weights *weights, const crd_cell_sums *sums)
{
    return weighted(weights->curvature, sums->tiles, sums->cells);
}

double crd_euler_density(const crd_cell_weights *weights, const crd_cell_sums *sums, int neighbours)
{
    const int64_t eighths = neighbours == 6 ? sums->euler[0] : sums->dual;
    return sums->cells > 0 ? (double)eighths / 8.0 / ((double)sums->cells * weights->volume) : (double)NAN;
}

double crd_mesh_density(const crd_cell_weights *weights, const int64_t histogram[CRD_CELL_CODES])
{
    double area = 0.0;
    int64_t cells = 0;
    for (int code = 0; code < CRD_CELL_CODES; code++) {
        area += weights->mesh[code] * (double)histogram[code];
        cells += histogram[code];
    }
    return cells > 0 ? area / ((double)cells * weights->volume) : (double)NAN;
}
