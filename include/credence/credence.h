/* The whole library in one include.
 *
 *     crd_train        scans and hand labels -> a model                            credence/train.h
 *     crd_predict      a model and a scan -> segmentation and uncertainty          credence/predict.h
 *     crd_predict_to   the same into arrays, or box by box to a function           credence/sink.h
 *     crd_validate     a prediction and a label -> figures                         credence/validate.h
 *     crd_measure      a prediction -> properties of its realisations              credence/measure.h
 *     crd_report       a prediction -> a page for people                           credence/report.h
 *     crd_surface      a prediction or a volume -> a closed mesh                    credence/surface.h
 *     crd_export, crd_propagate   realisations -> files and numbers of other programs   credence/propagate.h
 *     crd_phantom_...  simulated scans with exact truth, to try all that on        credence/phantom.h
 *     crd_bench_...    how fast this machine does it                               credence/bench.h
 *     crd_volume_...   scans, labels and maps in files                             credence/volume.h
 *     crd_model_...    models in files                                             credence/model.h
 *     crd_settings_... options from text, flags and JSON                           credence/settings.h
 *     crd_monitor      messages, progress and cancelling                           credence/monitor.h
 *     crd_cluster_...  several processes, one job                                  credence/cluster.h
 *     crd_last_error   why something failed, and what ownership, NULL and threads mean everywhere: credence/status.h
 *
 * The usual way through it: fill an options struct by its settings table, call one function, clear the struct.
 */
#ifndef CREDENCE_CREDENCE_H
#define CREDENCE_CREDENCE_H

#include "credence/bench.h"
#include "credence/cluster.h"
#include "credence/measure.h"
#include "credence/model.h"
#include "credence/monitor.h"
#include "credence/number.h"
#include "credence/phantom.h"
#include "credence/predict.h"
#include "credence/propagate.h"
#include "credence/report.h"
#include "credence/run.h"
#include "credence/settings.h"
#include "credence/sink.h"
#include "credence/status.h"
#include "credence/surface.h"
#include "credence/train.h"
#include "credence/validate.h"
#include "credence/view.h"
#include "credence/volume.h"

#endif
