#include "build_config.h"
#include "credence/status.h"

const char *crd_version(void)
{
    return CRD_VERSION;
}

const char *crd_build_description(void)
{
    return CRD_HAVE_TIFF ? "TIFF: yes (libtiff)" : "TIFF: left out (libtiff was not found when credence was built)";
}
