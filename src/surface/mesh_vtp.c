/* VTK PolyData: XML with the arrays behind it, each with its length in front. */
#include "surface/little_endian.h"
#include "surface/mesh_file.h"

enum { HEAD_BYTES = 2048, LENGTH_BYTES = 8 };

static void put_place(const crd_mesh_stream *stream, const crd_mesh_part *part, int64_t item, int64_t number,
                      uint8_t *out)
{
    (void)stream;
    (void)number;
    for (int k = 0; k < 3; k++) crd_put_f32(out + 4 * k, part->places[3 * item + k]);
}

static void put_datum(const crd_mesh_stream *stream, const crd_mesh_part *part, int64_t item, int64_t number,
                      uint8_t *out)
{
    (void)number;
    crd_put_f32(out, part->data[item * part->data_count + stream->which]);
}

static void put_corners(const crd_mesh_stream *stream, const crd_mesh_part *part, int64_t item, int64_t number,
                        uint8_t *out)
{
    const int64_t bytes = stream->record / 3;
    (void)number;
    for (int k = 0; k < 3; k++) {
        const int64_t vertex = crd_mesh_number(part, part->corners[3 * item + k]);
        if (bytes == 8) crd_put_u64(out + 8 * k, (uint64_t)vertex);
        if (bytes == 4) crd_put_u32(out + 4 * k, (uint32_t)vertex);
    }
}

/* Where the triangle ends in the list of corners. */
static void put_end(const crd_mesh_stream *stream, const crd_mesh_part *part, int64_t item, int64_t number,
                    uint8_t *out)
{
    const uint64_t end = 3 * ((uint64_t)number + 1);
    (void)part;
    (void)item;
    if (stream->record == 8) crd_put_u64(out, end);
    if (stream->record == 4) crd_put_u32(out, (uint32_t)end);
}

static int streams(const crd_mesh_about *about, crd_mesh_stream out[CRD_MESH_STREAMS])
{
    const int64_t bytes = about->wide ? 8 : 4;
    int count = 0;
    out[count++] = (crd_mesh_stream){.record = 12, .put = put_place};
    for (int k = 0; k < about->data_count; k++) {
        out[count++] = (crd_mesh_stream){.record = 4, .which = k, .put = put_datum};
    }
    out[count++] = (crd_mesh_stream){.record = 3 * bytes, .of_triangles = true, .put = put_corners};
    out[count++] = (crd_mesh_stream){.record = bytes, .of_triangles = true, .put = put_end};
    return count;
}

/* An array's line; *offset moves on to the next. */
static void array_line(crd_text *text, const char *type, const char *name, int components, int64_t bytes,
                       int64_t *offset)
{
    crd_text_print(text, "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" format=\"appended\" ", type,
                   name, components);
    crd_text_print(text, "offset=\"%lld\"/>\n", (long long)*offset);
    *offset += LENGTH_BYTES + bytes;
}

static void head(const crd_mesh_about *about, int64_t vertices, int64_t triangles, crd_text *text)
{
    const char *integer = about->wide ? "Int64" : "Int32";
    const int64_t bytes = about->wide ? 8 : 4;
    int64_t offset = 0;
    crd_text_add(text, "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" "
                       "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n<!-- ");
    crd_text_html(text, about->description);
    crd_text_add(text, "; unit ");
    crd_text_html(text, about->unit);
    crd_text_print(text,
                   " -->\n<PolyData>\n<Piece NumberOfPoints=\"%lld\" NumberOfVerts=\"0\" NumberOfLines=\"0\" "
                   "NumberOfStrips=\"0\" NumberOfPolys=\"%lld\">\n<Points>\n",
                   (long long)vertices, (long long)triangles);
    array_line(text, "Float32", "Points", 3, 12 * vertices, &offset);
    crd_text_add(text, "</Points>\n<PointData>\n");
    for (int k = 0; k < about->data_count; k++) {
        array_line(text, "Float32", about->data_names[k], 1, 4 * vertices, &offset);
    }
    crd_text_add(text, "</PointData>\n<Polys>\n");
    array_line(text, integer, "connectivity", 1, 3 * bytes * triangles, &offset);
    array_line(text, integer, "offsets", 1, bytes * triangles, &offset);
    crd_text_add(text, "</Polys>\n</Piece>\n</PolyData>\n");
}

static void pad(char *text, int64_t length, int64_t bytes)
{
    static const char end[] = "\n<AppendedData encoding=\"raw\">\n_";
    memset(text + length, ' ', (size_t)(bytes - length));
    memcpy(text + bytes - (sizeof end - 1), end, sizeof end - 1);
}

const crd_mesh_format crd_mesh_vtp = {
    .name = "VTP",
    .suffix = ".vtp",
    .head_bytes = HEAD_BYTES,
    .most_vertices = INT64_MAX,
    .most_triangles = INT64_MAX / 3,
    .lengths = true,
    .streams = streams,
    .head = head,
    .pad = pad,
    .tail = "\n</AppendedData>\n</VTKFile>\n",
};
