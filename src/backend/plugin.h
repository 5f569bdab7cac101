/* A backend in a shared object of its own, loaded when it is needed: the library passes in what the plug-in needs from
 * it, and the plug-in returns its table. Nothing else crosses the border. */
#ifndef CRD_BACKEND_PLUGIN_H
#define CRD_BACKEND_PLUGIN_H

#include "backend/backend.h"
#include "base/build_mark.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CRD_BACKEND_MARK                                                                                               \
    {                                                                                                                  \
        CRD_BACKEND_VERSION, CRD_VERSION,                                                                              \
        {                                                                                                              \
            sizeof(crd_net), sizeof(crd_device_settings), sizeof(crd_predictor_plan), sizeof(crd_chunk_result),        \
                sizeof(crd_learner_plan), sizeof(crd_learner_step), sizeof(crd_loss), sizeof(crd_device_peak),         \
                sizeof(crd_device_load), sizeof(crd_conduction_plan), sizeof(crd_conduction_result),                   \
                sizeof(crd_backend)                                                                                    \
        }                                                                                                              \
    }

typedef struct crd_plugin_host {
    crd_build_mark mark; /* CRD_BACKEND_MARK of the library */
    /* Sets the calling thread's error record to a ready sentence, and gives the code back. */
    crd_status (*fail)(crd_status code, const char *file, int line, const char *sentence);
} crd_plugin_host;

/* The symbol every plug-in exports. NULL where the marks differ. */
#define CRD_PLUGIN_SYMBOL "crd_plugin_backend"
typedef const crd_backend *crd_plugin_entry(const crd_plugin_host *host);

#ifdef __cplusplus
}
#endif
#endif
