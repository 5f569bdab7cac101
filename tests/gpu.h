/* Is there a GPU that the plug-in can use? `make test-gpu` sets CREDENCE_NEEDS_GPU on a machine that has one: then it
 * is an error if not, since tests that are always skipped test nothing. */
#ifndef TESTS_GPU_H
#define TESTS_GPU_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/choose.h"
#include "base/error.h"

static inline bool have_gpu(void)
{
    const crd_device_choice choice = {.device = "cuda"};
    const crd_backend *backend;
    crd_device_settings settings;
    if (crd_backend_choose(&choice, &backend, &settings) == CRD_OK) return true;
    printf("%s\n", crd_last_error()->message);
    if (getenv("CREDENCE_NEEDS_GPU") != NULL) exit(1);
    return false;
}

#endif
