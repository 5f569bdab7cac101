/* PLY, binary: vertices with their data, then triangles. */
#include "surface/little_endian.h"
#include "surface/mesh_file.h"

enum { HEAD_BYTES = 1024, PLACE_BYTES = 12, FACE_BYTES = 13 };

static void put_vertex(const crd_mesh_stream *stream, const crd_mesh_part *part, int64_t item, int64_t number,
                       uint8_t *out)
{
    (void)stream;
    (void)number;
    for (int k = 0; k < 3; k++) crd_put_f32(out + 4 * k, part->places[3 * item + k]);
    for (int k = 0; k < part->data_count; k++) {
        crd_put_f32(out + PLACE_BYTES + 4 * k, part->data[item * part->data_count + k]);
    }
}

static void put_face(const crd_mesh_stream *stream, const crd_mesh_part *part, int64_t item, int64_t number,
                     uint8_t *out)
{
    (void)stream;
    (void)number;
    out[0] = 3;
    for (int k = 0; k < 3; k++) {
        crd_put_u32(out + 1 + 4 * k, (uint32_t)crd_mesh_number(part, part->corners[3 * item + k]));
    }
}

static int streams(const crd_mesh_about *about, crd_mesh_stream out[CRD_MESH_STREAMS])
{
    out[0] = (crd_mesh_stream){.record = PLACE_BYTES + 4 * about->data_count, .put = put_vertex};
    out[1] = (crd_mesh_stream){.record = FACE_BYTES, .of_triangles = true, .put = put_face};
    return 2;
}

static void head(const crd_mesh_about *about, int64_t vertices, int64_t triangles, crd_text *text)
{
    crd_text_add(text, "ply\nformat binary_little_endian 1.0\n");
    crd_text_print(text, "comment %s\ncomment unit %s\n", about->description, about->unit);
    crd_text_print(text, "element vertex %lld\nproperty float x\nproperty float y\nproperty float z\n",
                   (long long)vertices);
    for (int k = 0; k < about->data_count; k++) crd_text_print(text, "property float %s\n", about->data_names[k]);
    crd_text_print(text, "element face %lld\nproperty list uchar %s vertex_indices\n", (long long)triangles,
                   vertices > INT32_MAX ? "uint" : "int");
}

/* Comments of dots, so that the header is as long as was kept free. MeshLab takes no line of 512 characters. */
static void pad(char *text, int64_t length, int64_t bytes)
{
    static const char begin[] = "comment ", end[] = "end_header\n";
    enum { LINE = 64 };
    const int64_t last = bytes - (int64_t)(sizeof end - 1);
    while (length < last) {
        const int64_t line = last - length < 2 * LINE ? last - length : LINE;
        memset(text + length, '.', (size_t)line);
        memcpy(text + length, begin, sizeof begin - 1);
        text[length + line - 1] = '\n';
        length += line;
    }
    memcpy(text + last, end, sizeof end - 1);
}

const crd_mesh_format crd_mesh_ply = {
    .name = "PLY",
    .suffix = ".ply",
    .head_bytes = HEAD_BYTES,
    .most_vertices = UINT32_MAX,
    .most_triangles = INT64_MAX,
    .streams = streams,
    .head = head,
    .pad = pad,
};
