# Tests of the built library's exports, which are compared with the host's, and of the table of calls and its bindings, with
# wrong and small tables.
if(TARGET fgmpi AND TARGET fgmpi-info)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME host.symbols COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/symbols.py
           ${FGMPI_HOST_LIBRARY} $<TARGET_FILE:fgmpi> $<TARGET_FILE:fgmpi-info>
           ${FGMPI_HOST_FORTRAN_LIBRARY} $<TARGET_FILE:fgmpi_mpichfort> ${CMAKE_SOURCE_DIR})
  set_tests_properties(host.symbols PROPERTIES LABELS library TIMEOUT 60)
  add_test(NAME host.calls_table COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/calls_table.py
           ${CMAKE_SOURCE_DIR} ${FGMPI_HOST_INCLUDE} ${CMAKE_C_COMPILER})
  add_test(NAME host.bindings COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/small_tables.py
           ${CMAKE_SOURCE_DIR} ${FGMPI_HOST_INCLUDE} ${CMAKE_C_COMPILER})
  set_tests_properties(host.calls_table host.bindings PROPERTIES LABELS library TIMEOUT 60)
endif()
