# Parts that need an optional library drop out of the build here.
if(NOT CRD_HAVE_TIFF)
  list(FILTER CREDENCE_SOURCES EXCLUDE REGEX "/src/volume/tiff/")
endif()
if(NOT CRD_HAVE_PNG)
  list(FILTER CREDENCE_SOURCES EXCLUDE REGEX "/src/volume/pictures/png\\.c$")
endif()
if(NOT CRD_HAVE_JPEG)
  list(FILTER CREDENCE_SOURCES EXCLUDE REGEX "/src/volume/pictures/jpeg\\.c$")
endif()
if(NOT CRD_HAVE_NIFTI)
  list(FILTER CREDENCE_SOURCES EXCLUDE REGEX "/src/volume/header/nifti[^/]*\\.c$")
endif()
# Kernels for instructions that the running CPU may not have live in files of their own, called after asking it.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/backend/cpu/avx512.c PROPERTIES COMPILE_OPTIONS
    "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx2;-mfma;-mprefer-vector-width=512")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/backend/cpu/avx512bf16.c PROPERTIES COMPILE_OPTIONS
    "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512bf16;-mavx2;-mfma;-mprefer-vector-width=512")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/backend/cpu/avx2.c PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/validate/rows_avx512.c PROPERTIES COMPILE_OPTIONS
    "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx2;-mfma;-mprefer-vector-width=512")
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/validate/rows_avx2.c PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
else()
  list(FILTER CREDENCE_SOURCES EXCLUDE REGEX "/src/(backend/cpu/|validate/rows_)avx[^/]*\\.c$")
endif()
# Fuzzing is about readers of files. Kernels take no part in it, and instrumented they take minutes to compile.
if(CREDENCE_FUZZ)
  foreach(source ${CREDENCE_SOURCES})
    if(source MATCHES "/src/backend/|avx[^/]*\\.c$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all)
    endif()
  endforeach()
endif()
# The loops that most of a test's time goes into, which aren't instrumented (src/base/sanitizers.h), keep their sums in registers.
if(CREDENCE_SANITIZE)
  set_property(SOURCE ${CMAKE_SOURCE_DIR}/src/ops/portable_rows.c APPEND PROPERTY COMPILE_OPTIONS -O3)
endif()
# MPI is known to one file only, which is a plug-in (cmake/mpi.cmake).
list(FILTER CREDENCE_SOURCES EXCLUDE REGEX "/src/dist/mpi\\.c$")
# And so is libmicrohttpd (cmake/http.cmake).
list(FILTER CREDENCE_SOURCES EXCLUDE REGEX "/src/view/http/server\\.c$")
