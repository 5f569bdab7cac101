/* TIFF volumes: opening a file, a folder or a pattern, and the format's row in the table. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "volume/optional.h"
#include "volume/slices/names.h"
#include "volume/tiff/tiff.h"
#include "volume/types.h"

static bool sniff(const char *path, const unsigned char *head, size_t count)
{
    struct stat about;
    if (count >= 4) {
        return memcmp(head, "II*\0", 4) == 0 || memcmp(head, "MM\0*", 4) == 0 || memcmp(head, "II+\0", 4) == 0 ||
               memcmp(head, "MM\0+", 4) == 0;
    }
    if (stat(path, &about) == 0 && !S_ISDIR(about.st_mode)) return false;
    return crd_slices_present(path, &crd_format_tiff);
}

static void free_reader(crd_tiff_reader **reader)
{
    crd_tiff_reader *r = *reader;
    if (r == NULL) return;
    crd_tiff_decoder_free(&r->decoder);
    crd_tiff_file_close(&r->file);
    crd_slices_free(&r->names, r->name_count);
    crd_block_cache_free(&r->cache);
    crd_free(&r->pages);
    crd_free(&r->offsets);
    crd_free(&r->counts);
    crd_free(&r->scratch);
    crd_free(reader);
}

/* ---- the index of pages ---- */

static crd_status append_page(crd_tiff_reader *reader, const crd_tiff_page *page)
{
    if (reader->page_count == CRD_TIFF_MOST_PAGES) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s has more than %d pages; split it", reader->file.path,
                        (int)CRD_TIFF_MOST_PAGES);
    }
    if (reader->page_count == reader->page_room) {
        crd_tiff_page *larger = NULL;
        const int64_t room = reader->page_room == 0 ? 64 : 2 * reader->page_room;
        CRD_PASS(crd_alloc(room, sizeof *larger, "the index of pages", &larger));
        if (reader->page_count > 0) memcpy(larger, reader->pages, (size_t)reader->page_count * sizeof *larger);
        crd_free(&reader->pages);
        reader->pages = larger;
        reader->page_room = room;
    }
    reader->pages[reader->page_count] = *page;
    reader->pages[reader->page_count++].file = (int32_t)reader->open_name;
    return CRD_OK;
}

/* The first page sets what the others must be. */
static crd_status check_alike(crd_tiff_reader *reader, const crd_tiff_image *image, int64_t number)
{
    const crd_tiff_image *first = &reader->image;
    char place[32] = "";
    if (reader->page_count == 0) {
        reader->image = *image;
        return CRD_OK;
    }
    if (image->width == first->width && image->height == first->height && image->bits == first->bits &&
        image->type == first->type && image->samples == first->samples) {
        return CRD_OK;
    }
    if (reader->name_count == 1) snprintf(place, sizeof place, "page %lld of ", (long long)number);
    return crd_fail(
        CRD_ERR_MISMATCH,
        "%s%s has %lld x %lld pixels (y, x) of type %s (%lld bits), but %s%s has %lld x %lld of type %s (%lld "
        "bits); the slices of a volume must be alike",
        reader->name_count == 1 ? "page 1 of " : "", reader->names[0], (long long)first->height,
        (long long)first->width, crd_type_name(first->type), (long long)first->bits, place, reader->file.path,
        (long long)image->height, (long long)image->width, crd_type_name(image->type), (long long)image->bits);
}

/* Follows the chain of directories of the open file. A chain that comes back to itself is found by Brent's method:
 * remember a place, go on for twice as long as before, remember again. */
static crd_status index_file(crd_tiff_reader *reader, const crd_monitor *monitor, crd_tiff_directory *first)
{
    const crd_tiff_file *file = &reader->file;
    const int64_t already = reader->page_count;
    int64_t number = 0, side_pages = 0, remembered = 0, until = 1;
    for (int64_t offset = file->first_directory; offset != 0;) {
        crd_tiff_directory directory;
        crd_tiff_image image;
        crd_tiff_page page;
        if (offset == remembered || number > 2 * CRD_TIFF_MOST_PAGES) {
            return crd_fail(CRD_ERR_FORMAT, "%s is broken: its list of pages comes back to itself or never ends",
                            file->path);
        }
        if (++number == until) {
            remembered = offset;
            until *= 2;
        }
        CRD_PASS(crd_tiff_read_directory(file, offset, number, &directory));
        offset = directory.next;
        if ((directory.subfile & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) != 0) {
            side_pages++;
            continue;
        }
        if (reader->name_count > 1 && reader->page_count > already) {
            return crd_fail(
                CRD_ERR_UNSUPPORTED,
                "%s has more than one page, and in a folder of slices every file has one; give that file alone "
                "if it is the volume",
                file->path);
        }
        CRD_PASS(crd_tiff_check_page(file, number, &directory, reader->grey, &image, &page));
        CRD_PASS(check_alike(reader, &image, number));
        if (reader->page_count == 0) *first = directory;
        CRD_PASS(append_page(reader, &page));
        /* One block: its place costs nothing to know now, and lets many slices be read at once. */
        if (crd_tiff_block_count(&image, &page) == 1) CRD_PASS(crd_tiff_load_blocks(reader, reader->page_count - 1));
        if (number % 4096 == 0) CRD_PASS(crd_advance(monitor, "opening", "pages", number, number, NULL));
    }
    if (reader->page_count == already) {
        return crd_fail(CRD_ERR_FORMAT, "%s holds no image, only thumbnails or masks", file->path);
    }
    if (side_pages > 0) {
        crd_info(monitor, "ignored %lld page%s of %s marked as thumbnail or mask", (long long)side_pages,
                 side_pages == 1 ? "" : "s", file->path);
    }
    return CRD_OK;
}

static crd_status read_description(crd_tiff_reader *reader, const crd_tiff_directory *first, const crd_monitor *monitor,
                                   crd_tiff_metadata *out)
{
    crd_status status = CRD_OK;
    char *text = NULL;
    double n = 0.0, d = 0.0;
    crd_tiff_resolution resolution = {.unit = first->resolution_unit};
    CRD_TRY(crd_tiff_read_rational(&reader->file, &first->resolution_x, &n, &d));
    if (n > 0.0) {
        resolution.x = d / n;
        resolution.per_x = n / d;
    }
    CRD_TRY(crd_tiff_read_rational(&reader->file, &first->resolution_y, &n, &d));
    if (n > 0.0) {
        resolution.y = d / n;
        resolution.per_y = n / d;
    }
    CRD_TRY(crd_tiff_read_text(&reader->file, &first->description, &text));
    CRD_TRY(crd_tiff_read_metadata(reader->file.path, text, &resolution, reader->name_count > 1, monitor, out));
done:
    crd_free(&text);
    return status;
}

/* ImageJ writes a stack of more than 4 GiB as one directory, with all slices behind the first one's data. */
static crd_status unfold(crd_tiff_reader *reader, int64_t slices)
{
    const crd_tiff_file *file = &reader->file;
    const crd_tiff_image *image = &reader->image;
    crd_tiff_page page = reader->pages[0];
    CRD_PASS(crd_tiff_load_blocks(reader, 0));
    page.data = reader->pages[0].data;
    const int64_t bytes = image->height * image->width * (image->bits / 8);
    if (page.data < 0) {
        return crd_fail(
            CRD_ERR_FORMAT,
            "%s has one page, but its description says %lld slices; it is cut short, or a program that wrote it "
            "kept an old description",
            file->path, (long long)slices);
    }
    const int64_t held = (file->size - page.data) / bytes;
    if (held < slices) {
        return crd_fail(
            CRD_ERR_FORMAT,
            "%s is cut short: its description says %lld slices, and it has room for %lld; copy it again from "
            "its source",
            file->path, (long long)slices, (long long)held);
    }
    for (int64_t z = 1; z < slices; z++) {
        page.data += bytes;
        CRD_PASS(append_page(reader, &page));
    }
    return CRD_OK;
}

static crd_status settle_slices(crd_tiff_reader *reader, const crd_tiff_metadata *metadata, const crd_monitor *monitor)
{
    const int64_t said = metadata->slices, pages = reader->page_count;
    if (reader->name_count > 1) {
        if (!metadata->one_piece) return CRD_OK;
        return crd_fail(
            CRD_ERR_UNSUPPORTED,
            "%s is a stack of %lld slices, and in a folder of slices every file has one; give that file alone",
            reader->names[0], (long long)said);
    }
    if (said == 0 || said == pages) return CRD_OK;
    if (metadata->one_piece && pages == 1) return unfold(reader, said);
    if (!metadata->one_piece && said > 1) {
        return crd_fail(
            CRD_ERR_MISMATCH,
            "%s has %lld pages, but its description says %lld slices; it is cut short or one of several files",
            reader->file.path, (long long)pages, (long long)said);
    }
    if (said > 1) {
        crd_warn(monitor, "%s has %lld pages, although its description says %lld: all pages are read",
                 reader->file.path, (long long)pages, (long long)said);
    }
    return CRD_OK;
}

static void say_what_is_special(const crd_volume *volume, const crd_tiff_reader *reader, const crd_monitor *monitor)
{
    const crd_tiff_image *image = &reader->image;
    if (image->photometric == PHOTOMETRIC_MINISWHITE) {
        crd_warn(monitor, "%s is marked as an inverted image (0 is white): values are read as stored", volume->path);
    }
    if (image->photometric == PHOTOMETRIC_PALETTE) {
        crd_info(monitor, "%s has a colour table, which is ignored: values are read as stored", volume->path);
    }
    if (image->orientation != ORIENTATION_TOPLEFT) {
        crd_warn(monitor, "%s asks to be shown turned or mirrored (orientation %llu): rows are read as stored",
                 volume->path, (unsigned long long)image->orientation);
    }
    if (image->bits == 1) crd_info(monitor, "%s has one bit per pixel: read as 0 and 1", volume->path);
}

/* ---- the format ---- */

static crd_status name_files(const char *path, const crd_monitor *monitor, crd_tiff_reader *reader)
{
    struct stat about;
    if (stat(path, &about) != 0 || S_ISDIR(about.st_mode)) {
        return crd_slices_list(path, &crd_format_tiff, monitor, &reader->names, &reader->name_count);
    }
    CRD_PASS(crd_alloc(1, sizeof *reader->names, "a file name", &reader->names));
    CRD_PASS(crd_strdup(path, &reader->names[0]));
    reader->name_count = 1;
    return CRD_OK;
}

static crd_status index_all(crd_tiff_reader *reader, const crd_monitor *monitor, crd_tiff_metadata *metadata)
{
    crd_tiff_directory first = {0};
    for (int64_t i = 0; i < reader->name_count; i++) {
        crd_tiff_file_close(&reader->file);
        CRD_PASS(crd_tiff_file_open(reader->names[i], &reader->file));
        reader->open_name = i;
        CRD_PASS(index_file(reader, monitor, &first));
        if (i == 0) CRD_PASS(read_description(reader, &first, monitor, metadata));
        if (i % 64 == 63) CRD_PASS(crd_advance(monitor, "opening", "slices", i + 1, reader->name_count, NULL));
    }
    CRD_PASS(settle_slices(reader, metadata, monitor));
    /* A file that was cut short most often lacks its end. */
    CRD_PASS(crd_tiff_load_blocks(reader, 0));
    if (reader->pages[reader->page_count - 1].data == CRD_TIFF_DATA_UNKNOWN) {
        CRD_PASS(crd_tiff_load_blocks(reader, reader->page_count - 1));
    }
    return CRD_OK;
}

static crd_status open_reader(crd_volume *volume, const crd_monitor *monitor, crd_tiff_reader **out)
{
    crd_status status = CRD_OK;
    crd_tiff_reader *reader = NULL;
    crd_tiff_metadata metadata;
    int64_t voxels = 0;
    CRD_TRY(crd_alloc(1, sizeof *reader, "a TIFF volume", &reader));
    reader->file.fd = -1;
    reader->blocks_of = -1;
    reader->grey = volume->grey;
    CRD_TRY(crd_alloc(CRD_TIFF_SCRATCH, 1, "a TIFF volume", &reader->scratch));
    CRD_TRY(crd_tiff_decoder_create(&reader->decoder));
    CRD_TRY(crd_block_cache_open(volume->cache_bytes, &volume->cache, &reader->cache));
    CRD_TRY(name_files(volume->path, monitor, reader));
    CRD_TRY(index_all(reader, monitor, &metadata));
    CRD_TRY(crd_product(reader->page_count, reader->image.height, reader->image.width, &voxels));
    volume->info = (crd_volume_info){.shape = {reader->page_count, reader->image.height, reader->image.width},
                                     .type = reader->image.type,
                                     .scale = metadata.scale,
                                     .format = "tiff"};
    say_what_is_special(volume, reader, monitor);
    memcpy(volume->info.spacing, metadata.spacing, sizeof metadata.spacing);
    memcpy(volume->info.origin, metadata.origin, sizeof metadata.origin);
    memcpy(volume->info.unit, metadata.unit, sizeof metadata.unit);
    *out = reader;
    reader = NULL;
done:
    free_reader(&reader);
    return status;
}

/* A volume is open for one of the two. */
typedef struct state {
    crd_tiff_reader *reader;
    crd_tiff_writer *writer;
} state;

static crd_status open_volume(crd_volume *volume, const crd_volume_options *options, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    state *s = NULL;
    (void)options;
    CRD_TRY(crd_alloc(1, sizeof *s, "a TIFF volume", &s));
    CRD_TRY(open_reader(volume, monitor, &s->reader));
    volume->state = s;
    s = NULL;
done:
    crd_free(&s);
    return status;
}

static crd_status read_box(crd_volume *volume, const crd_box *box, void *voxels)
{
    const state *s = volume->state;
    return crd_tiff_read_box(s->reader, box, voxels);
}

static crd_status create_volume(crd_volume *volume, const crd_volume_options *options)
{
    crd_status status = CRD_OK;
    state *s = NULL;
    CRD_TRY(crd_alloc(1, sizeof *s, "a TIFF volume", &s));
    CRD_TRY(crd_tiff_writer_create(volume->write_path, &volume->info, options->compress,
                                   crd_path_ends_in(volume->file, ".ome.tif") ||
                                       crd_path_ends_in(volume->file, ".ome.tiff"),
                                   volume->staged, &s->writer));
    volume->state = s;
    s = NULL;
done:
    crd_free(&s);
    return status;
}

static crd_status write_box(crd_volume *volume, const crd_box *box, const void *voxels)
{
    const state *s = volume->state;
    return crd_tiff_writer_put(s->writer, box, voxels);
}

static crd_status sync_volume(crd_volume *volume)
{
    const state *s = volume->state;
    return crd_tiff_writer_sync(s->writer);
}

static void set_range(crd_volume *volume, double low, double high)
{
    const state *s = volume->state;
    crd_tiff_writer_set_range(s->writer, low, high);
}

static crd_status finish_volume(crd_volume *volume)
{
    const state *s = volume->state;
    return crd_tiff_writer_finish(s->writer, true);
}

static const char *slice_file(const crd_volume *volume, int64_t index)
{
    const crd_tiff_reader *reader = ((const state *)volume->state)->reader;
    return reader != NULL && index < reader->name_count ? reader->names[index] : NULL;
}

static void close_volume(crd_volume *volume)
{
    state *s = volume->state;
    if (s == NULL) return;
    free_reader(&s->reader);
    crd_tiff_writer_free(&s->writer);
    crd_free(&volume->state);
}

const crd_format crd_format_tiff = {
    .name = "tiff",
    .suffixes = CRD_TIFF_SUFFIXES,
    .kinds = CRD_TIFF_KINDS,
    .library = "libtiff",
    .any_order = false,
    .sniff = sniff,
    .open = open_volume,
    .read = read_box,
    .create = create_volume,
    .write = write_box,
    .sync = sync_volume,
    .set_range = set_range,
    .finish = finish_volume,
    .other_file = slice_file,
    .close = close_volume,
};
