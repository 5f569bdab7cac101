/* Takes results box by box as they become final, here to find where the model is least sure, and keeps none of them:
 * memory doesn't grow with the scan.
 *
 *     cc own_sink.c -o own_sink $(pkg-config --cflags --libs credence)
 *     ./own_sink model.h5 scan.tif
 */
#include <stdio.h>
#include <string.h>

#include <credence/credence.h>

typedef struct doubt {
    int64_t volume; /* the uncertainty's number */
    float most;
    int64_t place[3];
} doubt;

static crd_status begin(void *context, const crd_sink_volume *volumes, int64_t count, void **arrays)
{
    doubt *d = context;
    (void)arrays; /* we take boxes */
    for (int64_t i = count - 1; i >= 0; i--) {
        if (strcmp(volumes[i].role, "uncertainty") == 0) d->volume = i;
    }
    return CRD_OK;
}

static crd_status look(void *context, int64_t volume, const crd_box *box, const void *voxels)
{
    doubt *d = context;
    const float *values = voxels;
    const int64_t height = box->size[1], width = box->size[2];
    if (volume != d->volume) return CRD_OK;
    for (int64_t i = 0; i < box->size[0] * height * width; i++) {
        if (values[i] <= d->most) continue;
        d->most = values[i];
        d->place[0] = box->origin[0] + i / width / height;
        d->place[1] = box->origin[1] + i / width % height;
        d->place[2] = box->origin[2] + i % width;
    }
    return CRD_OK;
}

int main(int argc, char **argv)
{
    const crd_settings *table = &crd_predict_settings;
    doubt d = {.most = -1.0f};
    const crd_sink sink = {.size = sizeof sink, .context = &d, .begin = begin, .box = look};
    crd_predict_options options;
    crd_status status = crd_settings_default(table, &options);
    if (status == CRD_OK) status = crd_settings_set(table, &options, "model", argc > 1 ? argv[1] : "model.h5");
    if (status == CRD_OK) status = crd_settings_set(table, &options, "scan", argc > 2 ? argv[2] : "scan.tif");
    if (status == CRD_OK) status = crd_predict_to(&options, NULL, &sink, NULL, NULL);
    if (status != CRD_OK) fprintf(stderr, "own_sink: %s\n", crd_last_error()->message);
    if (status == CRD_OK)
        printf("least sure at %lld,%lld,%lld\n", (long long)d.place[0], (long long)d.place[1], (long long)d.place[2]);
    crd_settings_clear(table, &options);
    return status == CRD_OK ? 0 : 1;
}
