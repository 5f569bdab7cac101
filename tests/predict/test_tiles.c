/* Finished tiles: their boxes against the sums of overlapping chunks, which tiles are a case of, and whole seamless
 * runs that are stopped, disturbed and resumed. */
#include <cjson/cJSON.h>

#include "base/parallel.h"
#include "harness.h"
#include "predict/sums/accumulate.h"
#include "predict/tiles/box.h"
#include "predict_run.h"
#include "run/manifest.h"
#include "volume/zarr/zarr.h"

/* ---- boxes ---- */

enum { SAMPLES = 70, QUANTITIES = 5, DEPTH = 24, HEIGHT = 21, WIDTH = 33 }; /* more samples than a word has bits */

static crd_quantity quantities[QUANTITIES] = {{.kind = CRD_PROBABILITY, .stored = CRD_F32},
                                              {.kind = CRD_WIDTH, .low = 0, .high = 1, .stored = CRD_F32},
                                              {.kind = CRD_DEVIATION, .stored = CRD_F32},
                                              {.kind = CRD_SAMPLE, .low = 3, .high = 3, .stored = CRD_U8},
                                              {.kind = CRD_SAMPLE, .low = 69, .high = 69, .stored = CRD_U16}};
static crd_output outputs[2] = {{.quantity = 0, .type = CRD_F32, .scale = 1},
                                {.role = CRD_OUTPUT_UNCERTAINTY, .quantity = 1, .type = CRD_U8}};
static crd_interval interval = {.low = 0, .high = 1, .text = "33-67"};

static crd_status make_request(const crd_box *box, crd_request *out)
{
    const int64_t shape[3] = {DEPTH, HEIGHT, WIDTH}, tile[3] = {16, 8, 16};
    *out = (crd_request){.planes = 1,
                         .samples = SAMPLES,
                         .seamless = true,
                         .halo = 8,
                         .quantities = quantities,
                         .quantity_count = QUANTITIES,
                         .averaged_count = QUANTITIES,
                         .outputs = outputs,
                         .output_count = 2,
                         .intervals = &interval,
                         .interval_count = 1,
                         .backend = &crd_backend_cpu,
                         .device = {.threads = 2},
                         .box = *box,
                         .chunks = 1};
    memcpy(out->scan.shape, shape, sizeof shape);
    CRD_PASS(crd_plan_tiles(shape, tile, 8, 8, &out->plan));
    for (int axis = 0; axis < 3; axis++) { /* the tiles that keep something of the box */
        const int64_t first = box->origin[axis] / tile[axis],
                      last = (box->origin[axis] + box->size[axis] - 1) / tile[axis];
        out->first[axis] = first;
        out->count[axis] = last - first + 1;
        out->chunks *= out->count[axis];
    }
    return CRD_OK;
}

/* What a made-up tile answers. */
typedef struct answer {
    uint32_t *mean, *low, *high, *deviation;
    const uint32_t *percentiles[2];
    uint64_t *above;
    float *samples;
    crd_chunk_result result;
} answer;

static void make_answer(const crd_request *request, int64_t number, answer *a)
{
    crd_box asked;
    uint64_t state = (uint64_t)number * 977;
    crd_request_asked(request, number, &asked);
    const int64_t voxels = asked.size[0] * asked.size[1] * asked.size[2];
    uint32_t **rows[] = {&a->mean, &a->low, &a->high, &a->deviation};
    for (int k = 0; k < 4; k++) {
        *rows[k] = malloc((size_t)voxels * sizeof(uint32_t));
        for (int64_t i = 0; i < voxels; i++) (*rows[k])[i] = (uint32_t)(tools_random(&state) % ((1u << 24) + 1));
    }
    a->above = malloc((size_t)voxels * 2 * sizeof *a->above);
    a->samples = malloc((size_t)(voxels * SAMPLES) * sizeof *a->samples);
    for (int64_t i = 0; i < 2 * voxels; i++) a->above[i] = tools_random(&state) & (i < voxels ? UINT64_MAX : 63);
    for (int64_t i = 0; i < voxels * SAMPLES; i++) {
        a->samples[i] = (float)(tools_random(&state) % 16777217) * 0x1p-24f * 0.999f;
    }
    a->percentiles[0] = a->low;
    a->percentiles[1] = a->high;
    a->result = (crd_chunk_result){.chunk_number = number,
                                   .kept = {.size = {asked.size[0], asked.size[1], asked.size[2]}},
                                   .mean = a->mean,
                                   .deviation = a->deviation,
                                   .percentiles = a->percentiles,
                                   .above = a->above,
                                   .samples = a->samples};
}

static void free_answer(answer *a)
{
    free(a->mean);
    free(a->low);
    free(a->high);
    free(a->deviation);
    free(a->above);
    free(a->samples);
}

/* A mask of a box: by the place in the scan. */
static void fill_mask(const crd_box *box, uint8_t *inside)
{
    for (int64_t z = box->origin[0]; z < box->origin[0] + box->size[0]; z++) {
        for (int64_t y = box->origin[1]; y < box->origin[1] + box->size[1]; y++) {
            for (int64_t x = box->origin[2]; x < box->origin[2] + box->size[2]; x++)
                *inside++ = (z + 2 * y + x) % 5 > 0;
        }
    }
}

/* All tiles through the sums, and slices out of them after every row. */
static crd_status sum_up(const crd_request *request, bool masked, crd_slice *slices)
{
    crd_status status = CRD_OK;
    crd_accumulator *a = NULL;
    static uint8_t inside[DEPTH * HEIGHT * WIDTH];
    static const uint8_t none[DEPTH];
    const int64_t per_row = request->count[1] * request->count[2];
    CRD_TRY(crd_accumulator_create(request, (int64_t)1 << 28, "", &a));
    for (int64_t i = 0; i < request->chunks; i++) {
        answer made;
        crd_box asked;
        int64_t begin, end;
        const int64_t number = crd_request_chunk(request, i);
        crd_request_asked(request, number, &asked);
        fill_mask(&asked, inside);
        make_answer(request, number, &made);
        status = crd_accumulator_add(a, &made.result, masked ? inside : NULL, none);
        free_answer(&made);
        CRD_TRY(status);
        if ((i + 1) % per_row != 0) continue;
        crd_request_row(request, i / per_row, &begin, &end);
        for (int64_t z = begin; z < end; z++) {
            const crd_box *box = &request->box;
            const crd_box slice = {{z, box->origin[1], box->origin[2]}, {1, box->size[1], box->size[2]}};
            crd_slice *to = &slices[z - box->origin[0]];
            fill_mask(&slice, inside);
            CRD_TRY(crd_slice_alloc(request, to));
            CRD_TRY(crd_accumulator_finish(a, z, masked ? inside : NULL, to));
        }
    }
done:
    crd_accumulator_free(&a);
    return status;
}

static bool same_voxels(const crd_request *request, const crd_tile_box *box, const crd_slice *slices)
{
    const int64_t *origin = request->box.origin, width = request->box.size[2];
    for (int64_t q = 0; q < request->quantity_count; q++) {
        const size_t bytes = crd_type_size(request->quantities[q].stored), row = (size_t)box->box.size[2] * bytes;
        const char *found = box->voxels[q];
        for (int64_t z = 0; z < box->box.size[0]; z++) {
            const char *slice = slices[box->box.origin[0] - origin[0] + z].voxels[q];
            for (int64_t y = 0; y < box->box.size[1]; y++, found += row) {
                const int64_t at = (box->box.origin[1] - origin[1] + y) * width + box->box.origin[2] - origin[2];
                if (memcmp(found, slice + (size_t)at * bytes, row) != 0) return false;
            }
        }
    }
    return true;
}

static double real_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* By the smallest and the largest width that the sums know. */
static void extend(const crd_request *request, const uint64_t *sums, double *least, double *most)
{
    const double low = real_of(sums[crd_slice_first_interval(request) + CRD_INTERVAL_LEAST]);
    const double high = real_of(sums[crd_slice_first_interval(request) + CRD_INTERVAL_MOST]);
    if (low < *least) *least = low;
    if (high > *most) *most = high;
}

static void check_boxes(const crd_box *part, bool masked, int threads)
{
    static uint8_t inside[DEPTH * HEIGHT * WIDTH];
    crd_request request;
    crd_slice slices[DEPTH] = {0};
    crd_tile_box box;
    crd_pool *pool = NULL;
    CHECK_OK(make_request(part, &request));
    CHECK_OK(sum_up(&request, masked, slices));
    CHECK_OK(crd_pool_create(threads, &pool));
    CHECK_OK(crd_tile_box_alloc(&request, &box));
    const int64_t words = crd_slice_sums(&request);
    uint64_t *all = calloc((size_t)words, sizeof *all), *expected = calloc((size_t)words, sizeof *expected);
    double least[2] = {INFINITY, INFINITY}, most[2] = {-INFINITY, -INFINITY};
    int64_t voxels = 0;
    for (int64_t i = 0; i < request.chunks; i++) {
        answer made;
        const int64_t number = crd_request_chunk(&request, i);
        CHECK(crd_request_index(&request, number) == i);
        crd_tile_box_place(&box, number);
        fill_mask(&box.box, inside);
        make_answer(&request, number, &made);
        crd_tile_box_fill(&box, &made.result, masked ? inside : NULL, pool);
        free_answer(&made);
        CHECK(box.tile == i && same_voxels(&request, &box, slices));
        for (int64_t k = 0; k < words; k++) all[k] += box.sums[k];
        extend(&request, box.sums, &least[0], &most[0]);
        voxels += box.box.size[0] * box.box.size[1] * box.box.size[2];
    }
    for (int64_t z = 0; z < request.box.size[0]; z++) {
        for (int64_t k = 0; k < words; k++) expected[k] += slices[z].sums[k];
        extend(&request, slices[z].sums, &least[1], &most[1]);
        crd_slice_free(&slices[z]);
    }
    for (int64_t k = 0; k < words; k++) {
        const int64_t word = k - crd_slice_first_interval(&request);
        if (word != CRD_INTERVAL_LEAST && word != CRD_INTERVAL_MOST) CHECK(all[k] == expected[k]);
    }
    CHECK(least[0] == least[1] && most[0] == most[1]);
    CHECK(voxels == part->size[0] * part->size[1] * part->size[2]); /* each once */
    crd_tile_box_free(&box);
    crd_pool_free(&pool);
    free(all);
    free(expected);
}

static void test_boxes(void)
{
    check_boxes(&(crd_box){{0, 0, 0}, {DEPTH, HEIGHT, WIDTH}}, false, 1);
    if (!harness_failed) check_boxes(&(crd_box){{0, 0, 0}, {DEPTH, HEIGHT, WIDTH}}, true, 3);
    if (!harness_failed) check_boxes(&(crd_box){{9, 10, 17}, {12, 9, 16}}, true, 2);
    if (!harness_failed) check_boxes(&(crd_box){{16, 7, 15}, {1, 2, 18}}, false, 2);
}

/* ---- runs ---- */

enum { Z = 34, Y = 21, X = 34, VOXELS = Z * Y * X, TILES = 3 * 2 * 3 };
static const char *const volumes[] = {"scan_prob.npy", "scan_seg.npy",       "scan_unc.npy", "scan_unc_5-95.npy",
                                      "probe.h5",      "scan_prob.npy.json", "norms.h5"};
enum { VOLUMES = sizeof volumes / sizeof volumes[0] };

/* Options for a seamless run into the folder `name`. */
static void set_tiles(const char *name)
{
    crd_settings_clear(&crd_predict_settings, &options);
    (void)crd_settings_default(&crd_predict_settings, &options);
    set("model", scratch("model.h5"));
    set("scan", scratch("scan.npy"));
    set("output", run_path(name));
    set("samples", "3");
    set("intervals", "33-67,5-95");
    set("mode", "seamless");
    set("norms", "scan");
    set("tile", "16,16,16");
    set("halo", "8");
}

static void begin_tiles(const char *name)
{
    begin(name); /* removes the folder, now and at the end */
    set_tiles(name);
}

static bool same_runs(const char *a, const char *b)
{
    for (int i = 0; i < VOLUMES; i++) {
        if (same_file(a, b, volumes[i])) continue;
        printf("%s differs between %s and %s\n", volumes[i], a, b);
        return false;
    }
    char *text_a = content(a, "manifest.json", NULL), *text_b = content(b, "manifest.json", NULL);
    cJSON *json_a = cJSON_Parse(text_a), *json_b = cJSON_Parse(text_b);
    cJSON_DeleteItemFromObject(json_a, "times");
    cJSON_DeleteItemFromObject(json_b, "times");
    const bool same = json_a != NULL && cJSON_Compare(json_a, json_b, true);
    if (!same) printf("the manifests of %s and %s differ\n", a, b);
    cJSON_Delete(json_a);
    cJSON_Delete(json_b);
    crd_free(&text_a);
    crd_free(&text_b);
    return same;
}

static crd_status make_whole(void)
{
    static uint16_t voxels[VOXELS];
    static bool made;
    const crd_model_info info = {.kind = CRD_BCNN, .filters = 4};
    uint64_t state = 1;
    if (made) return CRD_OK;
    for (int i = 0; i < VOXELS; i++) {
        const double z = i / X / Y, y = i / X % Y, x = i % X;
        const double wave = sin(z * 0.5) * sin(y * 0.4) * sin(x * 0.3);
        voxels[i] = (uint16_t)(30000.0 + 12000.0 * wave + (double)(tools_random(&state) % 4000));
    }
    CRD_PASS(tools_save_model(scratch("model.h5"), &info, 7));
    CRD_PASS(save_scan(scratch("scan.npy"), CRD_U16, (const int64_t[]){Z, Y, X}, voxels));
    begin_tiles("whole");
    set("threads", "1");
    CRD_PASS(crd_predict(&options, NULL, NULL));
    made = true;
    return CRD_OK;
}

static crd_status read_manifest(const char *run, crd_manifest *out)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/manifest.json", run_path(run));
    return crd_manifest_read(path, out);
}

/* The steps between neighbours of the probability, by whether they cross a border of tiles. */
static void measure_seams(const float *prob, double *at, double *elsewhere)
{
    static const int64_t strides[3] = {Y * X, X, 1}, sizes[3] = {Z, Y, X};
    double sums[2] = {0}, counts[2] = {0};
    for (int64_t i = 0; i < VOXELS; i++) {
        const int64_t place[3] = {i / X / Y, i / X % Y, i % X};
        for (int axis = 0; axis < 3; axis++) {
            if (place[axis] + 1 == sizes[axis]) continue;
            const int seam = (place[axis] + 1) % 16 == 0;
            sums[seam] += fabs((double)prob[i] - (double)prob[i + strides[axis]]);
            counts[seam]++;
        }
    }
    *at = sums[1] / counts[1];
    *elsewhere = sums[0] / counts[0];
}

static void test_whole(void)
{
    crd_manifest m = {0};
    double at, elsewhere, sum = 0.0, above = 0.0;
    size_t bytes;
    CHECK_OK(make_whole());
    CHECK_OK(read_manifest("whole", &m));
    float *prob = floats("whole", "scan_prob.npy", VOXELS), *unc = floats("whole", "scan_unc.npy", VOXELS);
    char *seg = content("whole", "scan_seg.npy", &bytes);
    for (int i = 0; i < VOXELS; i++) {
        CHECK(prob[i] > 0.0f && prob[i] < 1.0f && unc[i] >= 0.0f);
        CHECK(seg[bytes - VOXELS + (size_t)i] == (prob[i] > 0.5f));
        sum += (double)unc[i];
        above += prob[i] > 0.5f;
    }
    measure_seams(prob, &at, &elsewhere);
    CHECK_NEAR(m.seams.at, at, 1e-9);
    CHECK_NEAR(m.seams.elsewhere, elsewhere, 1e-9);
    CHECK_NEAR(m.uncertainty.mean, sum / VOXELS, 1e-9);
    CHECK_NEAR(m.fraction.segmentation, above / VOXELS, 1e-12);
    CHECK(m.inside == VOXELS && m.plan.chunks == TILES && m.plan.tile[0] == 16 && m.plan.halo == 8);
    CHECK(m.plan.step == 0 && cJSON_GetObjectItem(m.identity, "step") == NULL);
    CHECK(cJSON_GetObjectItem(m.identity, "norms_sha256") != NULL);
    crd_manifest_free(&m);
    free(prob);
    free(unc);
    crd_free(&seg);
}

/* Stops after so many reports of the stage. */
typedef struct stopper {
    const char *stage;
    int64_t left;
} stopper;

static bool stop_later(void *context, const crd_progress *progress)
{
    stopper *s = context;
    return strcmp(progress->stage, s->stage) != 0 || s->left-- > 0;
}

static crd_status stop_at(const char *stage, int64_t reports)
{
    stopper s = {stage, reports};
    const crd_monitor monitor = {.context = &s, .progress = stop_later};
    return crd_predict(&options, &monitor, NULL);
}

/* Every tile that was reported is kept, and no other is computed again. */
static void test_stop_and_resume(void)
{
    static const int64_t stops[] = {1, 2, 7, TILES - 1, TILES};
    crd_predict_result result;
    CHECK_OK(make_whole());
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i += (size_t)sparse(3, "stops")) {
        begin_tiles("stopped");
        CHECK_FAILS(stop_at("predicting", stops[i]), CRD_ERR_CANCELLED,
                    "finished tiles are kept, and the same command with --resume goes on");
        set("resume", NULL);
        set("threads", "2");
        CHECK_OK(crd_predict(&options, NULL, &result));
        CHECK(result.computed == TILES - stops[i] && same_runs("whole", "stopped"));
        CHECK_OK(crd_predict(&options, NULL, &result)); /* complete: nothing happens */
        CHECK(result.computed == 0);
    }
}

/* Before the first tile: the norms take long, too. */
static void test_stop_norms(void)
{
    CHECK_OK(make_whole());
    begin_tiles("stopped");
    CHECK_FAILS(stop_at("measuring the norms", 3), CRD_ERR_CANCELLED, "stopped while measuring the norms, at ");
    set("resume", NULL);
    CHECK_OK(crd_predict(&options, NULL, NULL));
    CHECK(same_runs("whole", "stopped"));
}

/* OME-Zarr's are folders, which the next run would stumble over. */
static void remove_zarr(const char *run)
{
    static const char *const roles[] = {"prob", "seg", "unc", "unc_5-95"};
    for (int i = 0; i < 4; i++) {
        char path[1200];
        snprintf(path, sizeof path, "%s/scan_%s.zarr", run_path(run), roles[i]);
        (void)crd_zarr_remove(path);
    }
}

static bool same_probability(const char *run, const char *suffix)
{
    static float values[VOXELS];
    char path[1200];
    crd_volume *volume = NULL;
    float *expected = floats("whole", "scan_prob.npy", VOXELS);
    snprintf(path, sizeof path, "%s/scan_prob.%s", run_path(run), suffix);
    const bool same = crd_volume_open(path, NULL, NULL, &volume) == CRD_OK &&
                      crd_volume_read(volume, &(crd_box){{0, 0, 0}, {Z, Y, X}}, CRD_F32, values) == CRD_OK &&
                      memcmp(values, expected, sizeof values) == 0;
    crd_volume_close(&volume);
    free(expected);
    return same;
}

/* Some volumes have their names, others not yet. */
static void test_stop_at_the_end(void)
{
    static const char *const formats[] = {"npy", "mhd", "tif", "h5", "zarr"};
    crd_predict_result result;
    CHECK_OK(make_whole());
    for (int i = 0; i < 10; i += sparse(3, "formats")) {
        const char *format = formats[i / 2];
        begin_tiles("ended");
        if (i > 1) set("format", format); /* the scan's own needn't be said */
        CHECK_FAILS(stop_at("finishing the volumes", i % 2 == 0 ? 1 : 4), CRD_ERR_CANCELLED, "--resume goes on");
        set("resume", NULL);
        CHECK_OK(crd_predict(&options, NULL, &result));
        CHECK(result.computed == 0 && same_probability("ended", format));
        if (i < 2) CHECK(same_runs("whole", "ended"));
        remove_zarr("ended");
    }
}

static void test_resume_wants_the_same(void)
{
    char path[1200];
    CHECK_OK(make_whole());
    begin_tiles("other");
    CHECK_FAILS(stop_at("predicting", 5), CRD_ERR_CANCELLED, "stopped");
    set("resume", NULL);
    set("format", "tiff");
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MISMATCH, "format was \".npy\" and is \".tif\" now");
    set("format", "npy");
    set("tile", "24,16,16");
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MISMATCH, "tile was \"16,16,16\" and is \"24,16,16\" now");
    set("tile", "16,16,16");
    /* Statistics of another scan, which look as good as any. */
    snprintf(path, sizeof path, "%s/norms.h5", run_path("other"));
    begin_tiles("elsewhere");
    set("seed", "3");
    CHECK_OK(crd_predict(&options, NULL, NULL));
    size_t bytes;
    char *other = content("elsewhere", "norms.h5", &bytes), *own = content("other", "norms.h5", NULL);
    const size_t own_bytes = bytes; /* of the same shape */
    CHECK_OK(crd_write_file(path, other, bytes));
    set_tiles("other");
    set("resume", NULL);
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_MISMATCH,
                "norms.h5 is another one, or its content has changed");
    CHECK_OK(crd_write_file(path, own, own_bytes));
    /* A file that finished tiles were in. */
    snprintf(path, sizeof path, "%s/.partial/scan_unc.npy", run_path("other"));
    CHECK(unlink(path) == 0);
    CHECK_FAILS(crd_predict(&options, NULL, NULL), CRD_ERR_FORMAT, "scan_unc.npy is gone");
    crd_free(&other);
    crd_free(&own);
}

TEST_MAIN(TEST(test_boxes), TEST(test_whole), TEST(test_stop_and_resume), TEST(test_stop_norms),
          TEST(test_stop_at_the_end), TEST(test_resume_wants_the_same))
