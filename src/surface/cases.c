#include "surface/cases.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/assert.h"

enum { FACES = 6, NONE = -1, FORBIDDEN = 1 << 20 };

static crd_cell_case cases[CRD_CELL_CASES];

int crd_cell_edge_start(int edge)
{
    const int axis = edge / 4, k = edge % 4;
    const int fast = axis == 0 ? 2 : 1, slow = axis == 2 ? 2 : 4;
    return (k & 1) * fast + (k >> 1) * slow;
}

static int edge_between(int a, int b)
{
    const int low = a < b ? a : b, axis = (a ^ b) >> 1; /* 1, 2, 4 -> 0, 1, 2 */
    for (int k = 0; k < 4; k++) {
        if (crd_cell_edge_start(4 * axis + k) == low) return 4 * axis + k;
    }
    CRD_ASSERT(false);
    return NONE;
}

/* The four samples of a face, anticlockwise for who looks at the cell from outside. */
static void face_samples(int face, int samples[4])
{
    static const int around[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    const int axis = face / 2, side = face % 2, next = (axis + 1) % 3, last = (axis + 2) % 3;
    for (int i = 0; i < 4; i++) {
        const int *at = around[side == 1 ? i : 3 - i];
        samples[i] = side << axis | at[0] << next | at[1] << last;
    }
}

/* following[e]: the edge that the surface goes to from edge e, within the face that it enters there. A run of inside
 * samples around a face is cut off by one segment, with the phase at its right. */
static void find_segments(int code, int following[CRD_CELL_EDGES])
{
    for (int e = 0; e < CRD_CELL_EDGES; e++) following[e] = NONE;
    for (int face = 0; face < FACES; face++) {
        int s[4];
        face_samples(face, s);
        for (int i = 0; i < 4; i++) {
            const int before = s[(i + 3) % 4];
            if ((code >> s[i] & 1) == 0 || (code >> before & 1) == 1) continue;
            int last = i;
            while ((code >> s[(last + 1) % 4] & 1) == 1) last = (last + 1) % 4;
            following[edge_between(before, s[i])] = edge_between(s[last], s[(last + 1) % 4]);
        }
    }
}

/* Twice the place of an edge's middle. */
static void middle(int edge, int at[3])
{
    const int start = crd_cell_edge_start(edge);
    for (int axis = 0; axis < 3; axis++) at[axis] = axis == edge / 4 ? 1 : 2 * (start >> axis & 1);
}

/* What a diagonal between two edges costs: its squared length, since short ones make round triangles. */
static int diagonal_cost(int a, int b)
{
    int p[3], q[3], square = 0;
    middle(a, p);
    middle(b, q);
    for (int axis = 0; axis < 3; axis++) {
        if (p[axis] == q[axis] && p[axis] != 1) return FORBIDDEN; /* both lie in that face */
        square += (p[axis] - q[axis]) * (p[axis] - q[axis]);
    }
    return square;
}

typedef struct loop {
    int count;
    int edges[CRD_CELL_EDGES];
} loop;

static void add_triangle(crd_cell_case *c, int a, int b, int d)
{
    CRD_ASSERT(c->triangles < CRD_CASE_TRIANGLES);
    uint8_t *corners = c->corners[c->triangles++];
    corners[0] = (uint8_t)a;
    corners[1] = (uint8_t)b;
    corners[2] = (uint8_t)d;
}

static void add_part(crd_cell_case *c, const loop *l, int apex[CRD_CELL_EDGES][CRD_CELL_EDGES], int from, int to)
{
    if (to - from < 2) return;
    const int tip = apex[from][to];
    add_part(c, l, apex, from, tip);
    add_triangle(c, l->edges[from], l->edges[tip], l->edges[to]);
    add_part(c, l, apex, tip, to);
}

/* Into triangles with the least sum over their diagonals. */
static void fill_loop(crd_cell_case *c, const loop *l)
{
    int cost[CRD_CELL_EDGES][CRD_CELL_EDGES] = {{0}}, apex[CRD_CELL_EDGES][CRD_CELL_EDGES] = {{0}};
    for (int span = 2; span < l->count; span++) {
        for (int from = 0; from + span < l->count; from++) {
            const int to = from + span;
            const bool is_side = from == 0 && to == l->count - 1;
            const int own = is_side ? 0 : diagonal_cost(l->edges[from], l->edges[to]);
            cost[from][to] = 2 * FORBIDDEN;
            for (int tip = from + 1; tip < to; tip++) {
                const int sum = own + cost[from][tip] + cost[tip][to];
                if (sum >= cost[from][to]) continue;
                cost[from][to] = sum;
                apex[from][to] = tip;
            }
        }
    }
    CRD_ASSERT(cost[0][l->count - 1] < FORBIDDEN);
    add_part(c, l, apex, 0, l->count - 1);
}

/* Two triangular loops around opposite samples: each side of one goes to the corner of the other along the third axis.
 */
static void fill_tunnel(crd_cell_case *c, const loop loops[2])
{
    for (int which = 0; which < 2; which++) {
        const loop *own = &loops[which], *other = &loops[1 - which];
        for (int i = 0; i < 3; i++) {
            const int a = own->edges[i], b = own->edges[(i + 1) % 3], third = 3 - a / 4 - b / 4;
            for (int k = 0; k < 3; k++) {
                if (other->edges[k] / 4 == third) add_triangle(c, a, b, other->edges[k]);
            }
        }
    }
}

static bool is_tunnel(int code)
{
    for (int sample = 0; sample < 4; sample++) {
        if (code == (0xff & ~(1 << sample | 1 << (7 - sample)))) return true;
    }
    return false;
}

static void make_case(int code, crd_cell_case *c)
{
    int following[CRD_CELL_EDGES], count = 0;
    loop loops[4];
    find_segments(code, following);
    for (int e = 0; e < CRD_CELL_EDGES; e++) c->crossed |= (uint16_t)((following[e] != NONE) << e);
    for (int e = 0; e < CRD_CELL_EDGES; e++) {
        if (following[e] == NONE) continue;
        loop *l = &loops[count++];
        l->count = 0;
        for (int at = e; following[at] != NONE;) {
            const int next = following[at];
            l->edges[l->count++] = at;
            following[at] = NONE;
            at = next;
        }
    }
    if (is_tunnel(code)) {
        fill_tunnel(c, loops);
    } else {
        for (int i = 0; i < count; i++) fill_loop(c, &loops[i]);
    }
}

static void make_cases(void)
{
    for (int code = 0; code < CRD_CELL_CASES; code++) make_case(code, &cases[code]);
}

const crd_cell_case *crd_cell_cases(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_cases);
    return cases;
}
