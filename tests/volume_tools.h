/* What the volume tests share: a scratch folder, patterned voxels, boxes of a memory copy. */
#ifndef CRD_TESTS_VOLUME_TOOLS_H
#define CRD_TESTS_VOLUME_TOOLS_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "credence/volume.h"

static char tools_folder[256];

static void tools_clean(void)
{
    DIR *folder = opendir(tools_folder);
    if (folder == NULL) return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[1024];
        snprintf(name, sizeof name, "%s/%s", tools_folder, entry->d_name);
        if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2) (void)unlink(name);
    }
    closedir(folder);
    (void)rmdir(tools_folder);
}

/* A path inside a scratch folder that is removed at exit. Static storage, eight in turn. */
static inline const char *scratch(const char *name)
{
    static char paths[8][512];
    static int next;
    if (tools_folder[0] == '\0') {
        const char *base = getenv("TMPDIR");
        snprintf(tools_folder, sizeof tools_folder, "%s/credence-test-XXXXXX", base != NULL ? base : "/tmp");
        if (mkdtemp(tools_folder) == NULL) {
            perror(tools_folder);
            exit(1);
        }
        atexit(tools_clean);
    }
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", tools_folder, name);
    return path;
}

/* Files in the scratch folder whose names contain `part`. */
static inline int scratch_count(const char *part)
{
    int count = 0;
    DIR *folder = opendir(tools_folder);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        count +=
            strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && strstr(entry->d_name, part) != NULL;
    }
    if (folder != NULL) closedir(folder);
    return count;
}

static inline uint64_t tools_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Random bits for integers, plain numbers for floats. */
static inline void tools_fill(crd_type type, int64_t count, uint64_t seed, void *voxels)
{
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = tools_random(&seed);
        const double real = (double)(int64_t)bits * 0x1p-50;
        switch (crd_type_size(type)) {
        case 1:
            ((uint8_t *)voxels)[i] = (uint8_t)bits;
            break;
        case 2:
            ((uint16_t *)voxels)[i] = (uint16_t)bits;
            break;
        case 4:
            if (type == CRD_F32) {
                ((float *)voxels)[i] = (float)real;
            } else {
                ((uint32_t *)voxels)[i] = (uint32_t)bits;
            }
            break;
        default:
            if (type == CRD_U64) {
                ((uint64_t *)voxels)[i] = bits;
            } else {
                ((double *)voxels)[i] = real;
            }
            break;
        }
    }
}

static inline crd_box tools_random_box(const int64_t shape[3], uint64_t *state)
{
    crd_box box;
    for (int i = 0; i < 3; i++) {
        box.origin[i] = (int64_t)(tools_random(state) % (uint64_t)shape[i]);
        box.size[i] = 1 + (int64_t)(tools_random(state) % (uint64_t)(shape[i] - box.origin[i]));
    }
    return box;
}

/* Copies a box out of (or into, with `inward`) a volume that lies in memory. */
static inline void tools_copy_box(void *volume, const int64_t shape[3], size_t size, const crd_box *box, void *packed,
                                  int inward)
{
    char *in = volume, *out = packed;
    for (int64_t z = 0; z < box->size[0]; z++) {
        for (int64_t y = 0; y < box->size[1]; y++, out += (size_t)box->size[2] * size) {
            char *row =
                in +
                (size_t)(((box->origin[0] + z) * shape[1] + box->origin[1] + y) * shape[2] + box->origin[2]) * size;
            if (inward) {
                memcpy(row, out, (size_t)box->size[2] * size);
            } else {
                memcpy(out, row, (size_t)box->size[2] * size);
            }
        }
    }
}

#endif
