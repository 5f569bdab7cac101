# Files of pages as C tables inside the library: name in FOLDER, type, fingerprint, bytes.
# credence_embed(TABLE HEADER FOLDER FILE...)
function(credence_embed TABLE HEADER FOLDER)
  set(output ${CMAKE_BINARY_DIR}/generated/${TABLE}.c)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${ARGN}" -DTABLE=${TABLE} -DHEADER=${HEADER} -DFOLDER=${FOLDER}
            -DOUTPUT=${output} -P ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake VERBATIM COMMENT "Putting ${TABLE} into the library")
  set(CREDENCE_SOURCES ${CREDENCE_SOURCES} ${output} PARENT_SCOPE)
endfunction()

# The viewer's page, and what a report carries.
set(web ${CMAKE_SOURCE_DIR}/web)
file(GLOB_RECURSE CREDENCE_PAGE CONFIGURE_DEPENDS ${web}/*.html ${web}/*.css ${web}/*.js ${web}/*.svg)
list(FILTER CREDENCE_PAGE EXCLUDE REGEX "/web/report/")
credence_embed(crd_page_file view/http/page.h ${web} ${CREDENCE_PAGE})
file(GLOB CREDENCE_REPORT CONFIGURE_DEPENDS ${web}/report/*.css ${web}/report/*.js)
credence_embed(crd_report_file report/style.h ${web}/report ${CREDENCE_REPORT})
