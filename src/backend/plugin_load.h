/* Loading a backend that lives in a shared object of its own (backend/plugin.h). */
#ifndef CRD_BACKEND_PLUGIN_LOAD_H
#define CRD_BACKEND_PLUGIN_LOAD_H

#include "backend/backend.h"

/* `file` is a plain name ("libcredence_cuda.so"), looked for beside this library first. */
crd_status crd_plugin_load(const char *file, const crd_backend **out);

#endif
