/* What NRRD and MetaImage share: a text header in front of the voxels, or in a file of its own beside them. */
#ifndef CRD_VOLUME_HEADED_H
#define CRD_VOLUME_HEADED_H

#include "base/text.h"
#include "volume/array.h"
#include "volume/format.h"

enum { CRD_HEADER_LIMIT = 1 << 20 };

/* The first bytes of a file, at most CRD_HEADER_LIMIT, with a zero behind; free with crd_free. */
crd_status crd_headed_text(const char *path, char **out, size_t *bytes);

/* The next line in [*at, end), without its end; false at the end. */
bool crd_next_line(const char **at, const char *end, const char **line, size_t *length);
/* Blanks off both ends. */
void crd_trim(const char **text, size_t *length);
/* The first word before a blank, which *text then stands behind; NULL at the end. */
const char *crd_next_word(const char **text, size_t *length, size_t *word);
/* Numbers between blanks; -1 if it is something else or more than `most`. */
int crd_take_reals(const char *text, size_t length, double *out, int most);
int crd_take_ints(const char *text, size_t length, int64_t *out, int most);
/* Is it that word, whatever the case of its letters? */
bool crd_is_word(const char *text, size_t length, const char *word);
/* Does a header spread its voxels over files: "LIST", or a pattern such as slice%03d.raw? */
bool crd_names_several(const char *text, size_t length);

/* The file that a header in `header` names as the place of its voxels. Only names in the header's own folder, or below
 * it, are believed; a link that leads elsewhere is followed, and said. Free with crd_free. */
crd_status crd_headed_data_path(const char *header, const char *name, size_t length, const crd_monitor *monitor,
                                char **out);

/* Says where `path` leads, if that is a link out of `folder`. */
void crd_tell_link(const char *shown, const char *folder, const char *path, const crd_monitor *monitor);

/* Writing. `head` is the header's text, or NULL where the voxels have a file of their own, `data_suffix` behind the
 * header's stem. */
typedef struct crd_headed {
    crd_array *array;
    char *data_path, *data_temporary; /* NULL where the header is in front */
    crd_packing packing;
} crd_headed;

crd_status crd_headed_create(crd_volume *volume, const char *head, const char *data_suffix, crd_packing packing,
                             int level, crd_headed **out);
/* The data file's name as the header says it: without a folder. */
const char *crd_headed_data_name(const crd_headed *headed);
/* Ends the voxels; then `head`, as long as the first one where it lies in front, is written and all is synced. */
crd_status crd_headed_end(crd_headed *headed, int64_t *packed_bytes);
crd_status crd_headed_finish(crd_volume *volume, crd_headed *headed, const char *head);
void crd_headed_close(crd_headed **headed);

/* The same for both as rows of a format: the volume's state is its crd_headed. */
crd_status crd_headed_read(crd_volume *volume, const crd_box *box, void *voxels);
crd_status crd_headed_write(crd_volume *volume, const crd_box *box, const void *voxels);
const char *crd_headed_data_file(const crd_volume *volume, int64_t index);
void crd_headed_close_volume(crd_volume *volume);
/* What is worth a word about a file that was opened. */
void crd_headed_tell(const crd_volume *volume, const crd_headed *headed, int64_t spare_bytes, bool turned, int stored,
                     const char *data_path, const crd_monitor *monitor);

#endif
