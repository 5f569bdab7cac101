// Clock and power, from the driver's management library, which is looked for at run time: nothing depends on it.
#include <dlfcn.h>

#include "backend/cuda/peak.cuh"

// The few things of nvml.h that are needed; its names and values are the library's binary interface.
typedef struct nvmlDevice_st *nvmlDevice_t;
enum { NVML_CLOCK_SM = 1 };

template <typename FUNCTION> static bool find(void *library, const char *name, FUNCTION *out)
{
    *out = reinterpret_cast<FUNCTION>(dlsym(library, name));
    return *out != nullptr;
}

void gpu_load(int device, double *megahertz, double *watts)
{
    int (*initialise)(void), (*shut_down)(void), (*by_address)(const char *, nvmlDevice_t *);
    int (*clock)(nvmlDevice_t, int, unsigned *), (*power)(nvmlDevice_t, unsigned *);
    nvmlDevice_t handle;
    unsigned value;
    char address[32];
    *megahertz = *watts = 0.0;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    if (find(library, "nvmlInit_v2", &initialise) && find(library, "nvmlShutdown", &shut_down) &&
        find(library, "nvmlDeviceGetHandleByPciBusId_v2", &by_address) &&
        find(library, "nvmlDeviceGetClockInfo", &clock) && find(library, "nvmlDeviceGetPowerUsage", &power) &&
        initialise() == 0) {
        if (cudaDeviceGetPCIBusId(address, sizeof address, device) == cudaSuccess &&
            by_address(address, &handle) == 0) {
            if (clock(handle, NVML_CLOCK_SM, &value) == 0) *megahertz = value;
            if (power(handle, &value) == 0) *watts = 1e-3 * value;
        }
        shut_down();
    }
    dlclose(library);
}
