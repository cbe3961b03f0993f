if(NOT FGMPI_HAVE_SODIUM)
  set(sources)
  fgmpi_tests_without(SODIUM unit.multicast)
endif()
