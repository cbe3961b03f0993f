# What the built library exports, compared with the host's.
if(TARGET fgmpi AND TARGET fgmpi-info)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME host.symbols COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/symbols.py
           ${FGMPI_HOST_LIBRARY} $<TARGET_FILE:fgmpi> $<TARGET_FILE:fgmpi-info>)
  set_tests_properties(host.symbols PROPERTIES LABELS library TIMEOUT 60)
endif()
