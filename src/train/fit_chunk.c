/* A chunk for scans of any size, where nobody chose one. */
#include "train/run.h"

enum { EDGE_LEAST = 8, PLACES_LEAST = 27 };

static int64_t whole_eights(int64_t size)
{
    return size < EDGE_LEAST ? EDGE_LEAST : size / EDGE_LEAST * EDGE_LEAST;
}

/* The smallest edges of all scans of the list so far. */
static crd_status look_at(const crd_text_list *scans, const crd_volume_options *reading, int64_t smallest[3])
{
    for (int64_t i = 0; i < scans->count; i++) {
        crd_volume *volume = NULL;
        CRD_PASS(crd_volume_open(scans->items[i], reading, NULL, &volume));
        const int64_t *shape = crd_volume_describe(volume)->shape;
        for (int axis = 0; axis < 3; axis++) {
            if (shape[axis] < smallest[axis]) smallest[axis] = shape[axis];
        }
        crd_volume_close(&volume);
    }
    return CRD_OK;
}

/* Places for chunks in a scan of this shape. */
static int64_t count_places(const crd_train_options *o, const int64_t shape[3])
{
    int64_t places = 1;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t edge = o->chunk[axis], beyond = shape[axis] > edge ? shape[axis] - edge : 0;
        places *= (beyond * o->step + edge - 1) / edge + 1;
    }
    return places;
}

crd_status crd_train_fit_chunk(crd_train_run *r)
{
    const crd_train_options *o = r->options;
    const crd_volume_options reading = {
        .shape = {o->shape[0], o->shape[1], o->shape[2]}, .type = o->type, .offset = o->offset};
    int64_t smallest[3] = {INT64_MAX, INT64_MAX, INT64_MAX};
    if (o->chunk_given) return CRD_OK;
    CRD_PASS(look_at(&o->scan, &reading, smallest));
    CRD_PASS(look_at(&o->valid_scan, &reading, smallest));
    r->fitted = *o;
    r->options = o = &r->fitted;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t fits = whole_eights(smallest[axis]);
        if (r->fitted.chunk[axis] > fits) r->fitted.chunk[axis] = fits;
    }
    if (count_places(o, smallest) >= PLACES_LEAST) return CRD_OK;
    for (int axis = 0; axis < 3; axis++) r->fitted.chunk[axis] = whole_eights(o->chunk[axis] / 2);
    return CRD_OK;
}
