/* What a file format implements: one row of the table in registry.c. The generic half (volume.c) checks every box
 * against the shape, converts types, and owns the temporary name, so a format only moves bytes. */
#ifndef CRD_VOLUME_FORMAT_H
#define CRD_VOLUME_FORMAT_H

#include <stdbool.h>

#include "base/error.h"
#include "credence/volume.h"
#include "volume/block_cache.h"

typedef struct crd_format crd_format;

struct crd_volume {
    const crd_format *format;
    crd_volume_info info;
    char *path;             /* as the user gave it */
    char *file;             /* the same without ":/dataset"; what is opened, and what a commit renames to */
    const char *dataset;    /* the "/dataset" behind it, inside `path`, or NULL */
    char *write_path;       /* temporary file or folder while writing, NULL while reading */
    size_t cache_bytes;     /* limit for decoded data, always > 0 */
    crd_block_cache *cache; /* of that data, where there is any; crd_volume_open_again shares it */
    bool grey;              /* colours become grey values */
    bool again;             /* opened so: there are others of this file, and they share */
    int64_t layer;          /* slices that are best read or written together, such as a chunk's depth; 0: any number */
    bool z_fastest;         /* the file's own order is x, y, z with z fastest: slices are slow, see reverse_axes */
    bool read_once;         /* set while all of it is read once, in order: what a box holds whole isn't worth keeping */
    bool in_order;          /* while writing: whole slices in rising z, whatever the format can elsewhere */
    bool in_place;          /* while writing: under its own name from the beginning, and stays without a commit */
    bool over;              /* while writing: see crd_volume_create_over */
    bool staged;            /* while writing: see crd_volume_stage */
    bool lent;              /* its path opens it: see volume/views/lent.h */
    crd_volume *next_lent;  /* of those */
    bool committed;
    bool failed; /* a write went wrong: there is nothing to commit */
    void *state; /* the format's own */

    crd_volume_options options; /* that it was opened with */
    char *option_texts[3];      /* what their strings point to */
};

struct crd_format {
    const char *name;      /* "tiff" */
    const char *suffixes;  /* ".tif .tiff": the first is the one we write; "" for none */
    const char *kinds;     /* ".nii.gz": those whose files are written in another way; NULL: none */
    const char *only_read; /* ".hdr .img": those that credence doesn't write; NULL: none */
    const char *library;   /* what a build without it lacks, or NULL */
    bool any_order;        /* boxes may be written in any order, unless in_order is set */

    bool folder; /* what is written is a folder */

    /* All but sniff are NULL in a build without the library: the row stays, so that the error can say what is missing.
     * `options` is never NULL here. */

    /* Does the file look like ours? `head` is its first `count` bytes (at most 4096; 0 for a folder or a pattern). */
    bool (*sniff)(const char *path, const unsigned char *head, size_t count);
    /* Fills volume->info and volume->state from volume->path. On failure nothing stays open. volume.c checks the shape,
     * normalises the unit and applies the options' spacing afterwards. */
    crd_status (*open)(crd_volume *volume, const crd_volume_options *options, const crd_monitor *monitor);
    /* Only for what isn't opened by its path: the same volume for another thread. */
    crd_status (*open_again)(const crd_volume *volume, crd_volume **out);
    /* Reads a checked box in the volume's own type and the machine's byte order. */
    crd_status (*read)(crd_volume *volume, const crd_box *box, void *voxels);
    /* Starts writing volume->info to volume->write_path. */
    crd_status (*create)(crd_volume *volume, const crd_volume_options *options);
    crd_status (*write)(crd_volume *volume, const crd_box *box, const void *voxels);
    /* What was written to a staged volume until now, onto the disk. NULL: the format can't be staged. */
    crd_status (*sync)(crd_volume *volume);
    /* What all values of a staged volume lie between, where the format notes that; NULL: it doesn't. */
    void (*set_range)(crd_volume *volume, double low, double high);
    /* Everything on disk under write_path, synced; volume.c renames it afterwards. What describes an earlier file of
     * that name from beside it is removed here, so that it never stands beside the new one. */
    crd_status (*finish)(crd_volume *volume);
    /* Writes what describes the file from beside it, once that has its name; NULL: nothing does. */
    crd_status (*describe)(crd_volume *volume);
    /* Only needed where z_fastest may be set: shows the volume with its axes reversed, as the file has them; a second
     * call turns it back. */
    void (*reverse_axes)(crd_volume *volume);
    /* The files that a volume has beside volume->file, one by one from 0; NULL behind the last. Needed where there can
     * be such. */
    const char *(*other_file)(const crd_volume *volume, int64_t index);
    /* Removes a folder that was not committed; needed where `folder` is set. */
    crd_status (*remove)(const char *path);
    /* Frees the state; removes nothing. Accepts a state that was only partly built. */
    void (*close)(crd_volume *volume);
};

/* The same volume for another thread, with the options that it was opened with; the two share their decoded data and
 * its limit. */
crd_status crd_volume_open_again(const crd_volume *volume, crd_volume **out);

/* CRD_ERR_ARGUMENT, and a sentence, where the box leaves the volume or is empty. */
crd_status crd_volume_check_box(const crd_volume *volume, const crd_box *box);

/* Bytes of each voxel if the file is raw voxels of this shape, with nothing around them and nothing that describes
 * them; else 0. */
int64_t crd_raw_voxel_bytes(const char *path, const int64_t shape[3]);

/* Is there a file that both consist of? Writing the one would then destroy the other. */
bool crd_volumes_share_file(const crd_volume *a, const crd_volume *b);

/* As crd_volume_create, for a caller who knows that every file in the way is its own: "a.mhd" may put its voxels over
 * an "a.raw" that stands alone. */
crd_status crd_volume_create_over(const char *path, const crd_volume_info *info, const crd_volume_options *options,
                                  crd_volume **out);

/* A staged volume grows by boxes in any order, from several processes and over interruptions: where boxes can be
 * written in place. Until it is committed it lies under the name `staged`, and a folder under its own. The first to
 * open it makes it, and closing leaves it as it is. Any thread may write, one at a time. */
crd_status crd_volume_stage(const char *path, const char *staged, const crd_volume_info *info, const char *format,
                            crd_volume **out);
/* Can a volume of that format and suffix be staged? One that is packed in one piece can't. */
bool crd_format_stages(const char *format, const char *suffix);
/* What was written until now, onto the disk. */
crd_status crd_volume_sync(crd_volume *volume);
/* Before the commit: what all values lie between. Other volumes find it themselves. */
void crd_volume_set_range(crd_volume *volume, double low, double high);
/* Puts a staged volume whose commit was interrupted back under its staged name. `*there`: is it there now? */
crd_status crd_volume_restage(const char *path, const char *staged, const char *format, bool *there);

/* A volume of that format under its own name: `begin` fills state and write_path. */
crd_status crd_volume_create_in_place(const char *path, const crd_volume_info *info, const crd_format *format,
                                      crd_status (*begin)(crd_volume *volume), crd_volume **out);

/* A volume that is no file itself (volume/views/view.h), for reading, with a zeroed state for the caller to fill.
 * `path` stands for it in sentences; `file`, which may be NULL, is where its voxels come from. */
crd_status crd_volume_create_view(const char *path, const char *file, const crd_volume_info *info,
                                  const crd_format *format, size_t state_bytes, crd_volume **out);

/* Removes a volume that credence wrote, a file or an OME-Zarr folder, and what it wrote beside it: a description, or
 * the voxels of a header. One that isn't there is no error, and what lies beside it goes all the same: an interruption
 * may have left it alone. */
crd_status crd_volume_remove(const char *path);

/* The file that holds the voxels of a volume that credence wrote and that isn't packed: "a.raw" of "a.mhd", else the
 * volume's own. Free with crd_free. */
crd_status crd_volume_voxels_file(const char *path, char **out);

/* How many slices from z on, at most to `end`, are best read in one go where a box's voxels are worked on as they come:
 * few enough for the processor's caches, of a file in blocks up to a block's end, and all where slices are slow. */
int64_t crd_volume_slices_at_once(const crd_volume *volume, int64_t z, int64_t end, int64_t slice_voxels);

/* Does the name end in one of the format's suffixes? Letters of any case. */
bool crd_format_has_suffix(const crd_format *format, const char *path);
bool crd_path_ends_in(const char *path, const char *suffix);

/* Room for a suffix. */
enum { CRD_SUFFIX_BYTES = 16 };

/* The format that people mean by its name ("nifti") or by a suffix, with or without the dot, letters of any case
 * ("nii.gz", ".TIF", "ome-zarr"); NULL: none. `suffix` is the one meant, or the first of the format that is named. */
const crd_format *crd_format_meant(const char *text, char suffix[CRD_SUFFIX_BYTES]);
/* The same, if this build can write it; the sentence otherwise says what there is. */
crd_status crd_format_to_write(const char *text, const crd_format **out, char suffix[CRD_SUFFIX_BYTES]);
/* The first suffix: ".tif". */
void crd_format_suffix(const crd_format *format, char suffix[CRD_SUFFIX_BYTES]);
/* The suffix of the path if its files are written in another way than the format's first; else that first one. */
void crd_format_kind(const crd_format *format, const char *path, char suffix[CRD_SUFFIX_BYTES]);
/* ".tif .ome.tif .h5": all that this build writes, with a blank between. */
void crd_formats_written(char *out, size_t room);
/* Is the suffix one of the format's kinds? */
bool crd_format_is_kind(const crd_format *format, const char *suffix);

extern const crd_format crd_format_tiff, crd_format_hdf5, crd_format_npy, crd_format_raw, crd_format_nrrd,
    crd_format_metaimage, crd_format_nifti, crd_format_zarr, crd_format_zarr3, crd_format_png, crd_format_jpeg;

/* Written only: a file for each slice. Not in the list; crd_choose_writer chooses it by the name. */
extern const crd_format crd_format_tiff_slices;

/* All formats this version knows, in the order they are tried; ends in NULL. */
extern const crd_format *const crd_formats[];

#endif
