#include "surface/mesh_file.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/file.h"
#include "base/memory.h"

enum { BLOCK = 1 << 14, COPY_BYTES = 8 << 20, LENGTH_BYTES = 8 };

typedef struct array_file {
    char *path;
    int fd; /* -1: none */
    int64_t bytes;
} array_file;

struct crd_mesh_file {
    const crd_mesh_format *format;
    crd_mesh_about about;
    crd_pool *pool;
    char *path;
    int count;
    crd_mesh_stream streams[CRD_MESH_STREAMS];
    array_file arrays[CRD_MESH_STREAMS]; /* the first is the file itself */
    int64_t vertices, triangles;
    uint8_t *records;
    int64_t room;
};

crd_status crd_mesh_format_of(const char *path, const crd_mesh_format **out)
{
    static const crd_mesh_format *const formats[] = {&crd_mesh_ply, &crd_mesh_stl, &crd_mesh_vtp};
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const size_t suffix = strlen(formats[i]->suffix);
        if (length <= suffix || strcasecmp(path + length - suffix, formats[i]->suffix) != 0) continue;
        *out = formats[i];
        return CRD_OK;
    }
    return crd_fail(CRD_ERR_ARGUMENT, "output: '%s' doesn't end in .ply, .stl or .vtp, which says what is written",
                    path);
}

/* Where the records of an array begin in its file. */
static int64_t head_of(const crd_mesh_file *f, int stream)
{
    return stream == 0 ? f->format->head_bytes + (f->format->lengths ? LENGTH_BYTES : 0) : 0;
}

crd_status crd_mesh_file_create(const char *path, const crd_mesh_format *format, const crd_mesh_about *about,
                                crd_pool *pool, crd_mesh_file **out)
{
    crd_status status = CRD_OK;
    CRD_PASS(crd_check_target(path));
    CRD_PASS(crd_alloc(1, sizeof **out, "the mesh's file", out));
    crd_mesh_file *f = *out;
    f->format = format;
    f->about = *about;
    f->pool = pool;
    f->count = format->streams(about, f->streams);
    for (int i = 0; i < f->count; i++) f->arrays[i].fd = -1;
    CRD_TRY(crd_strdup(path, &f->path));
    for (int i = 0; i < f->count; i++) {
        array_file *array = &f->arrays[i];
        CRD_TRY(crd_temporary_name(path, &array->path));
        array->fd = crd_open(array->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC);
        if (array->fd < 0) status = crd_fail_errno("can't create %s", array->path);
        if (array->fd < 0) goto done;
    }
done:
    if (status != CRD_OK) crd_mesh_file_close(out);
    return status;
}

void crd_mesh_file_close(crd_mesh_file **file)
{
    crd_mesh_file *f = *file;
    if (f == NULL) return;
    for (int i = 0; i < f->count; i++) {
        array_file *array = &f->arrays[i];
        if (array->fd >= 0) (void)close(array->fd);
        if (array->path != NULL) (void)unlink(array->path);
        crd_free(&array->path);
    }
    crd_free(&f->path);
    crd_free(&f->records);
    crd_free(file);
}

typedef struct put_job {
    const crd_mesh_stream *stream;
    const crd_mesh_part *part;
    int64_t first, count, number;
    uint8_t *out;
} put_job;

static void put_block(void *context, int64_t item, int worker)
{
    const put_job *job = context;
    const int64_t from = item * BLOCK, to = from + BLOCK < job->count ? from + BLOCK : job->count;
    (void)worker;
    for (int64_t i = from; i < to; i++) {
        job->stream->put(job->stream, job->part, job->first + i, job->number + i, job->out + i * job->stream->record);
    }
}

static crd_status add_to_array(crd_mesh_file *f, int index, const crd_mesh_part *part)
{
    const crd_mesh_stream *stream = &f->streams[index];
    array_file *array = &f->arrays[index];
    put_job job = {.stream = stream, .part = part};
    job.first = stream->of_triangles ? 0 : part->kept;
    job.count = (stream->of_triangles ? part->triangles : part->vertices) - job.first;
    job.number = stream->of_triangles ? f->triangles : f->vertices;
    const int64_t bytes = job.count * stream->record;
    if (bytes == 0) return CRD_OK;
    if (bytes > f->room) {
        crd_free(&f->records);
        f->room = 0;
        CRD_PASS(crd_alloc(bytes + bytes / 2, 1, "records of the mesh", &f->records));
        f->room = bytes + bytes / 2;
    }
    job.out = f->records;
    crd_pool_run(f->pool, (job.count + BLOCK - 1) / BLOCK, put_block, &job);
    CRD_PASS(crd_write_at(array->fd, f->path, head_of(f, index) + array->bytes, f->records, (size_t)bytes));
    array->bytes += bytes;
    return CRD_OK;
}

crd_status crd_mesh_file_add(crd_mesh_file *f, const crd_mesh_part *part)
{
    const int64_t vertices = f->vertices + part->vertices - part->kept, triangles = f->triangles + part->triangles;
    if (vertices > f->format->most_vertices || triangles > f->format->most_triangles) {
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "the surface has more vertices or triangles than %s can number (2^32); write .vtp, or use "
                        "--decimate or --bbox",
                        f->format->name);
    }
    for (int i = 0; i < f->count; i++) CRD_PASS(add_to_array(f, i, part));
    f->vertices = vertices;
    f->triangles = triangles;
    return CRD_OK;
}

/* Behind what the file has; a length in front where the format wants it. */
static crd_status append_array(crd_mesh_file *f, int index, int64_t *end, uint8_t *buffer)
{
    const array_file *target = &f->arrays[0], *source = &f->arrays[index];
    if (f->format->lengths) {
        uint8_t length[LENGTH_BYTES];
        for (int i = 0; i < LENGTH_BYTES; i++) length[i] = (uint8_t)((uint64_t)source->bytes >> 8 * i);
        const int64_t at = index == 0 ? f->format->head_bytes : *end;
        CRD_PASS(crd_write_at(target->fd, f->path, at, length, sizeof length));
        if (index > 0) *end += LENGTH_BYTES;
    }
    for (int64_t done = 0; index > 0 && done < source->bytes;) {
        const int64_t bytes = source->bytes - done < COPY_BYTES ? source->bytes - done : COPY_BYTES;
        CRD_PASS(crd_read_at(source->fd, source->path, done, buffer, (size_t)bytes));
        CRD_PASS(crd_write_at(target->fd, f->path, *end, buffer, (size_t)bytes));
        done += bytes;
        *end += bytes;
    }
    return CRD_OK;
}

static crd_status write_head(crd_mesh_file *f, char *buffer)
{
    crd_status status = CRD_OK;
    crd_text text = {0};
    char *words = NULL;
    f->format->head(&f->about, f->vertices, f->triangles, &text);
    const int64_t length = text.length;
    CRD_TRY(crd_text_finish(&text, &words));
    CRD_ASSERT(length <= f->format->head_bytes && f->format->head_bytes <= COPY_BYTES);
    memset(buffer, 0, (size_t)f->format->head_bytes);
    memcpy(buffer, words, (size_t)length);
    if (f->format->pad != NULL) f->format->pad(buffer, length, f->format->head_bytes);
    CRD_TRY(crd_write_at(f->arrays[0].fd, f->path, 0, buffer, (size_t)f->format->head_bytes));
done:
    crd_text_free(&text);
    crd_free(&words);
    return status;
}

crd_status crd_mesh_file_commit(crd_mesh_file *f)
{
    crd_status status = CRD_OK;
    uint8_t *buffer = NULL;
    int64_t end = head_of(f, 0) + f->arrays[0].bytes;
    CRD_TRY(crd_alloc(COPY_BYTES, 1, "a part of the mesh", &buffer));
    for (int i = 0; i < f->count; i++) CRD_TRY(append_array(f, i, &end, buffer));
    CRD_TRY(write_head(f, (char *)buffer));
    if (f->format->tail != NULL) {
        CRD_TRY(crd_write_at(f->arrays[0].fd, f->path, end, f->format->tail, strlen(f->format->tail)));
    }
    const int fd = f->arrays[0].fd;
    f->arrays[0].fd = -1;
    CRD_TRY(crd_sync_and_close(fd, f->path));
    CRD_TRY(crd_replace_file(f->arrays[0].path, f->path));
    crd_free(&f->arrays[0].path);
done:
    crd_free(&buffer);
    return status;
}
