/* A mesh in a file, written part by part: nothing of it is kept in memory. Arrays that follow each other in the file
 * grow beside it, and are joined at the end; the file has its name when all of it is there. */
#ifndef CRD_SURFACE_MESH_FILE_H
#define CRD_SURFACE_MESH_FILE_H

#include <stdbool.h>

#include "base/parallel.h"
#include "base/text.h"
#include "surface/mesh_part.h"

/* What a file says beside the mesh. */
typedef struct crd_mesh_about {
    const char *unit;        /* of the coordinates: "um", "voxels" */
    const char *description; /* one line */
    int data_count;
    const char *data_names[CRD_VERTEX_DATA];
    bool wide; /* numbers of vertices and triangles may need more than 31 bits */
} crd_mesh_about;

/* One array of the file: records of one length, one for each vertex or for each triangle. */
typedef struct crd_mesh_stream crd_mesh_stream;
struct crd_mesh_stream {
    bool of_triangles;
    int64_t record; /* bytes */
    int which;      /* of the vertices' data, where it holds one of them */
    /* Record number `item` of a part; `number` is its number in the whole mesh. */
    void (*put)(const crd_mesh_stream *stream, const crd_mesh_part *part, int64_t item, int64_t number, uint8_t *out);
};

enum { CRD_MESH_STREAMS = CRD_VERTEX_DATA + 3 };

typedef struct crd_mesh_format {
    const char *name, *suffix;
    int64_t head_bytes;                    /* kept free in front of the first array */
    int64_t most_vertices, most_triangles; /* that its numbers can count */
    bool lengths;                          /* each array begins with its length in 8 bytes */
    int (*streams)(const crd_mesh_about *about, crd_mesh_stream streams[CRD_MESH_STREAMS]);
    /* The text in front, of at most head_bytes; the file pads it. */
    void (*head)(const crd_mesh_about *about, int64_t vertices, int64_t triangles, crd_text *text);
    /* Pads text of `length` bytes to head_bytes; NULL: with zeros. */
    void (*pad)(char *text, int64_t length, int64_t bytes);
    const char *tail; /* text at the end, or NULL */
} crd_mesh_format;

extern const crd_mesh_format crd_mesh_ply, crd_mesh_stl, crd_mesh_vtp;

/* The format that the name's suffix says; a sentence where none does. */
crd_status crd_mesh_format_of(const char *path, const crd_mesh_format **out);

typedef struct crd_mesh_file crd_mesh_file;

crd_status crd_mesh_file_create(const char *path, const crd_mesh_format *format, const crd_mesh_about *about,
                                crd_pool *pool, crd_mesh_file **out);
crd_status crd_mesh_file_add(crd_mesh_file *file, const crd_mesh_part *part);
/* Joins the arrays, and gives the file its name. */
crd_status crd_mesh_file_commit(crd_mesh_file *file);
/* Removes what wasn't committed. NULL is fine. */
void crd_mesh_file_close(crd_mesh_file **file);

#endif
