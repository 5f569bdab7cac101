# The last words of configure: what this build can do and what it lacks.
message(STATUS "credence ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE} build by ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}")
foreach(line ${CREDENCE_PARTS})
  message(STATUS "  ${line}")
endforeach()
