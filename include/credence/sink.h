/* Predictions without a run folder: finished boxes go wherever the caller wants them, as they become final.
 *
 *     static crd_status begin(void *mine, const crd_sink_volume *volumes, int64_t count, void **arrays)
 *     {
 *         for (int64_t i = 0; i < count; i++) {
 *             if (strcmp(volumes[i].role, "segmentation") == 0) arrays[i] = mine;
 *         }
 *         return CRD_OK;
 *     }
 *
 *     const crd_sink sink = {.size = sizeof sink, .context = segmentation, .begin = begin};
 *     if (crd_predict_to(&options, model, &sink, NULL, NULL) != CRD_OK) fail(crd_last_error()->message);
 *
 * The voxels are the same bytes as those in the files of crd_predict with the same options. There is nothing to resume:
 * a run that is stopped begins anew. Small files of the run (its sums, and where chunks overlap the probability) lie in
 * a folder below $TMPDIR while it goes on.
 */
#ifndef CREDENCE_SINK_H
#define CREDENCE_SINK_H

#include <stdint.h>

#include "credence/model.h"
#include "credence/predict.h"
#include "credence/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One of the volumes that a run makes. */
typedef struct crd_sink_volume {
    const char *role;     /* "probability", "segmentation", "uncertainty", "sample", ...: as in a manifest's outputs */
    const char *name;     /* which one, as its file would end: "prob", "unc_5-95", "sample_7" */
    crd_volume_info info; /* its shape is that of the box that is predicted; value * scale is the quantity */
    double percents[2];   /* of an interval, or of a percentile twice; NaN, NaN where there are none */
} crd_sink_volume;

typedef struct crd_sink {
    size_t size; /* sizeof(crd_sink) */
    void *context;
    /* Before the first box. `volumes` stay until the run ends. Where arrays[i] is set to room for volume i, x fastest
     * and without gaps, its voxels are put there and nobody is called for it; else it stays NULL. May be NULL. */
    crd_status (*begin)(void *context, const crd_sink_volume *volumes, int64_t count, void **arrays);
    /* A box of volume number `volume` is final: its voxels, x fastest, of the volume's type. The box lies in the
     * volume, boxes come in any order, and none comes twice. Threads of the library call this, for one volume one at a
     * time, for several at once. NULL: what has no array is dropped. */
    crd_status (*box)(void *context, int64_t volume, const crd_box *box, const void *voxels);
    /* After the last box: what the run found, as the text of a manifest.json. May be NULL. */
    crd_status (*end)(void *context, const char *manifest);
    /* After that, for each of the small files that a run folder has beside its manifest ("log.jsonl", "probe.h5",
     * "norms.h5"): all its bytes. Together with the volumes, each in a file as the manifest's outputs call it, they
     * make a run folder. May be NULL. */
    crd_status (*file)(void *context, const char *name, const void *bytes, size_t count);
} crd_sink;

/* Bytes of memory that this process could still take, by the machine and by the limits of a container: for deciding
 * what to keep in memory. */
CRD_API int64_t crd_sink_memory(void);

/* As crd_predict, but into the sink: options->output and resume stay unset. `model` may be NULL: options->model is
 * loaded; else it is only read, several runs at once may share it, and options->model, which may be NULL then, is the
 * file that the manifest names. `monitor` and `out` may be NULL. In a job of several processes it is refused. */
CRD_API crd_status crd_predict_to(const crd_predict_options *options, const crd_model *model, const crd_sink *sink,
                                  const crd_monitor *monitor, crd_predict_result *out);

#ifdef __cplusplus
}
#endif
#endif
