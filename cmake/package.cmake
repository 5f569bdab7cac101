# Debian packages (`make deb`): the program, the library, its headers, and each plug-in apart, since those bring large
# libraries with them. cmake/debian_docs.cmake adds to every package what Debian wants to find in it.
set(CREDENCE_MAINTAINER "The credence authors <authors@credence.invalid>" CACHE STRING "Whom a package names as its maintainer")
set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME credence)
set(CPACK_PACKAGE_VENDOR "the credence authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "3D segmentation of CT scans with credible uncertainty")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/debian_docs.cmake)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${CREDENCE_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}) # our own library: depended on by name, below
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
file(WRITE ${CMAKE_BINARY_DIR}/generated/triggers "activate-noawait ldconfig\n") # in place of scripts that call it

# credence_package(COMPONENT NAME SECTION DEPENDS DESCRIPTION)
macro(credence_package component name section depends description)
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${description}")
  if(${component} STREQUAL library)
    set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/generated/triggers)
  endif()
endmacro()

set(what "credence segments 3D CT scans with a Bayesian neural network and says, voxel by
voxel, where the segmentation can't be trusted.")
set(exactly "(= ${PROJECT_VERSION})")
credence_package(program credence science "libcredence${soversion} ${exactly}"
  "${what}\n.\nThis is the program.")
credence_package(library libcredence${soversion} libs ""
  "${what}\n.\nThis is the library that the program and others use.")
credence_package(development libcredence-dev libdevel "libcredence${soversion} ${exactly}"
  "${what}\n.\nThese are the headers for programs that use the library.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
foreach(plugin mpi cuda http)
  if(NOT TARGET credence_${plugin})
    continue()
  endif()
  set(mpi "several machines, through MPI")
  set(cuda "NVIDIA GPUs, through CUDA")
  set(http "looking at scans and predictions in a browser")
  credence_package(${plugin} libcredence-${plugin} science "libcredence${soversion} ${exactly}"
    "${what}\n.\nThis plug-in is for ${${plugin}}.")
endforeach()
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "libcredence-http ${exactly}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
include(CPack)
