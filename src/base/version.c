#include "build_config.h"
#include "credence/status.h"

const char *crd_version(void)
{
    return CRD_VERSION;
}

const char *crd_build_description(void)
{
    return CRD_BUILD_DESCRIPTION;
}
