/* Volumes whose voxels the caller makes or fetches, box by box. */
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "volume/views/lent.h"

typedef struct callback {
    crd_volume_source source;
    pthread_mutex_t *turn; /* the lent volume's, for all that were opened by its name; NULL: calls may run at once */
    bool owned;
} callback;

/* What a callback said of a failure, or that it said nothing. */
static crd_status explain(const crd_volume *volume, crd_status status)
{
    const crd_error said = *crd_last_error();
    if (status < CRD_OK || status > CRD_ERR_INTERNAL) status = CRD_ERR_SYSTEM;
    if (said.status == CRD_OK) {
        return crd_fail(status, "%s can't be read: its source failed without saying why", volume->path);
    }
    return crd_fail(said.status, "%s can't be read: %s", volume->path, said.message);
}

static crd_status callback_read(crd_volume *volume, const crd_box *box, void *voxels)
{
    const callback *c = volume->state;
    const crd_error none = {0};
    (void)crd_error_adopt(&none);
    if (c->turn != NULL) (void)pthread_mutex_lock(c->turn);
    const crd_status status = c->source.read(c->source.context, box, voxels);
    if (c->turn != NULL) (void)pthread_mutex_unlock(c->turn);
    return status == CRD_OK ? CRD_OK : explain(volume, status);
}

static crd_status callback_open_again(const crd_volume *volume, crd_volume **out);

static void callback_close(crd_volume *volume)
{
    callback *c = volume->state;
    if (c != NULL && c->owned) {
        (void)pthread_mutex_destroy(c->turn);
        crd_free(&c->turn);
    }
    crd_free(&volume->state);
}

static const crd_format callback_view = {
    .name = "callback", .read = callback_read, .open_again = callback_open_again, .close = callback_close};

static crd_status create(const char *path, const crd_volume_info *info, const callback *c, crd_volume **out)
{
    CRD_PASS(crd_volume_create_view(path, NULL, info, &callback_view, sizeof *c, out));
    memcpy((*out)->state, c, sizeof *c);
    (*out)->layer = c->source.layer;
    return CRD_OK;
}

static crd_status callback_open_again(const crd_volume *volume, crd_volume **out)
{
    callback copy = *(const callback *)volume->state;
    copy.owned = false;
    return create(volume->path, &volume->info, &copy, out);
}

static crd_status make_turn(callback *c)
{
    CRD_PASS(crd_alloc(1, sizeof *c->turn, "a volume", &c->turn));
    c->owned = pthread_mutex_init(c->turn, NULL) == 0;
    if (c->owned) return CRD_OK;
    crd_free(&c->turn);
    return crd_fail(CRD_ERR_SYSTEM, "can't make a lock for a volume");
}

crd_status crd_volume_from_callback(const crd_volume_source *source, const crd_volume_info *info, const char *name,
                                    crd_volume **out)
{
    crd_status status = CRD_OK;
    crd_volume *volume = NULL;
    char *path = NULL;
    *out = NULL;
    if (source->size < offsetof(crd_volume_source, one_at_a_time) + sizeof(bool) || source->read == NULL) {
        return crd_fail(CRD_ERR_ARGUMENT, "a volume's source needs its size and a function that reads");
    }
    if (source->layer < 0) return crd_fail(CRD_ERR_ARGUMENT, "a volume's layers can't be less than 0 slices deep");
    CRD_TRY(crd_lent_path(name, &path));
    const callback c = {.source = *source};
    CRD_TRY(create(path, info, &c, &volume));
    if (source->one_at_a_time) CRD_TRY(make_turn(volume->state));
    CRD_TRY(crd_lend(volume));
    *out = volume;
    volume = NULL;
done:
    crd_volume_close(&volume);
    crd_free(&path);
    return status;
}
