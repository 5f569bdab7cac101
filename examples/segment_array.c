/* Segments an array in memory: no file but the model is read or written.
 *
 *     cc segment_array.c -o segment_array $(pkg-config --cflags --libs credence) -lm
 *     ./segment_array model.h5
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <credence/credence.h>

enum { Z = 24, Y = 32, X = 32 };
static float scan[Z][Y][X];
static unsigned char segmentation[Z][Y][X];

static crd_status begin(void *context, const crd_sink_volume *volumes, int64_t count, void **arrays)
{
    for (int64_t i = 0; i < count; i++) {
        if (strcmp(volumes[i].role, "segmentation") == 0) arrays[i] = context;
    }
    return CRD_OK;
}

int main(int argc, char **argv)
{
    const crd_settings *table = &crd_predict_settings;
    const crd_volume_info info = {.shape = {Z, Y, X}, .type = CRD_F32};
    const crd_sink sink = {.size = sizeof sink, .context = segmentation, .begin = begin};
    crd_predict_options options;
    crd_predict_result result;
    crd_volume *volume = NULL;
    crd_status status = crd_settings_default(table, &options);
    for (int i = 0; i < Z * Y * X; i++) scan[0][0][i] = sinf(0.5f * (float)(i / Y / X)) + cosf(0.4f * (float)(i % X));
    if (status == CRD_OK) status = crd_volume_from_memory(scan, &info, NULL, false, "scan", &volume);
    if (status == CRD_OK) status = crd_settings_set(table, &options, "scan", crd_volume_path(volume));
    if (status == CRD_OK) status = crd_settings_set(table, &options, "model", argc > 1 ? argv[1] : "model.h5");
    if (status == CRD_OK) status = crd_predict_to(&options, NULL, &sink, NULL, &result);
    if (status != CRD_OK) fprintf(stderr, "segment_array: %s\n", crd_last_error()->message);
    if (status == CRD_OK) printf("volume fraction %.4f; slice %d:\n", result.volume_fraction, Z / 2);
    for (int y = 0; status == CRD_OK && y < Y; y += 2) {
        for (int x = 0; x < X; x++) putchar(segmentation[Z / 2][y][x] ? '#' : '.');
        putchar('\n');
    }
    crd_volume_close(&volume);
    crd_settings_clear(table, &options);
    return status == CRD_OK ? 0 : 1;
}
