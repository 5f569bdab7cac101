#include "record.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_OPEN_FOLDERS = 16 };

typedef struct object {
    dev_t device;
    ino_t inode;
} object;

static FILE *out;
static const char *root;
static object *objects; /* by number; a file system gives the same inode again, so the last one counts */
static size_t count, room;

bool record_on(void)
{
    return out != NULL;
}

static size_t add(const struct stat *about)
{
    if (count == room) {
        room = 2 * room + 256;
        objects = realloc(objects, room * sizeof *objects);
        if (objects == NULL) abort();
    }
    objects[count] = (object){about->st_dev, about->st_ino};
    return count++;
}

static bool known(const struct stat *about, size_t *number)
{
    for (size_t i = count; i-- > 0;) {
        if (objects[i].device != about->st_dev || objects[i].inode != about->st_ino) continue;
        *number = i;
        return true;
    }
    return false;
}

static bool number_of(const char *path, size_t *number)
{
    struct stat about;
    return stat(path, &about) == 0 && known(&about, number);
}

static void quoted(const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* " F "name"" of a path; false: its folder is none of ours. */
static bool place(const char *path)
{
    char folder[PATH_MAX];
    size_t number;
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    if (!number_of(folder, &number)) {
        fprintf(out, " ? ");
    } else {
        fprintf(out, " %zu ", number);
    }
    quoted(slash + 1);
    return true;
}

static int have(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    size_t number = 0;
    const char *name = below(root, path);
    (void)where;
    if (kind != FTW_F && kind != FTW_D) return -1;
    if (!known(about, &number)) number = add(about);
    fprintf(out, "have %zu %s ", number, kind == FTW_D ? "folder" : "file");
    quoted(name);
    fputc('\n', out);
    return 0;
}

bool record_open(const char *path, const char *folder)
{
    root = folder;
    out = fopen(path, "w");
    return out != NULL && nftw(folder, have, MOST_OPEN_FOLDERS, FTW_PHYS) == 0;
}

void record_make(const char *path, bool is_folder)
{
    struct stat about;
    if (stat(path, &about) != 0) return; /* somebody removed it meanwhile */
    const size_t number = add(&about);
    fprintf(out, "make");
    place(path);
    fprintf(out, " %zu %s\n", number, is_folder ? "folder" : "file");
}

void record_link(const char *from, const char *to)
{
    size_t number;
    if (!number_of(from, &number)) return;
    fprintf(out, "link");
    place(to);
    fprintf(out, " %zu\n", number);
}

void record_drop(const char *path)
{
    fprintf(out, "drop");
    place(path);
    fputc('\n', out);
}

void record_move(const char *from, const char *to)
{
    fprintf(out, "move");
    place(from);
    place(to);
    fputc('\n', out);
}

void record_data(pid_t pid, const char *open_file, int64_t offset, uint64_t from, int64_t bytes)
{
    size_t number;
    char *data = malloc((size_t)bytes + 1);
    if (data == NULL) abort();
    if (number_of(open_file, &number) && read_memory(pid, from, data, (size_t)bytes)) {
        fprintf(out, "data %zu %" PRId64 " %" PRId64 "\n", number, offset, bytes);
        fwrite(data, 1, (size_t)bytes, out);
        fputc('\n', out);
    }
    free(data);
}

void record_size(const char *open_file, int64_t bytes, bool at_least)
{
    size_t number;
    if (number_of(open_file, &number)) fprintf(out, "%s %zu %" PRId64 "\n", at_least ? "room" : "size", number, bytes);
}

void record_sync(const char *open_file)
{
    size_t number;
    if (open_file == NULL) {
        fprintf(out, "sync *\n");
    } else if (number_of(open_file, &number)) {
        fprintf(out, "sync %zu\n", number);
    }
}

bool record_close(void)
{
    return out == NULL || fclose(out) == 0;
}
