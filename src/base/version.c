#include "build_config.h"
#include "credence/status.h"

#if CRD_HAVE_TIFF
#define TIFF_PART "TIFF: yes (libtiff)"
#else
#define TIFF_PART "TIFF: left out (built without libtiff)"
#endif
#if CRD_HAVE_PNG
#define PNG_PART "PNG: yes (libpng)"
#else
#define PNG_PART "PNG: left out (built without libpng)"
#endif

const char *crd_version(void)
{
    return CRD_VERSION;
}

const char *crd_build_description(void)
{
    return TIFF_PART "\n" PNG_PART;
}
