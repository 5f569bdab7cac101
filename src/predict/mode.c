#include "predict/mode.h"

#include <string.h>

#include "base/monitor.h"
#include "base/settings/whole.h"
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

static bool is(const char *text, const char *word)
{
    return text != NULL && strcmp(text, word) == 0;
}

/* An option that only overlapping chunks have a use for; NULL: none was given. Who fills the struct without names has
 * said something where it isn't the default. */
static const char *overlap_option(const crd_predict_options *options)
{
    if (given(options->chunk)) return "chunk";
    if (options->step_given || options->step != 3) return "step";
    if (options->trim_given || options->trim != 0.1) return "trim";
    if (options->aggregate_given || is(options->aggregate, "samples")) return "aggregate";
    if (is(options->draws, "per-chunk")) return "draws per-chunk";
    return NULL;
}

static bool tile_given(const crd_predict_options *options)
{
    return options->tile[0] != 0 || options->tile[1] != 0 || options->tile[2] != 0;
}

/* Compared as numbers: the model's text needn't be the one that crd_norm_format would write. */
static bool norm_is_the_models(const crd_request *request)
{
    const crd_norm_setting *norm = &request->norm;
    crd_norm_setting own;
    return crd_norm_parse(crd_model_describe(request->model)->norm, &own) == CRD_OK && own.mode == norm->mode &&
           own.mean == norm->mean && own.std == norm->std;
}

/* The one of tiles' options that was given, or NULL. */
static const char *tile_option(const crd_predict_options *options)
{
    if (tile_given(options)) return "tile";
    return options->halo_given || options->halo != CRD_HALO_USUAL ? "halo" : NULL;
}

static crd_status check(const crd_predict_options *options)
{
    const char *other = overlap_option(options), *tiles = tile_option(options);
    const bool seamless = is(options->mode, "seamless"), overlap = is(options->mode, "overlap");
    const bool chunk_norms = is(options->norms, "chunk"), frozen = given(options->norms) && !chunk_norms;
    if (seamless && other != NULL) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "--mode seamless doesn't go with --%s, which is about overlapping chunks: leave "
                        "out one of the two",
                        other);
    }
    if (seamless && chunk_norms) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "--mode seamless doesn't go with --norms chunk: tiles whose norms differ don't "
                        "meet without seams; use --norms training or scan, or --mode overlap");
    }
    if (frozen && (overlap || other != NULL)) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "--norms %s goes with --mode seamless and not with --%s; in overlapping chunks every chunk has "
                        "norms of its own",
                        options->norms, overlap ? "mode overlap" : other);
    }
    if (tiles != NULL && (overlap || chunk_norms || other != NULL)) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "--%s goes with --mode seamless and not with --%s: overlapping chunks have none", tiles,
                        overlap       ? "mode overlap"
                        : chunk_norms ? "norms chunk"
                                      : other);
    }
    return CRD_OK;
}

crd_status crd_predict_check(const crd_predict_options *options)
{
    crd_predict_options whole;
    CRD_PASS(crd_settings_whole(&crd_predict_settings, options, &whole));
    const crd_status status = check(&whole);
    crd_settings_whole_free(&crd_predict_settings, options, &whole);
    return status;
}

static crd_status choose_norms(crd_request *request)
{
    const char *text = request->options->norms;
    request->norms = request->seamless ? CRD_NORMS_TRAINING : CRD_NORMS_CHUNK;
    for (int i = 0; given(text) && i < (int)(sizeof norms_names / sizeof norms_names[0]); i++) {
        if (strcmp(text, norms_names[i]) == 0) request->norms = (crd_norms)i;
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

/* Networks that learnt from smaller chunks lean on the chunk's own statistics and on its padding: every voxel once is
 * worse for them than overlapping chunks (docs/RESULTS.md). */
static bool learnt_from_large_chunks(const crd_model_info *info)
{
    static const int64_t least[3] = {32, 64, 64};
    for (int axis = 0; axis < 3; axis++) {
        if (info->chunk[axis] < least[axis]) return false;
    }
    return true;
}

/* What nobody asked for in so many words: by the options that mean one of the modes, then by the model. */
static bool choose_seamless(const crd_request *request, const crd_monitor *monitor)
{
    const crd_predict_options *options = request->options;
    const crd_model_info *info = crd_model_describe(request->model);
    if (given(options->norms)) return !is(options->norms, "chunk");
    if (overlap_option(options) != NULL || request->model->pieces.count == 0) return false;
    if (tile_option(options) != NULL) return true;
    if (!norm_is_the_models(request)) return false;
    if (learnt_from_large_chunks(info)) {
        crd_info(monitor,
                 "every voxel is computed once, in tiles with frozen norms; --step 3 averages overlapping chunks "
                 "instead");
        return true;
    }
    crd_info(monitor,
             "chunks overlap and are averaged: the model learnt from chunks of less than 32,64,64; --mode seamless "
             "computes every voxel once, faster and less well");
    return false;
}

crd_status crd_request_choose_mode(crd_request *request, const crd_monitor *monitor)
{
    const crd_predict_options *options = request->options;
    CRD_PASS(check(options));
    request->seamless = given(options->mode) ? is(options->mode, "seamless") : choose_seamless(request, monitor);
    if (!request->seamless && tile_option(options) != NULL) {
        return crd_fail(
            CRD_ERR_ARGUMENT,
            "--%s is about tiles, and the model %s carries no pieces of its training scans that their norms "
            "could be frozen at, so that chunks overlap; add --norms scan, or leave it out",
            tile_option(options), options->model);
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
