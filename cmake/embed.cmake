# The files of the page (web/) as one C table inside the library: name, type, fingerprint, bytes.
file(GLOB CREDENCE_PAGE CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/*.html ${CMAKE_SOURCE_DIR}/web/*.css
     ${CMAKE_SOURCE_DIR}/web/*.js ${CMAKE_SOURCE_DIR}/web/*.svg)
set(CREDENCE_PAGE_TABLE ${CMAKE_BINARY_DIR}/generated/page_files.c)
add_custom_command(OUTPUT ${CREDENCE_PAGE_TABLE}
  COMMAND ${CMAKE_COMMAND} "-DFILES=${CREDENCE_PAGE}" -DOUTPUT=${CREDENCE_PAGE_TABLE}
          -P ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
  DEPENDS ${CREDENCE_PAGE} ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake VERBATIM COMMENT "Putting the page into the library")
list(APPEND CREDENCE_SOURCES ${CREDENCE_PAGE_TABLE})
