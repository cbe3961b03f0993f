# The functions that mpicc -check wraps, by the wrapper's own list: where the list and the files of src/gcc/access disagree, this
# program cannot be linked.
file(READ ${CMAKE_SOURCE_DIR}/src/launcher/wrappers/wrapper.sh.in wrapper)
string(REGEX MATCH "access/memory.cc.\n *for function in ([^;]*); do" matched "${wrapper}")
if(NOT matched)
  message(FATAL_ERROR "src/launcher/wrappers/wrapper.sh.in has no list of the functions of src/gcc/access/memory.cc")
endif()
string(REGEX REPLACE "[\\ \n]+" ";" wrapped_functions "${CMAKE_MATCH_1}")
add_library(unit_access_flags INTERFACE)
# The entry points find the checker, which the test plays, by its name.
target_link_options(unit_access_flags INTERFACE -Wl,--export-dynamic)
foreach(function ${wrapped_functions})
  target_link_options(unit_access_flags INTERFACE -Wl,--wrap=${function})
endforeach()
set(UNIT_LIBS unit_access_flags fgmpi_flags fgmpi_host_header ${CMAKE_DL_LIBS})
