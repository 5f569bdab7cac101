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

# Optional ones: what is missing is left out, and said so at the end of configure and by `credence --version`.
macro(credence_optional NAME MODULE)
  pkg_check_modules(${NAME} IMPORTED_TARGET ${MODULE})
  option(CREDENCE_WITH_${NAME} "Use ${MODULE} where it is installed" ON)
  if(${NAME}_FOUND AND CREDENCE_WITH_${NAME})
    set(CRD_HAVE_${NAME} 1)
    target_link_libraries(credence_dependencies INTERFACE PkgConfig::${NAME})
  else()
    set(CRD_HAVE_${NAME} 0)
  endif()
endmacro()
credence_optional(TIFF libtiff-4)
credence_optional(PNG libpng)
if(NOT EXISTS ${CMAKE_SOURCE_DIR}/src/volume/tiff.c)
  set(CRD_HAVE_TIFF 0) # not written yet
endif()
