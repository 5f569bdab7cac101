#include "predict/mode.h"

#include <string.h>

#include "predict/work.h"

static const char *const norms_names[] = {
    [CRD_NORMS_CHUNK] = "chunk", [CRD_NORMS_TRAINING] = "training", [CRD_NORMS_SCAN] = "scan"};

const char *crd_norms_name(crd_norms norms)
{
    return norms_names[norms];
}

static bool given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* An option that only overlapping chunks have a use for, where it says something of its own; NULL: none. */
static const char *overlap_option(const crd_predict_options *options)
{
    if (given(options->chunk)) return "chunk";
    if (options->step != 3) return "step";
    if (options->trim != 0.1) return "trim";
    if (given(options->aggregate) && strcmp(options->aggregate, "samples") == 0) return "aggregate samples";
    if (given(options->draws) && strcmp(options->draws, "per-chunk") == 0) return "draws per-chunk";
    return NULL;
}

static bool tile_given(const crd_predict_options *options)
{
    return options->tile[0] != 0 || options->tile[1] != 0 || options->tile[2] != 0;
}

static bool norm_is_the_models(const crd_request *request)
{
    char own[CRD_NORM_TEXT];
    crd_norm_format(&request->norm, own, sizeof own);
    return strcmp(own, crd_model_describe(request->model)->norm) == 0;
}

static crd_status choose_norms(crd_request *request)
{
    const char *text = request->options->norms;
    request->norms = request->seamless ? CRD_NORMS_TRAINING : CRD_NORMS_CHUNK;
    for (int i = 0; given(text) && i < (int)(sizeof norms_names / sizeof norms_names[0]); i++) {
        if (strcmp(text, norms_names[i]) == 0) request->norms = (crd_norms)i;
    }
    if (request->seamless && request->norms == CRD_NORMS_CHUNK) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "--mode seamless doesn't go with --norms chunk: tiles whose norms differ don't "
                        "meet without seams; use --norms training or scan, or --mode overlap");
    }
    if (!request->seamless && request->norms != CRD_NORMS_CHUNK) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "--norms %s goes with --mode seamless; in overlapping chunks every chunk has "
                        "norms of its own",
                        text);
    }
    if (request->norms == CRD_NORMS_TRAINING && !norm_is_the_models(request)) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "--norm %s doesn't go with --norms training: the pieces that the model carries are "
                        "normalised as its training scans were; leave out --norm, or use --norms scan",
                        request->options->norm);
    }
    for (int axis = 0; axis < 3 && request->norms == CRD_NORMS_SCAN; axis++) {
        const int64_t step = crd_net_step(&request->model->net);
        if (request->scan.shape[axis] >= step) continue;
        return crd_fail(
            CRD_ERR_ARGUMENT,
            "%s is too small for --norms scan: it has %lld voxels along %c, and a piece of it needs %lld; use "
            "--norms training",
            request->options->scan, (long long)request->scan.shape[axis], "zyx"[axis], (long long)step);
    }
    if (request->norms == CRD_NORMS_TRAINING && request->model->pieces.count == 0) {
        return crd_fail(
            CRD_ERR_ARGUMENT,
            "the model %s carries no pieces of its training scans, which --norms training needs; use --norms "
            "scan, or train it again without --no-pieces",
            request->options->model);
    }
    return CRD_OK;
}

crd_status crd_request_choose_mode(crd_request *request)
{
    const crd_predict_options *options = request->options;
    const char *other = overlap_option(options);
    request->seamless = given(options->mode) && strcmp(options->mode, "seamless") == 0;
    if (request->seamless && other != NULL) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "--mode seamless doesn't go with --%s, which is about overlapping chunks: leave "
                        "out one of the two",
                        other);
    }
    if (!request->seamless && (options->halo != CRD_HALO_USUAL || tile_given(options))) {
        return crd_fail(CRD_ERR_ARGUMENT, "--%s goes with --mode seamless; overlapping chunks have none",
                        tile_given(options) ? "tile" : "halo");
    }
    request->halo = request->seamless ? options->halo : 0;
    return choose_norms(request);
}

crd_status crd_request_plan_tiles(crd_request *request)
{
    const int64_t step = crd_net_step(&request->model->net), *given_tile = request->options->tile;
    int64_t tile[3];
    if (tile_given(request->options)) {
        memcpy(tile, given_tile, sizeof tile);
    } else {
        crd_tile_work work;
        crd_tiles_work(&request->model->net, CRD_USUAL_SAMPLES, &work);
        CRD_PASS(crd_plan_best_tile(request->scan.shape, request->halo, step, request->backend->auto_tile_voxels, &work,
                                    tile));
    }
    return crd_plan_tiles(request->scan.shape, tile, request->halo, step, &request->plan);
}
