# Compiler flags. Warnings are for our own code only: other people's headers come in as system headers.
add_library(credence_warnings INTERFACE)
target_compile_options(credence_warnings INTERFACE -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes
                       -Wmissing-prototypes -Wpointer-arith -Wvla)
# gcc's own manual warns of false warnings in sanitizer builds, so there they don't stop the build.
if(CREDENCE_WERROR AND NOT CREDENCE_SANITIZE)
  target_compile_options(credence_warnings INTERFACE -Werror)
endif()

# The same source gives the same bits everywhere: a*b+c is never fused behind our back, and nothing is reordered.
add_compile_options(-ffp-contract=off -fno-math-errno)
# The same source gives the same binary in any folder.
add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
add_compile_definitions(_GNU_SOURCE _FILE_OFFSET_BITS=64)

if(CREDENCE_ASSERTIONS)
  add_compile_definitions(CREDENCE_ASSERTIONS)
endif()

# Libraries that FindHDF5 lists and we never call are not loaded with ours.
add_link_options(-Wl,--as-needed)

if(CREDENCE_SANITIZE)
  add_compile_options(-fsanitize=${CREDENCE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CREDENCE_SANITIZE})
  if(CREDENCE_SANITIZE MATCHES undefined)
    # Checks of every pointer that find what ASan finds, and double the time of the tests.
    add_compile_options(-fno-sanitize=null,object-size,pointer-overflow)
  endif()
endif()
if(CREDENCE_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "CREDENCE_FUZZ needs clang, whose libFuzzer drives the targets: add -DCMAKE_C_COMPILER=clang.")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(CREDENCE_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
