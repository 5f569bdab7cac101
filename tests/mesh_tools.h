/* Meshes in tests: read back from a PLY file, and looked at as a surface. */
#ifndef CRD_TESTS_MESH_TOOLS_H
#define CRD_TESTS_MESH_TOOLS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mesh {
    int64_t vertices, triangles;
    int data;       /* floats of a vertex behind its place */
    float *places;  /* 3 + data of each vertex */
    int32_t *faces; /* 3 of each triangle */
} mesh;

static inline const float *mesh_place(const mesh *m, int64_t vertex)
{
    return m->places + vertex * (3 + m->data);
}

static inline void mesh_free(mesh *m)
{
    free(m->places);
    free(m->faces);
    memset(m, 0, sizeof *m);
}

/* Of little-endian machines, as ours are; false where the file isn't as it should be, to its last byte. */
static inline bool mesh_read(const char *path, mesh *m)
{
    FILE *file = fopen(path, "rb");
    char line[256];
    long long count;
    bool good = file != NULL, ended = false;
    memset(m, 0, sizeof *m);
    while (good && !ended && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "element vertex %lld", &count) == 1) m->vertices = count;
        if (sscanf(line, "element face %lld", &count) == 1) m->triangles = count;
        m->data += strncmp(line, "property float ", 15) == 0;
        ended = strcmp(line, "end_header\n") == 0;
    }
    good = good && ended && m->data >= 3;
    if (good) {
        m->data -= 3;
        m->places = calloc((size_t)m->vertices + 1, (size_t)(3 + m->data) * sizeof *m->places);
        m->faces = calloc((size_t)m->triangles + 1, 3 * sizeof *m->faces);
        good = fread(m->places, (size_t)(3 + m->data) * sizeof *m->places, (size_t)m->vertices, file) ==
               (size_t)m->vertices;
    }
    for (int64_t i = 0; good && i < m->triangles; i++) {
        good = fgetc(file) == 3 && fread(m->faces + 3 * i, sizeof *m->faces, 3, file) == 3;
        for (int k = 0; k < 3 && good; k++) good = m->faces[3 * i + k] >= 0 && m->faces[3 * i + k] < m->vertices;
    }
    good = good && fgetc(file) == EOF;
    if (file != NULL) fclose(file);
    return good;
}

static inline int mesh_compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Directed edges that don't occur just once, or whose reverse doesn't: none in a closed, oriented surface. */
static inline int64_t mesh_open_edges(const mesh *m)
{
    const size_t count = 3 * (size_t)m->triangles;
    uint64_t *edges = calloc(count + 1, sizeof *edges);
    int64_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t from = (uint64_t)m->faces[i], to = (uint64_t)m->faces[i - i % 3 + (i + 1) % 3];
        bad += from == to;
        edges[i] = from << 32 | to;
    }
    qsort(edges, count, sizeof *edges, mesh_compare);
    for (size_t i = 0; i < count; i++) {
        const uint64_t reverse = edges[i] << 32 | edges[i] >> 32;
        bad += i > 0 && edges[i] == edges[i - 1];
        bad += bsearch(&reverse, edges, count, sizeof *edges, mesh_compare) == NULL;
    }
    free(edges);
    return bad;
}

/* Vertices whose triangles aren't one fan, or that have none. For surfaces without open edges. */
static inline int64_t mesh_bad_fans(const mesh *m)
{
    const int64_t count = 3 * m->triangles;
    int64_t *first = calloc((size_t)m->vertices + 1, sizeof *first), *next = calloc((size_t)count + 1, sizeof *next);
    int64_t bad = 0;
    for (int64_t v = 0; v < m->vertices; v++) first[v] = -1;
    for (int64_t i = 0; i < count; i++) {
        next[i] = first[m->faces[i]];
        first[m->faces[i]] = i;
    }
    for (int64_t v = 0; v < m->vertices; v++) {
        int64_t corners = 0, walked = 0, at = first[v];
        for (int64_t c = first[v]; c >= 0; c = next[c]) corners++;
        bad += corners < 3;
        while (at >= 0) { /* from a triangle to the one across its edge to the vertex before */
            const int32_t before = m->faces[at - at % 3 + (at + 2) % 3];
            int64_t other = first[v];
            while (other >= 0 && m->faces[other - other % 3 + (other + 1) % 3] != before) other = next[other];
            at = other;
            walked++;
            if (at == first[v] || walked > corners) break;
        }
        bad += walked != corners;
    }
    free(first);
    free(next);
    return bad;
}

typedef struct mesh_sums {
    double area, volume, least_area;
    double low[3], high[3]; /* x, y, z */
} mesh_sums;

static inline mesh_sums mesh_measure(const mesh *m)
{
    mesh_sums s = {.least_area = INFINITY};
    for (int k = 0; k < 3; k++) {
        s.low[k] = INFINITY;
        s.high[k] = -INFINITY;
    }
    for (int64_t v = 0; v < m->vertices; v++) {
        for (int k = 0; k < 3; k++) {
            const double at = (double)mesh_place(m, v)[k];
            if (at < s.low[k]) s.low[k] = at;
            if (at > s.high[k]) s.high[k] = at;
        }
    }
    for (int64_t i = 0; i < m->triangles; i++) {
        double p[3][3], normal[3];
        for (int c = 0; c < 3; c++) {
            for (int k = 0; k < 3; k++) p[c][k] = (double)mesh_place(m, m->faces[3 * i + c])[k] - s.low[k];
        }
        for (int k = 0; k < 3; k++) {
            const int a = (k + 1) % 3, b = (k + 2) % 3;
            normal[k] = (p[1][a] - p[0][a]) * (p[2][b] - p[0][b]) - (p[1][b] - p[0][b]) * (p[2][a] - p[0][a]);
        }
        const double area = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]) / 2;
        s.area += area;
        s.volume += (normal[0] * p[0][0] + normal[1] * p[0][1] + normal[2] * p[0][2]) / 6;
        if (!(area >= s.least_area)) s.least_area = area;
    }
    return s;
}

/* Vertices - edges + triangles of a closed surface. */
static inline int64_t mesh_euler(const mesh *m)
{
    return m->vertices - m->triangles / 2;
}

#endif
