# Parts that need an optional library drop out of the build here.
if(NOT CRD_HAVE_TIFF)
  list(FILTER CREDENCE_SOURCES EXCLUDE REGEX "/src/volume/tiff[^/]*\\.c$")
endif()
