/* From --device, --precision and --isa to a backend and its settings. */
#ifndef CRD_BACKEND_CHOOSE_H
#define CRD_BACKEND_CHOOSE_H

#include "backend/backend.h"

typedef struct crd_device_choice {
    const char *device;    /* "auto", "cpu", "cuda", "cuda:2", "cuda:0,1" or "cuda:all"; NULL: auto */
    const char *precision; /* "auto", "f32", "bf16" or "fp16"; NULL: auto */
    const char *isa;       /* "auto" or an instruction path; NULL: auto. Borrowed by the settings */
    int64_t threads;       /* 0: one per core */
    bool training;         /* it is for training, whose precision on a GPU is bf16 by itself, not fp16 */
    int local_rank;        /* among the processes on this machine: each takes a GPU of its own where none is named */
    const char *max_gpu_memory; /* "20G": of each GPU; NULL or "auto": what is free */
} crd_device_choice;

/* The check of a setting: "auto", "cpu", "cuda", "cuda:2", "cuda:0,1" or "cuda:all", whether or not there is such a
 * GPU. `name` is the setting's, for the sentence. */
crd_status crd_check_device(const char *name, const char *text);

/* auto takes a GPU where there is one and the plug-in for it, else the CPU. A device that is named must be there. */
crd_status crd_backend_choose(const crd_device_choice *choice, const crd_backend **backend,
                              crd_device_settings *settings);

/* Once the network is known: settings->precision becomes what it really runs in there, which records and `describe`
 * then say. True where that is another. */
bool crd_backend_settle(const crd_backend *backend, int filters, bool training, crd_device_settings *settings);

#endif
