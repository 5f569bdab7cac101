# Files of pages as C tables inside the library: name, type, fingerprint, bytes. credence_embed(TABLE HEADER FILE...)
function(credence_embed TABLE HEADER)
  set(output ${CMAKE_BINARY_DIR}/generated/${TABLE}.c)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${ARGN}" -DTABLE=${TABLE} -DHEADER=${HEADER} -DOUTPUT=${output}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake VERBATIM COMMENT "Putting ${TABLE} into the library")
  set(CREDENCE_SOURCES ${CREDENCE_SOURCES} ${output} PARENT_SCOPE)
endfunction()

# The viewer's page, and what a report carries.
file(GLOB CREDENCE_PAGE CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/*.html ${CMAKE_SOURCE_DIR}/web/*.css
     ${CMAKE_SOURCE_DIR}/web/*.js ${CMAKE_SOURCE_DIR}/web/*.svg)
credence_embed(crd_page_file view/http/page.h ${CREDENCE_PAGE})
file(GLOB CREDENCE_REPORT CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/report/*.css ${CMAKE_SOURCE_DIR}/web/report/*.js)
credence_embed(crd_report_file report/style.h ${CREDENCE_REPORT})
