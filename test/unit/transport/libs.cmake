# A transport of the tests' own (datagram/), for the unit tests and, in a second library, for whole MPI programs
# (test/mpi/transport/third.sh). That library has the objects of the real one and of this transport.
add_library(third_transport OBJECT ${CMAKE_CURRENT_LIST_DIR}/datagram/datagram.cc)
target_link_libraries(third_transport PRIVATE fgmpi_transport)
set(UNIT_LIBS third_transport)
if(TARGET fgmpi)
  add_library(fgmpi_third SHARED $<TARGET_OBJECTS:third_transport> $<TARGET_OBJECTS:fgmpi>)
  get_property(modules GLOBAL PROPERTY FGMPI_MODULES)
  foreach(module ${modules})
    if(NOT module STREQUAL fgmpi_launcher)
      target_sources(fgmpi_third PRIVATE $<TARGET_OBJECTS:${module}>)
    endif()
  endforeach()
  target_link_libraries(fgmpi_third PRIVATE $<TARGET_PROPERTY:fgmpi,LINK_LIBRARIES>)
  target_link_options(fgmpi_third PRIVATE $<TARGET_PROPERTY:fgmpi,LINK_OPTIONS>)
  set_target_properties(fgmpi_third PROPERTIES OUTPUT_NAME mpich SOVERSION 12 LINKER_LANGUAGE CXX
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test/third)
endif()
if(NOT FGMPI_HAVE_LIBFABRIC)
  list(FILTER sources EXCLUDE REGEX "/ofi_[a-z_]*test.cc$")
  fgmpi_tests_without(LIBFABRIC "a part of unit.transport")
endif()
# The test measures the stack that a poll uses, which the optimizer makes small.
set_source_files_properties(${dir}/ofi_test.cc PROPERTIES COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
