/* STL, binary: triangles alone, each with its normal. */
#include <math.h>
#include <stdio.h>

#include "surface/little_endian.h"
#include "surface/mesh_file.h"

enum { HEAD_BYTES = 84, TITLE_BYTES = 80, FACE_BYTES = 50 };

static void put_face(const crd_mesh_stream *stream, const crd_mesh_part *part, int64_t item, int64_t number,
                     uint8_t *out)
{
    const uint32_t *corners = part->corners + 3 * item;
    const float *p[3];
    double normal[3], square = 0;
    (void)stream;
    (void)number;
    for (int i = 0; i < 3; i++) p[i] = part->places + 3 * (int64_t)corners[i];
    for (int k = 0; k < 3; k++) {
        const int a = (k + 1) % 3, b = (k + 2) % 3;
        normal[k] = ((double)p[1][a] - (double)p[0][a]) * ((double)p[2][b] - (double)p[0][b]) -
                    ((double)p[1][b] - (double)p[0][b]) * ((double)p[2][a] - (double)p[0][a]);
        square += normal[k] * normal[k];
    }
    const double length = square > 0 ? sqrt(square) : 1;
    for (int k = 0; k < 3; k++) crd_put_f32(out + 4 * k, (float)(normal[k] / length));
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) crd_put_f32(out + 12 + 12 * i + 4 * k, p[i][k]);
    }
    out[48] = out[49] = 0;
}

static int streams(const crd_mesh_about *about, crd_mesh_stream out[CRD_MESH_STREAMS])
{
    (void)about;
    out[0] = (crd_mesh_stream){.record = FACE_BYTES, .of_triangles = true, .put = put_face};
    return 1;
}

/* The title must not begin with "solid", by which readers know STL in text. */
static void head(const crd_mesh_about *about, int64_t vertices, int64_t triangles, crd_text *text)
{
    uint8_t bytes[HEAD_BYTES] = {0};
    (void)vertices;
    snprintf((char *)bytes, TITLE_BYTES, "binary STL, unit %s, %s", about->unit, about->description);
    crd_put_u32(bytes + TITLE_BYTES, (uint32_t)triangles);
    crd_text_add_bytes(text, (const char *)bytes, HEAD_BYTES);
}

const crd_mesh_format crd_mesh_stl = {
    .name = "STL",
    .suffix = ".stl",
    .head_bytes = HEAD_BYTES,
    .most_vertices = INT64_MAX,
    .most_triangles = UINT32_MAX,
    .streams = streams,
    .head = head,
};
