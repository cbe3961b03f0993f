if(NOT FGMPI_HAVE_BUDDY)
  list(FILTER sources EXCLUDE REGEX "/buddy_test.cc$")
  fgmpi_tests_without(BUDDY "a part of unit.groupmap")
endif()
