# What `make install` copies: the program, the shared library, its headers, a pkg-config file, man pages.
install(TARGETS credence LIBRARY COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS credence_installed COMPONENT program)
# The library looks for its plug-ins beside itself and here (src/base/shared_object.c).
set(CREDENCE_PLUGIN_DIR ${CMAKE_INSTALL_LIBDIR}/credence)
install(TARGETS credence_hdf5 RUNTIME DESTINATION ${CREDENCE_PLUGIN_DIR} COMPONENT library)
if(TARGET credence_cuda)
  install(TARGETS credence_cuda DESTINATION ${CREDENCE_PLUGIN_DIR} COMPONENT cuda)
endif()
if(TARGET credence_mpi)
  install(TARGETS credence_mpi DESTINATION ${CREDENCE_PLUGIN_DIR} COMPONENT mpi)
endif()
if(TARGET credence_http)
  install(TARGETS credence_http DESTINATION ${CREDENCE_PLUGIN_DIR} COMPONENT http)
endif()
install(DIRECTORY include/credence DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")

# The pkg-config file finds the prefix from its own place, so a tree can be installed anywhere and moved afterwards. Only
# the shared library is installed, so that what it links to itself is no business of its users: no Requires.private,
# which would make pkg-config fail on machines without the -dev packages of libtiff and the rest.
set(CREDENCE_PC_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH CREDENCE_PC_UP /${CREDENCE_PC_DIR} /)
string(REGEX REPLACE "/$" "" CREDENCE_PC_UP "${CREDENCE_PC_UP}")
configure_file(cmake/credence.pc.in ${CMAKE_BINARY_DIR}/generated/credence.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/generated/credence.pc DESTINATION ${CREDENCE_PC_DIR} COMPONENT development)

# Man pages: one for the program and one per command (cli/cmd_*.c), printed by the program from the tables that its
# --help comes from. Sanitizer builds and cross builds go without.
if(NOT CREDENCE_SANITIZE AND NOT CREDENCE_COVERAGE AND NOT CMAKE_CROSSCOMPILING)
  set(commands "")
  foreach(source ${CREDENCE_CLI})
    if(source MATCHES "/cmd_([a-z_]+)\\.c$")
      list(APPEND commands ${CMAKE_MATCH_1})
    endif()
  endforeach()
  set(CREDENCE_MAN_DIR ${CMAKE_BINARY_DIR}/man)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man.stamp
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:credence_program> "-DCOMMANDS=${commands}"
            -DFOLDER=${CREDENCE_MAN_DIR} -P ${CMAKE_SOURCE_DIR}/cmake/man_pages.cmake
    COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/man.stamp
    DEPENDS credence_program ${CMAKE_SOURCE_DIR}/cmake/man_pages.cmake VERBATIM COMMENT "Making the man pages")
  add_custom_target(man ALL DEPENDS ${CMAKE_BINARY_DIR}/man.stamp)
  install(DIRECTORY ${CREDENCE_MAN_DIR}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program FILES_MATCHING PATTERN "*.1")

  # Completion of command lines, printed by the program from the same tables; each shell looks in a folder of its own.
  foreach(pair bash=bash-completion/completions/credence zsh=zsh/site-functions/_credence
          fish=fish/vendor_completions.d/credence.fish)
    string(REGEX MATCH "^([a-z]+)=(.*)/([^/]+)$" pair ${pair})
    set(shell ${CMAKE_MATCH_1})
    set(place ${CMAKE_MATCH_2})
    set(file ${CMAKE_MATCH_3})
    set(script ${CMAKE_BINARY_DIR}/completion/${shell}/${file})
    add_custom_command(OUTPUT ${script} COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/completion/${shell}
                       COMMAND credence_program --completion ${shell} > ${script} DEPENDS credence_program VERBATIM)
    list(APPEND completion_scripts ${script})
    install(FILES ${script} DESTINATION ${CMAKE_INSTALL_DATADIR}/${place} COMPONENT program)
  endforeach()
  add_custom_target(completion ALL DEPENDS ${completion_scripts})
endif()
