#include "train/validation.h"

#include <string.h>

#include "base/memory.h"
#include "base/portable_math.h"
#include "base/report.h"

crd_status crd_validate_chunks(crd_trainer *trainer, crd_dataset *dataset, int64_t sample, float *input,
                               uint8_t *label, crd_validation *out)
{
    double bce = 0.0;
    int64_t labelled = 0, correct = 0;
    for (int64_t i = 0; i < crd_dataset_count(dataset); i++) {
        crd_loss loss;
        int64_t count;
        CRD_PASS(crd_dataset_read(dataset, i, 0, input, label, &count));
        crd_trainer_evaluate(trainer, sample, input, label, &loss);
        bce += loss.bce_sum;
        labelled += loss.labelled;
        correct += loss.correct;
    }
    out->labelled = labelled;
    out->bce = labelled > 0 ? bce / (double)labelled : 0.0;
    out->accuracy = labelled > 0 ? (double)correct / (double)labelled : 0.0;
    return CRD_OK;
}

enum { SAMPLES = 16, VOXELS_MOST = 100000, CHUNKS_MOST = 48, SEARCH_STEPS = 40 };
static const double NEAREST = 1e-7; /* probabilities stay this far from 0 and 1 */

typedef struct evidence { /* logits of every sample at some voxels, and the voxels' classes */
    float *logits;        /* [voxels][SAMPLES] */
    uint8_t *classes;
    int64_t voxels;
} evidence;

static double negative_log_likelihood(const evidence *e, double calibration)
{
    double total = 0.0;
    for (int64_t v = 0; v < e->voxels; v++) {
        double mean = 0.0;
        for (int s = 0; s < SAMPLES; s++) mean += crd_sigmoid(e->logits[v * SAMPLES + s] / calibration) / SAMPLES;
        mean = mean < NEAREST ? NEAREST : mean > 1.0 - NEAREST ? 1.0 - NEAREST : mean;
        total -= crd_log(e->classes[v] ? mean : 1.0 - mean);
    }
    return total;
}

static double to_logit(float probability)
{
    double p = probability;
    p = p < NEAREST ? NEAREST : p > 1.0 - NEAREST ? 1.0 - NEAREST : p;
    return crd_log(p / (1.0 - p));
}

/* Takes every `stride`-th labelled voxel of a chunk. */
static void take_voxels(evidence *e, const uint8_t *label, const float *probability, int64_t voxels, int64_t stride)
{
    int64_t seen = 0;
    for (int64_t v = 0; v < voxels && e->voxels < VOXELS_MOST; v++) {
        if (label[v] == CRD_LABEL_NONE || seen++ % stride != 0) continue;
        for (int s = 0; s < SAMPLES; s++) {
            e->logits[e->voxels * SAMPLES + s] = (float)to_logit(probability[s * voxels + v]);
        }
        e->classes[e->voxels++] = label[v];
    }
}

/* Golden section on log c: the likelihood has one maximum there in practice, and a local one will do. */
static double search(const evidence *e)
{
    const double ratio = 0.6180339887498949;
    double low = crd_log(0.1), high = crd_log(10.0);
    double a = high - ratio * (high - low), b = low + ratio * (high - low);
    double at_a = negative_log_likelihood(e, crd_exp(a)), at_b = negative_log_likelihood(e, crd_exp(b));
    for (int i = 0; i < SEARCH_STEPS && high - low > 1e-4; i++) {
        if (at_a < at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - ratio * (high - low);
            at_a = negative_log_likelihood(e, crd_exp(a));
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + ratio * (high - low);
            at_b = negative_log_likelihood(e, crd_exp(b));
        }
    }
    return crd_exp(0.5 * (low + high));
}

crd_status crd_calibrate(crd_trainer *trainer, crd_dataset *dataset, float *input, uint8_t *label,
                         const crd_monitor *monitor, double *calibration)
{
    crd_status status = CRD_OK;
    evidence e = {0};
    float *probability = NULL;
    const int64_t chunks = crd_dataset_count(dataset), voxels = crd_trainer_chunk_voxels(trainer);
    const int64_t used = chunks < CHUNKS_MOST ? chunks : CHUNKS_MOST;
    *calibration = 1.0;
    if (chunks == 0) return CRD_OK;
    CRD_TRY(crd_alloc((int64_t)VOXELS_MOST * SAMPLES, sizeof *e.logits, "the calibration", &e.logits));
    CRD_TRY(crd_alloc(VOXELS_MOST, 1, "the calibration", &e.classes));
    CRD_TRY(crd_alloc(SAMPLES * voxels, sizeof *probability, "the calibration", &probability));
    for (int64_t i = 0; i < used; i++) {
        int64_t labelled;
        CRD_TRY(crd_dataset_read(dataset, i * chunks / used, 0, input, label, &labelled));
        for (int s = 0; s < SAMPLES; s++) crd_trainer_predict(trainer, s, input, probability + s * voxels);
        const int64_t stride = (labelled * used + VOXELS_MOST - 1) / VOXELS_MOST;
        take_voxels(&e, label, probability, voxels, stride > 0 ? stride : 1);
        CRD_TRY(crd_advance(monitor, "calibrating", "chunks", i + 1, used, NULL));
    }
    *calibration = search(&e);
done:
    crd_free(&e.logits);
    crd_free(&e.classes);
    crd_free(&probability);
    return status;
}
