/* Any bytes as labels.journal behind its head; where the first byte is odd, as records whose length and CRC are right,
 * so that what lies in them is looked at. It is refused with a sentence, or what stands whole in it is done; then it
 * can be written on, and opened again. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "view/labels/labels.h"

enum { Z = 9, Y = 70, X = 66 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const crd_volume_info info = {.shape = {Z, Y, X}, .type = CRD_U8, .scale = 1.0};
static const char stroke[] = "{\"do\":\"stroke\",\"axis\":0,\"slice\":3,\"points\":[99,99],\"radius\":20,\"value\":1}";
static char folder[64], file[96], image[96];

static void must(int good)
{
    if (!good) abort();
}

static void remove_labels(void)
{
    char command[160];
    (void)unlink(file);
    if (access(image, F_OK) != 0) return;
    snprintf(command, sizeof command, "rm -rf %s", image);
    must(system(command) == 0);
}

static void put(int fd, const void *bytes, size_t count)
{
    must(write(fd, bytes, count) == (ssize_t)count);
}

/* Each record: two bytes for its length, then what is in it. */
static void put_records(int fd, const uint8_t *data, size_t size)
{
    while (size >= 2) {
        size_t count = (size_t)data[0] | (size_t)data[1] << 8;
        data += 2;
        size -= 2;
        if (count > size) count = size;
        const uint32_t front[2] = {(uint32_t)count, (uint32_t)crc32(0, data, (uInt)count)};
        put(fd, front, sizeof front);
        put(fd, data, count);
        data += count;
        size -= count;
    }
}

static void write_journal(const uint8_t *data, size_t size)
{
    static const int64_t shape[3] = {Z, Y, X};
    const int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    must(fd >= 0);
    put(fd, "crdlabj1", 8);
    put(fd, shape, sizeof shape);
    if (size > 0 && data[0] % 2 == 1) {
        put_records(fd, data + 1, size - 1);
    } else {
        put(fd, data, size);
    }
    must(close(fd) == 0);
}

/* Nothing is stored, so that a run takes no time: as if it were killed. */
static int64_t open_once(bool paint)
{
    crd_project *project = NULL;
    crd_labels *labels = NULL;
    crd_text text = {0};
    int64_t revision = -1;
    must(crd_project_open(folder, false, &project) == CRD_OK);
    if (crd_labels_open(project, &info, 1 << 21, NULL, &labels) == CRD_OK) {
        crd_label_change change = {.places = NULL};
        crd_operation op;
        cJSON *json = cJSON_Parse(stroke);
        must(crd_operation_read(json, info.shape, &op) == CRD_OK);
        cJSON_Delete(json);
        if (paint && crd_labels_do(labels, &op, -1, NULL, &change) != CRD_OK)
            must(crd_last_error()->message[0] != '\0');
        crd_label_change_free(&change);
        crd_operation_free(&op);
        (void)crd_labels_history(labels, 0, 20, &text);
        if (crd_labels_undo(labels, "", -1, &change) == CRD_OK && !change.nothing) {
            crd_label_change_free(&change);
            must(crd_labels_redo(labels, "", -1, &change) == CRD_OK && !change.nothing);
        }
        crd_label_change_free(&change);
        revision = crd_labels_revision(labels);
    } else {
        must(crd_last_error()->message[0] != '\0');
    }
    crd_text_free(&text);
    crd_labels_close(&labels);
    crd_project_close(&project);
    return revision;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (folder[0] == '\0') {
        snprintf(folder, sizeof folder, "%s/credence-fuzz-journal-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        must(mkdtemp(folder) != NULL);
        snprintf(file, sizeof file, "%s/labels.journal", folder);
        snprintf(image, sizeof image, "%s/labels.zarr", folder);
    }
    remove_labels();
    write_journal(data, size);
    const int64_t revision = open_once(true);
    if (revision >= 0) must(open_once(false) >= revision);
    return 0;
}
