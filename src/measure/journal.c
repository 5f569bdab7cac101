#include "measure/journal.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "run/paths.h"

struct crd_journal {
    char *path;
};

#define KEY "key.json"
enum { KEY_LIMIT = 1 << 20 };

/* What stands before the bytes of a file. */
typedef struct header {
    char magic[8];
    int64_t bytes;
    uint64_t sum; /* FNV-1a of them */
} header;
static const char magic[8] = "crdmeas1";

static uint64_t sum_of(const void *data, int64_t bytes)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (int64_t i = 0; i < bytes; i++) sum = (sum ^ ((const uint8_t *)data)[i]) * UINT64_C(1099511628211);
    return sum;
}

/* Is what lies there of the same measurement? */
static crd_status same_key(const char *path, const char *key, bool *there, bool *same)
{
    crd_status status = CRD_OK;
    char *file = NULL, *old = NULL;
    *there = *same = false;
    CRD_TRY(crd_join_path(path, KEY, "", &file));
    if (access(file, F_OK) != 0) goto done;
    *there = true;
    CRD_TRY(crd_read_file(file, KEY_LIMIT, &old, NULL));
    *same = strcmp(old, key) == 0;
done:
    crd_free(&file);
    crd_free(&old);
    return status;
}

crd_status crd_journal_open(const char *folder, const char *key, bool resume, const crd_monitor *monitor,
                            crd_journal **out)
{
    crd_status status = CRD_OK;
    crd_journal *j = NULL;
    char *file = NULL;
    bool there, same;
    CRD_TRY(crd_alloc(1, sizeof *j, "a journal", &j));
    CRD_TRY(crd_run_path(folder, CRD_RUN_MEASURING, &j->path));
    CRD_TRY(same_key(j->path, key, &there, &same));
    if (resume && !there) crd_info(monitor, "there is no unfinished measurement in %s: it begins anew", folder);
    if (resume && there && !same) {
        crd_warn(monitor,
                 "the unfinished measurement in %s had other settings, or the run's volumes have changed since: it "
                 "begins anew",
                 folder);
    }
    if (!resume || !same) {
        CRD_TRY(crd_empty_folder(j->path));
        CRD_TRY(crd_make_lasting_folders(j->path));
        CRD_TRY(crd_join_path(j->path, KEY, "", &file));
        CRD_TRY(crd_write_file(file, key, strlen(key)));
    }
    *out = j;
    j = NULL;
done:
    crd_free(&file);
    crd_journal_close(&j);
    return status;
}

void crd_journal_close(crd_journal **journal)
{
    if (*journal == NULL) return;
    crd_free(&(*journal)->path);
    crd_free(journal);
}

crd_status crd_journal_finish(crd_journal *journal)
{
    return journal != NULL ? crd_remove_folder(journal->path) : CRD_OK;
}

crd_status crd_journal_find(const crd_journal *journal, const char *name, void *data, int64_t bytes, bool *found)
{
    crd_status status = CRD_OK;
    char *file = NULL, *text = NULL;
    struct stat about;
    header h;
    *found = false;
    if (journal == NULL) return CRD_OK;
    CRD_TRY(crd_join_path(journal->path, name, "", &file));
    if (stat(file, &about) != 0 || about.st_size != (off_t)sizeof h + bytes) goto done;
    CRD_TRY(crd_read_file(file, sizeof h + (size_t)bytes, &text, NULL));
    memcpy(&h, text, sizeof h);
    if (memcmp(h.magic, magic, sizeof magic) != 0 || h.bytes != bytes || h.sum != sum_of(text + sizeof h, bytes)) {
        goto done;
    }
    memcpy(data, text + sizeof h, (size_t)bytes);
    *found = true;
done:
    crd_free(&file);
    crd_free(&text);
    return status;
}

crd_status crd_journal_keep(const crd_journal *journal, const char *name, const void *data, int64_t bytes)
{
    crd_status status = CRD_OK;
    char *file = NULL;
    uint8_t *text = NULL;
    header h = {.bytes = bytes, .sum = sum_of(data, bytes)};
    if (journal == NULL) return CRD_OK;
    memcpy(h.magic, magic, sizeof magic);
    CRD_TRY(crd_join_path(journal->path, name, "", &file));
    CRD_TRY(crd_alloc((int64_t)sizeof h + bytes, 1, "a journal", &text));
    memcpy(text, &h, sizeof h);
    memcpy(text + sizeof h, data, (size_t)bytes);
    CRD_TRY(crd_write_file(file, text, sizeof h + (size_t)bytes));
done:
    crd_free(&file);
    crd_free(&text);
    return status;
}
