/* System calls that reach files: what each does, and which file it does it to. */
#ifndef FAULTS_CALLS_H
#define FAULTS_CALLS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum family {
    OPEN,
    READ,
    WRITE,
    SYNC,
    CLOSE,
    RENAME,
    LINK,
    UNLINK,
    MKDIR,
    SIZE,
    LIST,
    LOOK,
    OTHER, /* nothing that a program of ours should do to a file */
    FAMILIES
} family;

extern const char *const family_names[FAMILIES];

typedef struct call_row {
    long number;
    const char *name;
    family family;
    int8_t fd, folder, path, other_folder, other_path; /* which arguments they are; NONE */
} call_row;

enum { NONE = -1 };

extern const call_row call_rows[];
extern const size_t call_row_count;

const call_row *call_row_of(long number);

/* Of the process `pid`: bytes of its memory, a path among its arguments (made absolute), the name of an open file. */
bool read_memory(pid_t pid, uint64_t from, void *to, size_t bytes);
bool path_argument(pid_t pid, int folder_fd, uint64_t text, char out[PATH_MAX]);
bool path_of_fd(pid_t pid, int fd, char out[PATH_MAX]);

/* The part of an absolute path below `folder`, or NULL. */
const char *below(const char *folder, const char *path);

/* Without what differs from run to run: ".name.tmp.4711.0" becomes ".name.tmp". */
void steady_name(const char *path, char out[PATH_MAX]);

#endif
