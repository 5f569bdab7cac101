/* Files: whole reads and writes at an offset, atomic replacement. */
#ifndef CRD_BASE_FILE_H
#define CRD_BASE_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* System calls that a signal may interrupt, where a host's handlers don't have them restarted or the disk is a
 * network's: repeated until they aren't. They return what the calls return. What crd_open makes has mode 0666; a
 * descriptor is closed whatever close says, so only what else it reports counts. */
int crd_open(const char *path, int flags);
int crd_open_in(int folder, const char *name, int flags);
int crd_close(int fd);
int crd_sync_data(int fd);
int crd_resize(int fd, int64_t bytes);
DIR *crd_open_folder(const char *path);

/* As many bytes as there are up to `bytes`; negative: they can't be read, errno says why. */
int64_t crd_read_some(int fd, int64_t offset, void *data, size_t bytes);

/* The next entry, NULL behind the last one. A folder that can't be read any further would look like one that ends
 * there: that is a failure in *status. */
struct dirent *crd_next_entry(DIR *listing, const char *path, crd_status *status);

/* Exactly `bytes` bytes at `offset`, or an error that names the file; interrupted calls are repeated. */
crd_status crd_read_at(int fd, const char *path, int64_t offset, void *data, size_t bytes);
crd_status crd_write_at(int fd, const char *path, int64_t offset, const void *data, size_t bytes);

/* All of it at the end of a file opened with O_APPEND, in one call where the system takes it so. */
crd_status crd_write_on(int fd, const char *path, const void *data, size_t bytes);

/* A name for a temporary file beside `path` that nothing has yet ("dir/.name.tmp.<pid>.<n>"), free with crd_free. */
crd_status crd_temporary_name(const char *path, char **out);

/* Takes the descriptor that wrote: only that one is sure to report an error in what was written before. */
crd_status crd_sync_and_close(int fd, const char *path);

/* Everything in a folder up to now onto the disk: one call for what may be thousands of files. */
crd_status crd_sync_tree(const char *folder, const char *shown);

/* A file or folder that is on the disk already (crd_sync_and_close): rename over `path`, fsync of its folder. */
crd_status crd_replace_file(const char *temporary, const char *path);

/* Before long work whose result goes to `path`: its folder must be there, and the name not be a folder's. */
crd_status crd_check_target(const char *path);
/* Do both names lead to one file that exists? */
bool crd_same_file(const char *a, const char *b);
/* Is there a file of that name that begins otherwise (upper or lower case)? Nothing and zeros are no beginning. */
bool crd_file_is_other(const char *path, const char *beginning);

/* Opens a plain file for reading; `*bytes` = its length. Folders, pipes (which nobody waits for) and devices are
 * refused with a sentence. */
crd_status crd_open_plain(const char *path, int *fd, int64_t *bytes);

/* Writes a whole small file atomically. */
crd_status crd_write_file(const char *path, const void *data, size_t bytes);
/* Reads a whole plain file of at most `limit` bytes; *out ends in an extra zero byte; free with crd_free. `bytes`
 * may be NULL. */
crd_status crd_read_file(const char *path, size_t limit, char **out, size_t *bytes);

/* "folder/name" + suffix, one slash between; free with crd_free. */
crd_status crd_join_path(const char *folder, const char *name, const char *suffix, char **out);
/* A name of the same file that is valid from any folder; free with crd_free. */
crd_status crd_absolute_path(const char *path, char **out);
/* The folder that `path` lies in: "." where none is named; free with crd_free. */
crd_status crd_folder_of(const char *path, char **out);
/* Makes the folder and those above it, as far as they are missing. Lasting: with the names of those it made on the
 * disk, without which a power cut takes away what is synced in them. */
crd_status crd_make_folders(const char *path);
crd_status crd_make_lasting_folders(const char *path);
/* The names in a folder onto the disk. */
crd_status crd_sync_folder(const char *path);
bool crd_is_empty_folder(const char *path);
/* Removes all files in a folder, or the folder with them; one that isn't there is fine, one with folders in it isn't.
 */
crd_status crd_empty_folder(const char *path);
crd_status crd_remove_folder(const char *path);

#endif
