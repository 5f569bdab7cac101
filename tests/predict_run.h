/* Whole predictions in a scratch folder, for the tests that compare them. */
#ifndef CRD_TESTS_PREDICT_RUN_H
#define CRD_TESTS_PREDICT_RUN_H

#include "base/file.h"
#include "base/memory.h"
#include "credence/predict.h"
#include "harness.h"
#include "predict_tools.h"
#include "volume_tools.h"

static crd_predict_options options;

/* Eight have instructions of their own, and are quicker than four but for sanitizers and valgrind. */
static inline int quick_filters(void)
{
    return sparse(2, "8 filters") == 1 ? 8 : 4;
}

/* Removes a run folder and what it may hold. */
static inline void remove_run(const char *path)
{
    static const char *const inner[] = {".partial", ""};
    for (int i = 0; i < 2; i++) {
        char name[1200], folder[600];
        snprintf(folder, sizeof folder, "%s/%s", path, inner[i]);
        DIR *listing = opendir(folder);
        for (struct dirent *entry; listing != NULL && (entry = readdir(listing)) != NULL;) {
            snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
            (void)unlink(name);
        }
        if (listing != NULL) closedir(listing);
        (void)rmdir(folder);
    }
}

static const char *run_names[32];
static int run_count;

static inline const char *run_path(const char *name)
{
    static char paths[8][600];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s", scratch(name));
    return path;
}

static inline void set(const char *name, const char *value)
{
    if (crd_settings_set(&crd_predict_settings, &options, name, value) != CRD_OK) {
        printf("%s\n", crd_last_error()->message);
        exit(1);
    }
}

static inline void remove_runs(void)
{
    for (int i = 0; i < run_count; i++) remove_run(run_path(run_names[i]));
}

/* Options for a small run into the folder `name`, which is removed first. */
static inline void begin(const char *name)
{
    crd_settings_clear(&crd_predict_settings, &options);
    (void)crd_settings_default(&crd_predict_settings, &options);
    remove_run(run_path(name));
    if (run_count == 0) atexit(remove_runs);
    if (run_count < (int)(sizeof run_names / sizeof run_names[0])) run_names[run_count++] = name;
    set("model", scratch("model.h5"));
    set("scan", scratch("scan.npy"));
    set("output", run_path(name));
    set("samples", "5");
    set("chunk", "16,16,16");
    set("step", "2");
    set("intervals", "33-67,5-95");
}

/* A file of a run, whole; ends the program where it is missing. */
static inline char *content(const char *run, const char *file, size_t *bytes)
{
    char path[1200], *text = NULL;
    snprintf(path, sizeof path, "%s/%s", run_path(run), file);
    if (crd_read_file(path, (size_t)64 << 20, &text, bytes) != CRD_OK) {
        printf("%s\n", crd_last_error()->message);
        exit(1);
    }
    return text;
}

static inline bool same_file(const char *a, const char *b, const char *file)
{
    size_t length_a, length_b;
    char *text_a = content(a, file, &length_a), *text_b = content(b, file, &length_b);
    const bool same = length_a == length_b && memcmp(text_a, text_b, length_a) == 0;
    crd_free(&text_a);
    crd_free(&text_b);
    return same;
}

static inline float *floats(const char *run, const char *file, int64_t count)
{
    size_t bytes;
    char *text = content(run, file, &bytes);
    float *values = malloc((size_t)count * sizeof *values);
    if (values == NULL || bytes < (size_t)count * sizeof *values) exit(1);
    memcpy(values, text + bytes - (size_t)count * sizeof *values, (size_t)count * sizeof *values);
    crd_free(&text);
    return values;
}

static inline crd_status save_scan(const char *path, crd_type type, const int64_t shape[3], const void *voxels)
{
    crd_volume *volume = NULL;
    crd_volume_info info = {.type = type, .scale = 1.0, .spacing = {2, 1, 1}, .unit = "um"};
    crd_box box = {{0, 0, 0}, {shape[0], shape[1], shape[2]}};
    memcpy(info.shape, shape, 3 * sizeof shape[0]);
    crd_status status = crd_volume_create(path, &info, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_write(volume, &box, voxels);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

#endif
