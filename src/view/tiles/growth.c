#include "view/tiles/growth.h"

#include "base/memory.h"
#include "volume/zarr/zarr.h"

struct crd_growth {
    crd_volume *volume; /* a handle of our own */
    int64_t layer, layers;
    atomic_llong done;
    atomic_uchar *there; /* by layer */
};

crd_status crd_growth_open(const crd_volume *volume, crd_growth **out)
{
    crd_status status = CRD_OK;
    crd_growth *growth = NULL;
    CRD_TRY(crd_alloc(1, sizeof *growth, "what is known of a run", &growth));
    CRD_TRY(crd_volume_open_again(volume, &growth->volume));
    growth->layer = crd_zarr_layer(growth->volume);
    growth->layers = (crd_volume_describe(volume)->shape[0] - 1) / growth->layer + 1;
    CRD_TRY(crd_alloc(growth->layers, sizeof *growth->there, "what is known of a run", &growth->there));
    (void)crd_growth_look(growth);
    *out = growth;
    growth = NULL;
done:
    crd_growth_close(&growth);
    return status;
}

void crd_growth_close(crd_growth **growth)
{
    if (*growth == NULL) return;
    crd_volume_close(&(*growth)->volume);
    crd_free(&(*growth)->there);
    crd_free(growth);
}

int64_t crd_growth_look(crd_growth *g)
{
    int64_t found = 0;
    for (int64_t i = 0; i < g->layers; i++) {
        if (atomic_load(&g->there[i]) || !crd_zarr_has_layer(g->volume, i)) continue;
        atomic_store(&g->there[i], 1);
        found++;
    }
    atomic_fetch_add(&g->done, found);
    return found;
}

void crd_growth_finish(crd_growth *g)
{
    for (int64_t i = 0; i < g->layers; i++) atomic_store(&g->there[i], 1);
    atomic_store(&g->done, g->layers);
}

bool crd_growth_complete(const crd_growth *g)
{
    return atomic_load(&g->done) == g->layers;
}

double crd_growth_share(const crd_growth *g)
{
    return (double)atomic_load(&g->done) / (double)g->layers;
}

bool crd_growth_ready(const crd_growth *g, int64_t begin, int64_t end)
{
    for (int64_t i = begin / g->layer; i * g->layer < end && i < g->layers; i++) {
        if (!atomic_load(&g->there[i])) return false;
    }
    return true;
}

bool crd_growth_next(const crd_growth *g, int64_t depth, int64_t *begin, int64_t *end)
{
    int64_t i = *begin / g->layer;
    while (i < g->layers && !atomic_load(&g->there[i])) i++;
    if (i == g->layers) return false;
    if (i * g->layer > *begin) *begin = i * g->layer;
    while (i < g->layers && atomic_load(&g->there[i])) i++;
    *end = i * g->layer < depth ? i * g->layer : depth;
    return *begin < *end;
}

void crd_growth_describe(const crd_growth *g, int64_t depth, crd_text *text)
{
    crd_text_add(text, ",\"finished\":[");
    const char *comma = "";
    for (int64_t begin = 0, end = 0; crd_growth_next(g, depth, &begin, &end); begin = end) {
        crd_text_print(text, "%s[%lld,%lld]", comma, (long long)begin, (long long)end);
        comma = ",";
    }
    crd_text_add(text, "]");
}
