# Libraries the build uses, gathered in one interface target. Required: HDF5 (C API), cJSON, zlib, threads, libm.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
set(HDF5_PREFER_PARALLEL OFF)
find_package(HDF5 REQUIRED COMPONENTS C)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)

add_library(credence_dependencies INTERFACE)
target_link_libraries(credence_dependencies INTERFACE Threads::Threads ZLIB::ZLIB PkgConfig::CJSON ${HDF5_C_LIBRARIES}
                      m ${CMAKE_DL_LIBS})
target_include_directories(credence_dependencies SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})
target_compile_definitions(credence_dependencies INTERFACE ${HDF5_C_DEFINITIONS})

# Optional parts. Each has one line here, which gives CRD_HAVE_<NAME> in build_config.h, a line at the end of configure
# and the same line in crd_build_description(), which `credence --version` prints.
set(CREDENCE_PARTS "")

# credence_part(PURPOSE HAVE DETAIL): note one line of the description.
function(credence_part PURPOSE HAVE DETAIL)
  if(HAVE)
    set(line "${PURPOSE}: yes (${DETAIL})")
  else()
    set(line "${PURPOSE}: no (${DETAIL})")
  endif()
  set(CREDENCE_PARTS ${CREDENCE_PARTS} "${line}" PARENT_SCOPE)
endfunction()

# credence_optional(NAME MODULE PURPOSE): use the library that pkg-config calls MODULE where it is installed.
macro(credence_optional NAME MODULE PURPOSE)
  option(CREDENCE_WITH_${NAME} "${PURPOSE}: use ${MODULE} where it is installed" ON)
  set(CRD_HAVE_${NAME} 0)
  if(NOT CREDENCE_WITH_${NAME})
    credence_part("${PURPOSE}" OFF "switched off when credence was built")
  else()
    pkg_check_modules(${NAME} QUIET IMPORTED_TARGET ${MODULE})
    if(${NAME}_FOUND)
      set(CRD_HAVE_${NAME} 1)
      target_link_libraries(credence_dependencies INTERFACE PkgConfig::${NAME})
      string(REGEX REPLACE ">=.*" "" name "${MODULE}")
      credence_part("${PURPOSE}" ON "${name} ${${NAME}_VERSION}")
    else()
      credence_part("${PURPOSE}" OFF "${MODULE} was not found when credence was built")
    endif()
  endif()
endmacro()

credence_optional(TIFF libtiff-4>=4.5 "TIFF volumes")
credence_optional(PNG libpng "PNG pictures")

include(${CMAKE_CURRENT_LIST_DIR}/cuda.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/mpi.cmake)

# Parts that this version does not have yet: whoever adds one moves it up.
foreach(purpose "NIfTI volumes" "OME-Zarr volumes")
  credence_part("${purpose}" OFF "not part of this version")
endforeach()
