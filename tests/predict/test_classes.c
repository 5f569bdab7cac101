/* More than two classes, without any network: which numbers a voxel gets, and how overlapping chunks and tiles make
 * them of made-up answers, against a plain reference. */
#include <math.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "harness.h"
#include "predict/quantities/derive.h"
#include "predict/sums/accumulate.h"
#include "predict/tiles/box.h"
#include "volume_tools.h"

enum { SAMPLES = 70, WORDS = 2, DEPTH = 8, HEIGHT = 11, WIDTH = 14, MOST_PERCENTILES = 8 };

static crd_pair interval_items[] = {{33, 67}, {5, 95}}, bound_items[] = {{10, 90}};
static double percentile_items[] = {50, 5};

/* A run of everything that there is, by class; `values` of the classes in the labels. */
static void make_request(int classes, const double *values, const crd_predict_options *options, bool seamless,
                         crd_request *out)
{
    const int64_t shape[3] = {DEPTH, HEIGHT, WIDTH}, chunk[3] = {8, 8, 8};
    *out = (crd_request){.options = options,
                         .class_count = classes,
                         .planes = classes,
                         .samples = SAMPLES,
                         .save_samples = true,
                         .save_bits = true,
                         .seamless = seamless,
                         .halo = seamless ? 8 : 0,
                         .backend = &crd_backend_cpu,
                         .device = {.threads = 2},
                         .suffix = ".npy",
                         .box = {{1, 2, 0}, {DEPTH - 2, HEIGHT - 2, WIDTH}},
                         .chunks = 1};
    for (int k = 0; k < classes; k++) {
        snprintf(out->classes[k].name, sizeof out->classes[k].name, "c%d", k);
        out->classes[k].value = values[k];
    }
    memcpy(out->scan.shape, shape, sizeof shape);
    CHECK_OK(crd_strdup("s", &out->name));
    if (seamless) {
        CHECK_OK(crd_plan_tiles(shape, chunk, 8, 8, &out->plan));
    } else {
        CHECK_OK(crd_plan_make(shape, chunk, 2, 0.1, &out->plan));
    }
    for (int axis = 0; axis < 3; axis++) {
        out->count[axis] = out->plan.axes[axis].count;
        out->chunks *= out->count[axis];
    }
    CHECK_OK(crd_request_outputs(out));
}

/* What a made-up chunk answers: [planes][voxels] of everything. */
typedef struct answer {
    crd_box asked;
    int64_t voxels;
    uint32_t *mean, *deviation, *entropy, *percentiles[MOST_PERCENTILES];
    const uint32_t *rows[MOST_PERCENTILES];
    uint64_t *above;
    float *samples;
    crd_chunk_result result;
} answer;

static uint32_t *random_row(int64_t count, uint64_t *state)
{
    uint32_t *row = malloc((size_t)count * sizeof *row);
    for (int64_t i = 0; i < count; i++) row[i] = (uint32_t)(tools_random(state) % ((1u << 24) + 1));
    return row;
}

static void make_answer(const crd_request *request, int64_t number, answer *a)
{
    uint64_t state = (uint64_t)number * 977 + (uint64_t)request->planes;
    const int planes = request->planes;
    crd_request_asked(request, number, &a->asked);
    a->voxels = a->asked.size[0] * a->asked.size[1] * a->asked.size[2];
    const int64_t values = planes * a->voxels;
    a->mean = random_row(values, &state);
    a->deviation = random_row(values, &state);
    a->entropy = random_row(a->voxels, &state);
    for (int64_t i = 0; i < request->percentile_count; i++) {
        a->percentiles[i] = random_row(values, &state);
        a->rows[i] = a->percentiles[i];
    }
    for (int64_t v = 0; v < a->voxels; v++) { /* they add up to 1, and sometimes two are equal */
        uint64_t sum = 1;
        for (int k = 0; k < planes; k++) sum += a->mean[k * a->voxels + v] >>= tools_random(&state) % 4;
        for (int k = 0; k < planes; k++) {
            uint32_t *p = &a->mean[k * a->voxels + v];
            *p = v % 3 == 0 ? (1u << 24) / (uint32_t)planes : (uint32_t)(((uint64_t)*p << 24) / sum);
        }
    }
    a->above = calloc((size_t)(WORDS * values), sizeof *a->above);
    a->samples = malloc((size_t)(SAMPLES * values) * sizeof *a->samples);
    for (int s = 0; s < SAMPLES; s++) {
        for (int64_t v = 0; v < a->voxels; v++) {
            const int64_t best = (int64_t)(tools_random(&state) % (uint64_t)planes);
            a->above[(s / 64 * planes + best) * a->voxels + v] |= UINT64_C(1) << s % 64;
            for (int k = 0; k < planes; k++) {
                a->samples[(s * planes + k) * a->voxels + v] = (float)(tools_random(&state) % 1000) * 1e-3f;
            }
        }
    }
    a->result = (crd_chunk_result){.chunk_number = number,
                                   .kept = {.size = {a->asked.size[0], a->asked.size[1], a->asked.size[2]}},
                                   .mean = a->mean,
                                   .deviation = a->deviation,
                                   .percentiles = a->rows,
                                   .entropy = a->entropy,
                                   .above = a->above,
                                   .samples = a->samples};
}

static void free_answer(answer *a)
{
    free(a->mean);
    free(a->deviation);
    free(a->entropy);
    for (int i = 0; i < MOST_PERCENTILES; i++) free(a->percentiles[i]);
    free(a->above);
    free(a->samples);
}

/* ---- the reference ---- */

typedef struct plain {
    uint64_t coverage;
    uint64_t mean[CRD_CLASSES_MAX], deviation[CRD_CLASSES_MAX], percentiles[MOST_PERCENTILES][CRD_CLASSES_MAX];
    uint64_t widths[2][CRD_CLASSES_MAX], entropy;
    uint64_t samples[SAMPLES][CRD_CLASSES_MAX], votes[SAMPLES][CRD_CLASSES_MAX];
} plain;

/* Adds what all chunks that keep the voxel say of it. */
static void sum_plainly(const crd_request *request, const answer *answers, const int64_t at[3], plain *out)
{
    memset(out, 0, sizeof *out);
    for (int64_t n = 0; n < request->plan.count; n++) {
        const answer *a = &answers[n];
        crd_box window, keep;
        bool kept = true;
        crd_plan_chunk(&request->plan, n, &window, &keep);
        int64_t v = 0;
        for (int axis = 0; axis < 3; axis++) {
            kept = kept && at[axis] >= keep.origin[axis] && at[axis] < keep.origin[axis] + keep.size[axis];
            v = v * a->asked.size[axis] + at[axis] - a->asked.origin[axis];
        }
        if (!kept) continue;
        out->coverage++;
        out->entropy += a->entropy[v];
        for (int k = 0; k < request->planes; k++) {
            const int64_t i = k * a->voxels + v;
            out->mean[k] += a->mean[i];
            out->deviation[k] += a->deviation[i];
            for (int64_t p = 0; p < request->percentile_count; p++) out->percentiles[p][k] += a->percentiles[p][i];
            for (int64_t w = 0; w < request->interval_count; w++) {
                const uint32_t high = a->percentiles[request->intervals[w].high][i];
                const uint32_t low = a->percentiles[request->intervals[w].low][i];
                out->widths[w][k] += high > low ? high - low : 0;
            }
            for (int s = 0; s < SAMPLES; s++) {
                out->samples[s][k] += (uint64_t)lrintf(a->samples[(s * request->planes + k) * a->voxels + v] * 0x1p24f);
                out->votes[s][k] += a->above[(s / 64 * request->planes + k) * a->voxels + v] >> s % 64 & 1;
            }
        }
    }
}

static float average(const plain *p, uint64_t sum)
{
    return (float)((double)sum / ((double)p->coverage * 0x1p24));
}

static int first_largest(const plain *p, const uint64_t *sums, int count)
{
    int best = 0;
    for (int k = 1; k < count; k++) best = average(p, sums[k]) > average(p, sums[best]) ? k : best;
    return best;
}

/* The class of sample s: of tiles, what the backend says; of chunks, by the averages. */
static int class_of_sample(const crd_request *request, const plain *p, int s)
{
    int best = 0;
    if (!request->seamless) return first_largest(p, p->samples[s], request->planes);
    while (p->votes[s][best] == 0) best++;
    return best;
}

static double value_at(const crd_quantity *quantity, const void *voxels, int64_t i)
{
    switch (quantity->stored) {
    case CRD_U8:
        return ((const uint8_t *)voxels)[i];
    case CRD_I32:
        return ((const int32_t *)voxels)[i];
    case CRD_F64:
        return ((const double *)voxels)[i];
    default:
        return (double)((const float *)voxels)[i];
    }
}

/* The quantity of a voxel. Logarithms differ in their last bits: `*slack` is how much that may be. */
static double expect(const crd_request *request, const crd_quantity *q, const plain *p, double *slack)
{
    const int best = first_largest(p, p->mean, request->planes);
    double entropy = 0.0;
    int64_t w = 0;
    *slack = 0.0;
    for (int k = 0; k < request->planes; k++) {
        const double mean = (double)average(p, p->mean[k]);
        if (mean > 0.0) entropy -= mean * log2(mean);
    }
    const double aleatoric = 4.0 * (double)average(p, p->entropy);
    if (q->kind == CRD_WIDTH || q->kind == CRD_CLASS_WIDTH) {
        while (request->intervals[w].low != q->low) w++;
    }
    switch (q->kind) {
    case CRD_PROBABILITY:
        return (double)average(p, p->mean[q->plane]);
    case CRD_DEVIATION:
        return (double)average(p, p->deviation[q->plane]);
    case CRD_PERCENTILE:
        return (double)average(p, p->percentiles[q->low][q->plane]);
    case CRD_WIDTH:
        return (double)average(p, p->widths[w][q->plane]);
    case CRD_CLASS_WIDTH:
        return (double)average(p, p->widths[w][best]);
    case CRD_CLASS:
        return request->classes[best].value;
    case CRD_ALEATORIC:
        return aleatoric;
    case CRD_ENTROPY:
        *slack = 1e-6;
        return entropy;
    case CRD_EPISTEMIC:
        *slack = 1e-6;
        return entropy > aleatoric ? entropy - aleatoric : 0.0;
    default:
        return (double)NAN;
    }
}

static bool counts(const int64_t at[3])
{
    return (at[0] + 2 * at[1] + at[2]) % 5 > 0;
}

/* One voxel, at place i of what was finished; outside the mask everything is 0. */
static void check_voxel(const crd_request *request, const plain *p, bool counted, void *const *voxels, int64_t i)
{
    for (int64_t n = 0; n < request->quantity_count; n++) {
        const crd_quantity *q = &request->quantities[n];
        double slack = 0.0;
        if (voxels[n] == NULL) {
            CHECK(q->passing);
            continue;
        }
        if (q->kind == CRD_SAMPLE_BITS) {
            uint64_t word = 0;
            for (int64_t s = q->low; counted && s <= q->high; s++) {
                word |= (uint64_t)(class_of_sample(request, p, (int)s) >> q->plane & 1) << s % 64;
            }
            CHECK(((const uint64_t *)voxels[n])[i] == word);
            continue;
        }
        const double wanted = counted ? expect(request, q, p, &slack) : 0.0;
        CHECK(fabs(value_at(q, voxels[n], i) - wanted) <= slack);
    }
}

/* What the manifest sums: by class, and the fractions of the samples. */
static void add_counts(const crd_request *request, const plain *p, uint64_t *sums)
{
    const int best = first_largest(p, p->mean, request->planes);
    uint64_t *fractions = sums + crd_slice_first_fraction(request);
    double most = 0.0;
    sums[CRD_SUM_INSIDE]++;
    for (int k = 0; k < request->planes; k++) {
        uint64_t *words = sums + CRD_SUM_FIRST_CLASS + k * CRD_CLASS_WORDS;
        const double mean = (double)average(p, p->mean[k]);
        words[CRD_CLASS_VOXELS] += k == best;
        words[CRD_CLASS_PROBABILITY] += (uint64_t)llround(mean * 0x1p32);
        if (mean > most) most = mean;
        for (int s = 0; s < SAMPLES; s++) {
            fractions[k * SAMPLES + s] += p->votes[s][k] * (uint64_t)llround(0x1p32 / (double)p->coverage);
        }
    }
    sums[crd_slice_first_interval(request) - 1] += (UINT64_C(1) << 32) - (uint64_t)llround(most * 0x1p32);
}

static void check_sums(const crd_request *request, const uint64_t *got, const uint64_t *wanted)
{
    CHECK(got[CRD_SUM_INSIDE] == wanted[CRD_SUM_INSIDE]);
    for (int k = 0; k < request->planes; k++) {
        const int64_t at = CRD_SUM_FIRST_CLASS + k * CRD_CLASS_WORDS;
        CHECK(got[at + CRD_CLASS_VOXELS] == wanted[at + CRD_CLASS_VOXELS]);
        CHECK(got[at + CRD_CLASS_PROBABILITY] == wanted[at + CRD_CLASS_PROBABILITY]);
    }
    CHECK(got[crd_slice_first_interval(request) - 1] == wanted[crd_slice_first_interval(request) - 1]);
    const int64_t first = crd_slice_first_fraction(request);
    CHECK(memcmp(got + first, wanted + first, (size_t)crd_slice_fractions(request) * sizeof *got) == 0);
}

/* ---- overlapping chunks, and tiles ---- */

static void check_chunks(const crd_request *request, const answer *answers, int64_t memory)
{
    static uint8_t inside[8 * 8 * 8], skip[DEPTH], slice_inside[HEIGHT * WIDTH];
    const int64_t *origin = request->box.origin, *size = request->box.size, words = crd_slice_sums(request);
    uint64_t *sums = calloc((size_t)words, sizeof *sums);
    crd_accumulator *a = NULL;
    crd_slice slice;
    CHECK_OK(crd_slice_alloc(request, &slice));
    CHECK_OK(crd_accumulator_create(request, memory, scratch("sums"), &a));
    for (int64_t n = 0; n < request->plan.count;
         n++) { /* chunks are as deep as the scan: slices are finished after all of them */
        for (int64_t v = 0; v < answers[n].voxels; v++) {
            const crd_box *box = &answers[n].asked;
            const int64_t at[3] = {box->origin[0] + v / box->size[2] / box->size[1],
                                   box->origin[1] + v / box->size[2] % box->size[1], box->origin[2] + v % box->size[2]};
            inside[v] = counts(at);
        }
        CHECK_OK(crd_accumulator_add(a, &answers[n].result, inside, skip));
    }
    for (int64_t z = origin[0]; z < origin[0] + size[0] && !harness_failed; z++) {
        memset(sums, 0, (size_t)words * sizeof *sums);
        for (int64_t i = 0; i < size[1] * size[2]; i++) {
            slice_inside[i] = counts((int64_t[]){z, origin[1] + i / size[2], origin[2] + i % size[2]});
        }
        CHECK_OK(crd_accumulator_finish(a, z, slice_inside, &slice));
        for (int64_t i = 0; i < size[1] * size[2] && !harness_failed; i++) {
            plain p;
            sum_plainly(request, answers, (int64_t[]){z, origin[1] + i / size[2], origin[2] + i % size[2]}, &p);
            check_voxel(request, &p, slice_inside[i], slice.voxels, i);
            if (slice_inside[i]) add_counts(request, &p, sums);
        }
        check_sums(request, slice.sums, sums);
    }
    crd_accumulator_free(&a);
    crd_slice_free(&slice);
    free(sums);
}

static void check_tiles(const crd_request *request, const answer *answers)
{
    static uint8_t inside[8 * 8 * 8];
    uint64_t *sums = calloc((size_t)crd_slice_sums(request), sizeof *sums);
    crd_tile_box box;
    crd_pool *pool = NULL;
    CHECK_OK(crd_pool_create(2, &pool));
    CHECK_OK(crd_tile_box_alloc(request, &box));
    for (int64_t n = 0; n < request->plan.count && !harness_failed; n++) {
        crd_tile_box_place(&box, n);
        const crd_box *b = &box.box;
        const int64_t voxels = b->size[0] * b->size[1] * b->size[2];
        memset(sums, 0, (size_t)crd_slice_sums(request) * sizeof *sums);
        for (int pass = 0; pass < 2; pass++) {
            for (int64_t v = 0; v < voxels && !harness_failed; v++) {
                const int64_t at[3] = {b->origin[0] + v / b->size[2] / b->size[1],
                                       b->origin[1] + v / b->size[2] % b->size[1], b->origin[2] + v % b->size[2]};
                inside[v] = counts(at);
                if (pass == 0) continue;
                plain p;
                sum_plainly(request, answers, at, &p);
                check_voxel(request, &p, inside[v], box.voxels, v);
                if (inside[v]) add_counts(request, &p, sums);
            }
            if (pass == 0) crd_tile_box_fill(&box, &answers[n].result, inside, pool);
        }
        check_sums(request, box.sums, sums);
    }
    crd_tile_box_free(&box);
    crd_pool_free(&pool);
    free(sums);
}

static const crd_predict_options everything = {.intervals = {interval_items, 2},
                                               .percentiles = {percentile_items, 2},
                                               .bounds = {bound_items, 1},
                                               .std = true,
                                               .entropy = true};

static void check_case(int classes, const double *values, bool by_class, bool seamless)
{
    crd_request request;
    crd_predict_options options = everything;
    options.unc_by_class = by_class;
    make_request(classes, values, &options, seamless, &request);
    answer *answers = calloc((size_t)request.plan.count, sizeof *answers);
    for (int64_t n = 0; n < request.plan.count; n++) make_answer(&request, n, &answers[n]);
    if (seamless) {
        check_tiles(&request, answers);
    } else {
        check_chunks(&request, answers, INT64_C(1) << 28);
        if (!harness_failed) check_chunks(&request, answers, 0); /* tiles of the sums move to the disk and back */
    }
    for (int64_t n = 0; n < request.plan.count; n++) free_answer(&answers[n]);
    free(answers);
    crd_request_free(&request);
}

static const double three[] = {255, 0, 128}, far[] = {-300, 7, 70000}, fractional[] = {0.1, 2.5, -1};
static double sixteen[16];

static void test_chunks(void)
{
    for (int k = 0; k < 16; k++) sixteen[k] = k * k;
    check_case(3, three, false, false);
    check_case(3, far, true, false);
    check_case(16, sixteen, false, false);
}

static void test_tiles(void)
{
    for (int k = 0; k < 16; k++) sixteen[k] = k * k;
    check_case(3, three, true, true);
    check_case(3, fractional, false, true);
    check_case(16, sixteen, false, true);
}

/* ---- the list ---- */

static bool has(const crd_request *request, const char *file, const char *class_name)
{
    for (int64_t i = 0; i < request->output_count; i++) {
        const crd_output *output = &request->outputs[i];
        if (strcmp(output->file, file) != 0) continue;
        return class_name == NULL ? output->class_name == NULL
                                  : output->class_name != NULL && strcmp(output->class_name, class_name) == 0;
    }
    return false;
}

static void test_names(void)
{
    static const char *const single[] = {
        "s_seg.npy",       "s_unc.npy",        "s_unc_5-95.npy",   "s_entropy.npy",       "s_aleatoric.npy",
        "s_epistemic.npy", "s_samples_b0.npy", "s_samples_b1.npy", "s_samples_b0_64.npy", "s_samples_b1_64.npy"};
    static const char *const by_class[] = {"s_prob_c1.npy", "s_unc_c1.npy",       "s_unc_5-95_c1.npy",  "s_p5_c1.npy",
                                           "s_std_c1.npy",  "s_seg_lower_c1.npy", "s_seg_upper_c1.npy", "s_p50_c1.npy"};
    crd_request request;
    crd_predict_options options = everything;
    options.unc_by_class = true;
    make_request(3, far, &options, true, &request);
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++) CHECK(has(&request, single[i], NULL));
    for (size_t i = 0; i < sizeof by_class / sizeof by_class[0]; i++) CHECK(has(&request, by_class[i], "c1"));
    CHECK(request.output_count == 10 + 3 * 8);
    CHECK(strcmp(request.outputs[0].file, "s_prob_c0.npy") == 0); /* which seams are measured in */
    for (int64_t i = 0; i < request.output_count; i++) {
        if (request.outputs[i].role == CRD_OUTPUT_SEGMENTATION) CHECK(request.outputs[i].type == CRD_I32);
    }
    crd_request_free(&request);
}

/* Types of the segmentation, the smallest that holds all values. */
static void test_types(void)
{
    static const struct {
        double values[3];
        crd_type type;
    } cases[] = {{{0, 128, 255}, CRD_U8},      {{0, 1, 256}, CRD_U16},        {{-1, 0, 1}, CRD_I16},
                 {{0, 65535, 65536}, CRD_I32}, {{0, 0.5, 1}, CRD_F32},        {{0, 0.1, 1}, CRD_F64},
                 {{-1, 0, 65535}, CRD_I32},    {{0, 1, 4294967296}, CRD_F32}, {{0, 1, 4294967297}, CRD_F64}};
    const crd_predict_options options = {.intervals = {interval_items, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        crd_request request;
        make_request(3, cases[i].values, &options, true, &request);
        CHECK(request.outputs[3].role == CRD_OUTPUT_SEGMENTATION && request.outputs[3].type == cases[i].type);
        crd_request_free(&request);
    }
}

/* Of equal probabilities the first; in any number of voxels. */
static void test_first_of_equal_ones(void)
{
    float values[3][CRD_DERIVE_VOXELS], largest[CRD_DERIVE_VOXELS];
    const float *planes[3] = {values[0], values[1], values[2]};
    uint8_t best[CRD_DERIVE_VOXELS];
    for (int i = 0; i < CRD_DERIVE_VOXELS; i++) {
        for (int k = 0; k < 3; k++) values[k][i] = (float)(i >> k & 1);
    }
    crd_derive_classes(planes, 3, CRD_DERIVE_VOXELS, best, largest);
    for (int i = 0; i < CRD_DERIVE_VOXELS; i++) {
        const int low = i & 7;
        CHECK(best[i] == (low == 0 || (low & 1) != 0 ? 0 : (low & 2) != 0 ? 1 : 2));
        CHECK(largest[i] == (low == 0 ? 0.0f : 1.0f));
    }
}

TEST_MAIN(TEST(test_chunks), TEST(test_tiles), TEST(test_names), TEST(test_types), TEST(test_first_of_equal_ones))
