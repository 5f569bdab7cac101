# What compiler and linker can do so that a mistake in memory stops the program in place of obeying whoever provoked it.
# In builds for users: sanitizers see more than this, and packagers without a build type bring flags of their own.
# tests/package/test_hardening.sh looks for each in the files; docs/SECURITY.md says what it costs.
option(CREDENCE_HARDENING "Builds for users: stack protector, checked libc calls, addresses that can't be guessed or overwritten" ON)
if(NOT CREDENCE_HARDENING OR CREDENCE_SANITIZE OR CREDENCE_FUZZ OR CREDENCE_COVERAGE OR NOT CMAKE_BUILD_TYPE MATCHES "^(Rel|MinSizeRel)")
  return()
endif()
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckPIESupported)
check_pie_supported() # a program anywhere in memory, as libraries are

foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection=full)
  string(MAKE_C_IDENTIFIER "CREDENCE_HAS${flag}" known)
  check_c_compiler_flag(${flag} ${known})
  if(${known})
    add_compile_options($<$<COMPILE_LANGUAGE:C>:${flag}>)
  endif()
endforeach()

# Calls of the C library that know how large their buffer is check it. Level 3 knows more sizes, where compiler and
# library are new enough.
set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
check_c_source_compiles("#include <string.h>
#if !defined __GLIBC__ || __USE_FORTIFY_LEVEL < 3
#error no
#endif
int main(void) { return 0; }" CREDENCE_HAS_FORTIFY_3)
unset(CMAKE_REQUIRED_FLAGS)
set(level 2)
if(CREDENCE_HAS_FORTIFY_3)
  set(level 3)
endif()
add_compile_options($<$<COMPILE_LANGUAGE:C>:-U_FORTIFY_SOURCE> $<$<COMPILE_LANGUAGE:C>:-D_FORTIFY_SOURCE=${level}>)

# What the GPU's plug-in runs on the CPU is compiled with the host compiler's defaults; it is linked as the others are.
# All symbols are found at the start, and the tables of their addresses are read-only from then on; no stack is executable.
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
