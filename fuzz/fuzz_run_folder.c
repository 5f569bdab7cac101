/* A folder in which any text is manifest.json, .partial/run.json and .partial/outputs.json: whoever reads it gets a
 * sentence or a run, what is read is written again as the same, and whoever replaces the run removes nothing that isn't
 * the run's: neither other files in the folder nor any outside it. */
#include <limits.h>

#include "base/file.h"
#include "base/memory.h"
#include "credence/run.h"
#include "parts.h"
#include "run/folder.h"
#include "run/identity.h"
#include "run/read.h"

static void must(int good)
{
    if (!good) abort();
}

static void must_be_a_sentence(void)
{
    const char *message = crd_last_error()->message;
    must(message[0] != '\0' && strchr(message, '\n') == NULL);
}

static void make_folder(const char *name)
{
    const char *path = fuzz_path(name);
    must(mkdir(path, 0700) == 0 || errno == EEXIST);
}

/* The text of what a manifest's text is read as. */
static char *rewrite(const char *text)
{
    const char *path = fuzz_path("again.json");
    crd_manifest m;
    char *written = NULL;
    must(crd_manifest_parse(text, path, &m) == CRD_OK);
    must(crd_manifest_write(&m, path) == CRD_OK);
    must(crd_read_file(path, INT_MAX, &written, NULL) == CRD_OK);
    crd_manifest_free(&m);
    return written;
}

/* What was read of a manifest, written and read again. The first time loses what no manifest of ours has: numbers
 * beyond all, which are written as null and then aren't numbers. From then on they are the same bytes. */
static void write_again(const crd_manifest *m)
{
    const char *path = fuzz_path("again.json");
    char *text = NULL;
    if (crd_manifest_write(m, path) != CRD_OK) return; /* only whole ones are written, by the run itself */
    must(crd_read_file(path, INT_MAX, &text, NULL) == CRD_OK);
    char *second = rewrite(text), *third = rewrite(second);
    must(strcmp(second, third) == 0);
    crd_free(&text);
    crd_free(&second);
    crd_free(&third);
}

static void read_run(const char *folder)
{
    crd_manifest m;
    crd_run_summary summary;
    (void)crd_run_recognise(folder);
    if (crd_run_summarise(folder, &summary) != CRD_OK) must_be_a_sentence();
    if (crd_identity_check_interrupted(folder, "{\"scan\":\"a\",\"mask\":null}") != CRD_OK) must_be_a_sentence();
    if (crd_run_read_manifest(folder, &m) == CRD_OK) {
        (void)crd_manifest_reading(&m);
        (void)crd_manifest_mask(&m);
        (void)crd_manifest_first_sample(&m);
        write_again(&m);
        if (crd_identity_check_complete(&m, folder, "{\"scan\":\"a\"}") != CRD_OK) must_be_a_sentence();
        crd_manifest_free(&m);
    } else {
        must_be_a_sentence();
    }
    if (crd_run_read(folder, &m) != CRD_OK) must_be_a_sentence();
    crd_manifest_free(&m);
}

static void replace_run(const char *folder)
{
    static const crd_output output = {.role = CRD_OUTPUT_PROBABILITY, .file = (char *)(uintptr_t) "s_prob.npy"};
    const crd_run_target target = {
        .path = folder, .overwrite = true, .name = "s", .outputs = &output, .output_count = 1};
    crd_run_folder run;
    crd_status status = crd_run_folder_open(&target, NULL, &run);
    if (status == CRD_OK) status = crd_run_folder_clear(&run);
    if (status != CRD_OK) must_be_a_sentence();
    crd_run_folder_close(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const spared[] = {"outside.npy", "run/notes.txt", "run/photo.jpg"};
    static const char *const files[] = {"run/manifest.json", "run/.partial/run.json", "run/.partial/outputs.json"};
    const uint8_t *at = data, *end = data + size;
    size_t count;
    char folder[128];
    if (size > 1 << 16) return 0;
    make_folder("run");
    make_folder("run/.partial");
    for (int i = 0; i < 3; i++) {
        const uint8_t *part = fuzz_next_part(&at, end, &count);
        fuzz_put(files[i], part, count);
        fuzz_write(fuzz_path(spared[i]), "mine", 4);
    }
    fuzz_write(fuzz_path("run/s_prob.npy"), "x", 1);
    snprintf(folder, sizeof folder, "%s", fuzz_path("run"));
    read_run(folder);
    replace_run(folder);
    for (int i = 0; i < 3; i++) must(access(fuzz_path(spared[i]), F_OK) == 0);
    return 0;
}
