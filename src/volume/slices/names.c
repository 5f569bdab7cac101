#include "volume/slices/names.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"

enum { MOST_FILES = 1 << 20, MOST_DIGITS = 18, MOST_RUNS = 32 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* A file that can't be looked at is no reason to go on without it. */
static crd_status is_plain_file(const char *path, bool *is)
{
    struct stat about;
    const bool there = stat(path, &about) == 0;
    *is = there && S_ISREG(about.st_mode);
    return there || errno == ENOENT || errno == ELOOP ? CRD_OK : crd_fail_errno("%s can't be read", path);
}

int crd_slices_compare(const char *a, const char *b)
{
    const char *p = a, *q = b;
    while (*p != '\0' && *q != '\0') {
        if (is_digit(*p) && is_digit(*q)) {
            while (*p == '0' && is_digit(p[1])) p++;
            while (*q == '0' && is_digit(q[1])) q++;
            const size_t n = strspn(p, "0123456789"), m = strspn(q, "0123456789");
            if (n != m) return n < m ? -1 : 1;
            const int order = memcmp(p, q, n);
            if (order != 0) return order;
            p += n;
            q += m;
        } else {
            if (*p != *q) return (unsigned char)*p < (unsigned char)*q ? -1 : 1;
            p++;
            q++;
        }
    }
    if (*p != *q) return *p == '\0' ? -1 : 1;
    return strcmp(a, b);
}

static int compare_entries(const void *a, const void *b)
{
    return crd_slices_compare(*(char *const *)a, *(char *const *)b);
}

/* ---- numbering ---- */

/* The runs of digits in a name. Very long ones are no numbers but part of the text. */
typedef struct numbers {
    int count;
    int64_t value[MOST_RUNS];
    size_t start[MOST_RUNS], length[MOST_RUNS]; /* within the name, without its folder */
} numbers;

static numbers numbers_of(const char *path)
{
    numbers out = {0};
    const char *name = base_name(path);
    for (const char *c = name; *c != '\0' && out.count < MOST_RUNS;) {
        const size_t n = strspn(c, "0123456789");
        if (n > 0 && n <= MOST_DIGITS) {
            out.start[out.count] = (size_t)(c - name);
            out.length[out.count] = n;
            out.value[out.count++] = strtoll(c, NULL, 10);
        }
        c += n > 0 ? n : 1;
    }
    return out;
}

/* Are two names the same but for their numbers and the case of letters? */
static bool same_text(const char *a, const char *b)
{
    a = base_name(a);
    b = base_name(b);
    while (*a != '\0' && *b != '\0') {
        const size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
        const bool counted = n > 0 && n <= MOST_DIGITS && m > 0 && m <= MOST_DIGITS;
        if (!counted && strncasecmp(a, b, 1) != 0) return false;
        a += counted ? n : 1;
        b += counted ? m : 1;
    }
    return *a == *b;
}

static int64_t step_to(char *const *names, int64_t i, int run)
{
    return numbers_of(names[i]).value[run] - numbers_of(names[i - 1]).value[run];
}

static crd_status twice(const char *path, const char *a, const char *b)
{
    return crd_fail(CRD_ERR_ARGUMENT, "%s has two slices of the same number, %s and %s; remove one of them", path,
                    base_name(a), base_name(b));
}

/* Number `run` is the only one that changes, so the names rise with it. The least step is the common one. */
static crd_status check_gaps(const char *path, char *const *names, int64_t count, int run)
{
    int64_t least = INT64_MAX;
    for (int64_t i = 1; i < count; i++) {
        const int64_t step = step_to(names, i, run);
        if (step == 0) return twice(path, names[i - 1], names[i]);
        if (step < least) least = step;
    }
    for (int64_t i = 1; i < count; i++) {
        if (step_to(names, i, run) == least) continue;
        const numbers before = numbers_of(names[i - 1]);
        const char *name = base_name(names[i - 1]);
        return crd_fail(CRD_ERR_ARGUMENT,
                        "%s lacks a slice: %.*s%0*lld%s is missing between %s and %s; add it, or choose slices by a "
                        "pattern in quotes",
                        path, (int)before.start[run], name, (int)before.length[run],
                        (long long)(before.value[run] + least), name + before.start[run] + before.length[run], name,
                        base_name(names[i]));
    }
    return CRD_OK;
}

/* The number that counts the slices: the only one that changes, or one that rises evenly; -1 if there is none. */
static int counting_run(char *const *names, int64_t count, int *varying)
{
    const numbers first = numbers_of(names[0]);
    int even = -1, last = -1;
    *varying = 0;
    for (int run = 0; run < first.count; run++) {
        bool varies = false, is_even = true;
        const int64_t step = step_to(names, 1, run);
        for (int64_t i = 1; i < count; i++) {
            const int64_t here = step_to(names, i, run);
            if (here != 0) varies = true;
            if (here != step || here <= 0) is_even = false;
        }
        if (!varies) continue;
        (*varying)++;
        last = run;
        if (is_even && even < 0) even = run;
    }
    return *varying == 1 ? last : even;
}

static crd_status check_sequence(const char *path, char *const *names, int64_t count, const crd_monitor *monitor)
{
    int64_t stranger = 0;
    bool numbered = false;
    int varying = 0;
    for (int64_t i = 0; i < count; i++) {
        if (stranger == 0 && !same_text(names[0], names[i])) stranger = i;
        if (numbers_of(names[i]).count > 0) numbered = true;
    }
    if (!numbered) {
        crd_warn(monitor, "the slices in %s have no numbers: they are taken in the order of their names, %s first",
                 path, base_name(names[0]));
        return CRD_OK;
    }
    if (stranger != 0) {
        return crd_fail(
            CRD_ERR_ARGUMENT,
            "%s holds slices of more than one sequence, such as %s and %s; choose one by a pattern in quotes, "
            "such as \"scan_*.tif\"",
            path, base_name(names[0]), base_name(names[stranger]));
    }
    const int run = counting_run(names, count, &varying);
    if (varying == 0) return twice(path, names[0], names[1]); /* only leading zeros or the case of letters differ */
    if (run < 0) {
        return crd_fail(
            CRD_ERR_ARGUMENT,
            "the slices in %s can't be ordered: more than one number in their names changes (%s, %s); choose "
            "one sequence by a pattern in quotes, or rename them",
            path, base_name(names[0]), base_name(names[count - 1]));
    }
    CRD_PASS(check_gaps(path, names, count, run));
    if (step_to(names, 1, run) > 1) {
        crd_warn(monitor, "the slices in %s are numbered in steps of %lld (%s, %s, ...): they are taken as neighbours",
                 path, (long long)step_to(names, 1, run), base_name(names[0]), base_name(names[1]));
    }
    return CRD_OK;
}

/* ---- listing ---- */

typedef struct list {
    char **names;
    int64_t count, room;
    int64_t ignored;
    char example[256]; /* the first by name that was ignored */
} list;

static crd_status add(list *l, const char *path)
{
    if (l->count == MOST_FILES) return crd_fail(CRD_ERR_ARGUMENT, "%s and others are too many slices", path);
    if (l->count == l->room) {
        char **larger = NULL;
        const int64_t room = l->room == 0 ? 256 : 2 * l->room;
        CRD_PASS(crd_alloc(room, sizeof *larger, "the names of slices", &larger));
        if (l->count > 0) memcpy(larger, l->names, (size_t)l->count * sizeof *larger);
        crd_free(&l->names);
        l->names = larger;
        l->room = room;
    }
    CRD_PASS(crd_strdup(path, &l->names[l->count]));
    l->count++;
    return CRD_OK;
}

static crd_status consider(list *l, const char *path, const crd_format *format)
{
    const char *name = base_name(path);
    bool slice = name[0] != '.' && crd_format_has_suffix(format, name);
    if (slice) CRD_PASS(is_plain_file(path, &slice));
    if (slice) return add(l, path);
    if (l->ignored++ == 0 || strcmp(name, l->example) < 0) snprintf(l->example, sizeof l->example, "%s", name);
    return CRD_OK;
}

static crd_status list_folder(const char *path, const crd_format *format, list *l)
{
    crd_status status = CRD_OK;
    char *full = NULL;
    size_t length = strlen(path);
    DIR *folder = crd_open_folder(path);
    if (folder == NULL) return crd_fail_errno("can't open the folder %s", path);
    while (length > 1 && path[length - 1] == '/') length--;
    const size_t room = length + 258;
    CRD_TRY(crd_alloc((int64_t)room, 1, "a file name", &full));
    for (const struct dirent *item; (item = crd_next_entry(folder, path, &status)) != NULL;) {
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) continue;
        snprintf(full, room, "%.*s%s%s", (int)length, path, path[length - 1] == '/' ? "" : "/", item->d_name);
        CRD_TRY(consider(l, full, format));
    }
done:
    closedir(folder);
    crd_free(&full);
    return status;
}

/* glob takes a folder that can't be read any further for one that ends there, and slices would be missing without a
 * word: its calls go past us. */
static _Thread_local int listing_failure;

static void *open_listing(const char *path)
{
    return crd_open_folder(path);
}

static struct dirent *next_in_listing(void *listing)
{
    errno = 0;
    struct dirent *entry = readdir(listing);
    if (entry == NULL && errno != 0) listing_failure = errno;
    return entry;
}

static void close_listing(void *listing)
{
    (void)closedir(listing);
}

static int look_at(const char *path, struct stat *about)
{
    return stat(path, about);
}

static int look_at_link(const char *path, struct stat *about)
{
    return lstat(path, about);
}

static crd_status list_pattern(const char *path, const crd_format *format, list *l)
{
    crd_status status = CRD_OK;
    glob_t found = {.gl_opendir = open_listing,
                    .gl_readdir = next_in_listing,
                    .gl_closedir = close_listing,
                    .gl_stat = look_at,
                    .gl_lstat = look_at_link};
    listing_failure = 0;
    const int result = glob(path, GLOB_NOSORT | GLOB_ALTDIRFUNC, NULL, &found);
    if (result == GLOB_NOSPACE) CRD_FAIL(CRD_ERR_MEMORY, "not enough memory for the files that match %s", path);
    if (listing_failure != 0) {
        errno = listing_failure;
        status = crd_fail_errno("can't read the folder of %s", path);
        goto done;
    }
    if (result != 0 && result != GLOB_NOMATCH) CRD_FAIL(CRD_ERR_SYSTEM, "can't read the folder of %s", path);
    for (size_t i = 0; i < found.gl_pathc; i++) CRD_TRY(consider(l, found.gl_pathv[i], format));
done:
    globfree(&found);
    return status;
}

static crd_status list_any(const char *path, const crd_format *format, list *l)
{
    struct stat about;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) return list_folder(path, format, l);
    return list_pattern(path, format, l);
}

bool crd_slices_present(const char *path, const crd_format *format)
{
    list l = {0};
    const bool present = list_any(path, format, &l) == CRD_OK && l.count > 0;
    crd_slices_free(&l.names, l.count);
    return present;
}

crd_status crd_slices_list(const char *path, const crd_format *format, const crd_monitor *monitor, char ***names,
                           int64_t *count)
{
    crd_status status = CRD_OK;
    list l = {0};
    CRD_TRY(list_any(path, format, &l));
    if (l.count == 0) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s holds no slices: no file there ends in %s", path, format->suffixes);
    }
    qsort(l.names, (size_t)l.count, sizeof *l.names, compare_entries);
    if (l.count > 1) CRD_TRY(check_sequence(path, l.names, l.count, monitor));
    if (l.ignored > 0) {
        crd_info(monitor, "ignored %lld other file%s in %s: %s%s", (long long)l.ignored, l.ignored == 1 ? "" : "s",
                 path, l.example, l.ignored == 1 ? "" : ", ...");
    }
    *names = l.names;
    *count = l.count;
    l = (list){0};
done:
    crd_slices_free(&l.names, l.count);
    return status;
}

void crd_slices_free(char ***names, int64_t count)
{
    if (*names == NULL) return;
    for (int64_t i = 0; i < count; i++) crd_free(&(*names)[i]);
    crd_free(names);
}
