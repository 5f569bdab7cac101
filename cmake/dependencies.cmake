# Libraries the build uses, gathered in one interface target. Required: HDF5 (C API), cJSON, zlib, threads, libm.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
set(HDF5_PREFER_PARALLEL OFF)
find_package(HDF5 REQUIRED COMPONENTS C)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)

# Debian's libhdf5.so is a link, in a folder of its own, to a library that lies where the linker looks: that one is taken,
# so that nothing needs to be told of the folder.
set(hdf5_libraries "")
foreach(library IN LISTS HDF5_C_LIBRARIES)
  if(IS_SYMLINK "${library}")
    file(READ_SYMLINK "${library}" target)
    get_filename_component(folder "${library}" DIRECTORY)
    get_filename_component(target "${target}" ABSOLUTE BASE_DIR "${folder}")
    get_filename_component(other_folder "${target}" DIRECTORY)
    if(NOT other_folder STREQUAL folder)
      set(library "${target}")
    endif()
  endif()
  list(APPEND hdf5_libraries "${library}")
endforeach()

add_library(credence_dependencies INTERFACE)
target_link_libraries(credence_dependencies INTERFACE Threads::Threads ZLIB::ZLIB PkgConfig::CJSON ${hdf5_libraries}
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

# credence_optional_library(NAME HEADER FOLDER LIBRARY PURPOSE): the same for a library that pkg-config doesn't know, by
# its header, which may lie in FOLDER below an include folder.
macro(credence_optional_library NAME HEADER FOLDER LIBRARY PURPOSE)
  option(CREDENCE_WITH_${NAME} "${PURPOSE}: use lib${LIBRARY} where it is installed" ON)
  set(CRD_HAVE_${NAME} 0)
  if(NOT CREDENCE_WITH_${NAME})
    credence_part("${PURPOSE}" OFF "switched off when credence was built")
  else()
    find_path(${NAME}_HEADERS ${HEADER} PATH_SUFFIXES ${FOLDER})
    find_library(${NAME}_LIBRARY ${LIBRARY})
    if(${NAME}_HEADERS AND ${NAME}_LIBRARY)
      set(CRD_HAVE_${NAME} 1)
      target_include_directories(credence_dependencies SYSTEM INTERFACE ${${NAME}_HEADERS})
      target_link_libraries(credence_dependencies INTERFACE ${${NAME}_LIBRARY})
      credence_part("${PURPOSE}" ON "lib${LIBRARY}")
    else()
      credence_part("${PURPOSE}" OFF "lib${LIBRARY} was not found when credence was built")
    endif()
  endif()
endmacro()

credence_optional(TIFF libtiff-4>=4.5 "TIFF volumes")
credence_optional(PNG libpng "PNG pictures and slices")
credence_optional(JPEG libjpeg "JPEG slices")
credence_optional_library(NIFTI nifti2_io.h nifti nifti2 "NIfTI volumes")
credence_optional(BLOSC blosc "OME-Zarr chunks packed by Blosc")
credence_optional(ZSTD libzstd "OME-Zarr chunks packed by Zstandard")

include(${CMAKE_CURRENT_LIST_DIR}/cuda.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/mpi.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/http.cmake)
