install(TARGETS credence credence_program)
install(DIRECTORY include/credence DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
