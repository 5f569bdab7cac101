#include "view/tiles/written_slices.h"

#include "base/memory.h"
#include "volume/zarr/zarr.h"

struct crd_written_slices {
    crd_volume *volume; /* a handle of our own */
    int64_t layer, layers;
    atomic_llong done;
    atomic_uchar *there; /* by layer */
};

crd_status crd_written_slices_open(const crd_volume *volume, crd_written_slices **out)
{
    crd_status status = CRD_OK;
    crd_written_slices *written = NULL;
    CRD_TRY(crd_alloc(1, sizeof *written, "what is known of a run", &written));
    CRD_TRY(crd_volume_open_again(volume, &written->volume));
    written->layer = crd_zarr_layer(written->volume);
    written->layers = (crd_volume_describe(volume)->shape[0] - 1) / written->layer + 1;
    CRD_TRY(crd_alloc(written->layers, sizeof *written->there, "what is known of a run", &written->there));
    (void)crd_written_slices_look(written);
    *out = written;
    written = NULL;
done:
    crd_written_slices_close(&written);
    return status;
}

void crd_written_slices_close(crd_written_slices **written)
{
    if (*written == NULL) return;
    crd_volume_close(&(*written)->volume);
    crd_free(&(*written)->there);
    crd_free(written);
}

int64_t crd_written_slices_look(crd_written_slices *written)
{
    int64_t found = 0;
    for (int64_t i = 0; i < written->layers; i++) {
        if (atomic_load(&written->there[i]) || !crd_zarr_has_layer(written->volume, i)) continue;
        atomic_store(&written->there[i], 1);
        found++;
    }
    atomic_fetch_add(&written->done, found);
    return found;
}

void crd_written_slices_finish(crd_written_slices *written)
{
    for (int64_t i = 0; i < written->layers; i++) atomic_store(&written->there[i], 1);
    atomic_store(&written->done, written->layers);
}

bool crd_written_slices_complete(const crd_written_slices *written)
{
    return atomic_load(&written->done) == written->layers;
}

double crd_written_slices_share(const crd_written_slices *written)
{
    return (double)atomic_load(&written->done) / (double)written->layers;
}

bool crd_written_slices_ready(const crd_written_slices *written, int64_t begin, int64_t end)
{
    for (int64_t i = begin / written->layer; i * written->layer < end && i < written->layers; i++) {
        if (!atomic_load(&written->there[i])) return false;
    }
    return true;
}

bool crd_written_slices_next(const crd_written_slices *written, int64_t depth, int64_t *begin, int64_t *end)
{
    int64_t i = *begin / written->layer;
    while (i < written->layers && !atomic_load(&written->there[i])) i++;
    if (i == written->layers) return false;
    if (i * written->layer > *begin) *begin = i * written->layer;
    while (i < written->layers && atomic_load(&written->there[i])) i++;
    *end = i * written->layer < depth ? i * written->layer : depth;
    return *begin < *end;
}

void crd_written_slices_describe(const crd_written_slices *written, int64_t depth, crd_text *text)
{
    crd_text_add(text, ",\"finished\":[");
    const char *comma = "";
    for (int64_t begin = 0, end = 0; crd_written_slices_next(written, depth, &begin, &end); begin = end) {
        crd_text_print(text, "%s[%lld,%lld]", comma, (long long)begin, (long long)end);
        comma = ",";
    }
    crd_text_add(text, "]");
}
