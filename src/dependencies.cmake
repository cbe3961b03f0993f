# Every package that the build uses is looked for here. Where one is missing, the message names it as Debian (apt), Fedora and
# RHEL (dnf) and Spack call it. FGMPI_WITHOUT is a list of optional parts that are left out on purpose.
set(FGMPI_WITHOUT "" CACHE STRING "optional parts to leave out: HWLOC, LIBFABRIC, BUDDY, and others of the table that CMake prints")

# fgmpi_dependency(NAME GIVES text APT package DNF package SPACK package [LIBRARY name...] [HEADER file] [HINTS folder...]
# [OPTIONAL]) sets FGMPI_NAME_LINK to the library and FGMPI_NAME_INCLUDE to the header's folder. An optional one is a part.
function(fgmpi_dependency name)
  cmake_parse_arguments(ARG OPTIONAL "GIVES;APT;DNF;SPACK;HEADER" "LIBRARY;HINTS" ${ARGN})
  set(missing)
  if(name IN_LIST FGMPI_WITHOUT)
    set(missing "left out by FGMPI_WITHOUT")
  else()
    if(ARG_LIBRARY)
      find_library(FGMPI_${name} NAMES ${ARG_LIBRARY} HINTS ${ARG_HINTS})
      if(NOT FGMPI_${name})
        list(JOIN ARG_LIBRARY " or lib" names)
        set(missing "lib${names} was not found")
      endif()
    endif()
    if(ARG_HEADER)
      find_path(FGMPI_${name}_INCLUDE ${ARG_HEADER} HINTS ${ARG_HINTS})
      if(NOT FGMPI_${name}_INCLUDE)
        set(missing "${ARG_HEADER} was not found")
      endif()
    endif()
    if(missing)
      string(APPEND missing ": install ${ARG_APT} (apt), ${ARG_DNF} (dnf) or ${ARG_SPACK} (Spack)")
      if(NOT ARG_OPTIONAL)
        message(FATAL_ERROR "Finegrain MPI needs ${ARG_GIVES}. ${missing}")
      endif()
    endif()
  endif()
  set(link)
  if(ARG_LIBRARY AND NOT missing)
    set(link ${FGMPI_${name}})
  endif()
  set(FGMPI_${name}_LINK ${link} PARENT_SCOPE)
  if(ARG_OPTIONAL)
    fgmpi_part(${name} "${ARG_GIVES}" "${missing}")
  endif()
endfunction()

# fgmpi_part(NAME GIVES WHY): records an optional part, which is missing unless WHY is empty; sets FGMPI_HAVE_NAME, everywhere.
function(fgmpi_part name gives why)
  set(have 1)
  if(why)
    set(have 0)
  endif()
  set(FGMPI_HAVE_${name} ${have} CACHE INTERNAL "")
  set_property(GLOBAL APPEND PROPERTY FGMPI_PARTS "${name}|${gives}|${why}")
endfunction()

# fgmpi_leave_out(VARIABLE NAME SOURCES file... INSTEAD file...): adds to VARIABLE the sources that the build leaves out: where the
# part NAME is on, the ones that stand in for it, else those that need it. fgmpi_module(... LEAVE_OUT) takes the list.
function(fgmpi_leave_out variable name)
  cmake_parse_arguments(ARG "" "" "SOURCES;INSTEAD" ${ARGN})
  if(FGMPI_HAVE_${name})
    list(APPEND ${variable} ${ARG_INSTEAD})
  else()
    list(APPEND ${variable} ${ARG_SOURCES})
  endif()
  set(${variable} ${${variable}} PARENT_SCOPE)
endfunction()

# fgmpi_tests_without(NAME TESTS...): records tests that a build without the part NAME does not have.
function(fgmpi_tests_without name)
  set_property(GLOBAL APPEND PROPERTY FGMPI_TESTS_WITHOUT_${name} ${ARGN})
endfunction()

# Prints which optional parts are on and off, and which tests are left out with them; writes build_parts.def for fgmpi-info.
function(fgmpi_report_parts)
  get_property(parts GLOBAL PROPERTY FGMPI_PARTS)
  set(rows)
  set(names)
  string(REGEX MATCH "[0-9][0-9a-z.]*" mpich "${host_version}")
  message(STATUS "Needed and found: MPICH ${mpich}, Python ${Python3_VERSION} for sources that it writes, Boost.Context, bzip2")
  message(STATUS "Optional parts:")
  foreach(part ${parts})
    string(REGEX MATCH "^(.*)[|](.*)[|](.*)$" part "${part}")
    set(name "${CMAKE_MATCH_1}")
    set(gives "${CMAKE_MATCH_2}")
    set(why "${CMAKE_MATCH_3}")
    list(APPEND names ${name})
    if(why)
      set(have 0)
      message(STATUS "  off  ${name}: ${gives}; ${why}")
      get_property(tests GLOBAL PROPERTY FGMPI_TESTS_WITHOUT_${name})
      list(REMOVE_DUPLICATES tests)
      list(JOIN tests ", " tests)
      if(tests)
        message(STATUS "         tests left out or skipped: ${tests}")
      endif()
    else()
      set(have 1)
      message(STATUS "  on   ${name}: ${gives}")
    endif()
    string(APPEND rows "FGMPI_BUILD_PART(\"${name}\", ${have}, \"${gives}\", \"${why}\")\n")
  endforeach()
  foreach(name ${FGMPI_WITHOUT})
    if(NOT name IN_LIST names)
      list(JOIN names ", " allowed)
      message(FATAL_ERROR "FGMPI_WITHOUT names ${name}; allowed are ${allowed}")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/build_parts.def CONTENT "${rows}" @ONLY)
endfunction()

# The hosted MPICH: the build uses its installed header; processes load its library at run time. The names are those of Debian's,
# Fedora's and upstream's MPICH. CMake would otherwise find the mpi.h of an Open MPI first.
set(host_folders /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/mpich /usr/lib64/mpich /usr/lib/mpich /opt/mpich /usr/local)
find_path(FGMPI_HOST_INCLUDE mpi.h NO_DEFAULT_PATH
          HINTS $ENV{MPICH_DIR} ${CMAKE_PREFIX_PATH} /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/mpich
          /usr/include/mpich-${CMAKE_SYSTEM_PROCESSOR} ${host_folders} PATH_SUFFIXES include)
set(host_packages "mpich and libmpich-dev (apt), mpich-devel (dnf) or mpich (Spack)")
if(NOT FGMPI_HOST_INCLUDE OR NOT EXISTS ${FGMPI_HOST_INCLUDE}/mpi.h)
  message(FATAL_ERROR "MPICH's mpi.h was not found: install ${host_packages}; elsewhere set MPICH_DIR to MPICH's prefix, or "
                      "-DFGMPI_HOST_INCLUDE=FOLDER")
endif()
file(STRINGS ${FGMPI_HOST_INCLUDE}/mpi.h host_version REGEX "^#define +MPICH_VERSION ")
if(NOT host_version)
  message(FATAL_ERROR "${FGMPI_HOST_INCLUDE}/mpi.h is not MPICH's: install ${host_packages}, or set -DFGMPI_HOST_INCLUDE=FOLDER")
endif()
# fgmpi_host_library(VARIABLE NAME...): a library of MPICH by its names, beside the header's prefix first.
get_filename_component(host_prefix ${FGMPI_HOST_INCLUDE} DIRECTORY)
macro(fgmpi_host_library variable)
  find_library(${variable} NAMES ${ARGN} NO_CMAKE_PATH NO_CMAKE_ENVIRONMENT_PATH
               HINTS $ENV{MPICH_DIR} ${host_prefix} /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} ${host_folders} PATH_SUFFIXES lib lib64)
endmacro()
fgmpi_host_library(FGMPI_HOST_LIBRARY libmpich.so.12 libmpi.so.12)
if(NOT FGMPI_HOST_LIBRARY)
  message(FATAL_ERROR "MPICH's library, libmpich.so.12 or libmpi.so.12, was not found: install ${host_packages}; elsewhere set "
                      "MPICH_DIR to MPICH's prefix, or -DFGMPI_HOST_LIBRARY=PATH")
endif()
# Names without a version come first: CMake's FindMPI recognises a library by the end of its path.
fgmpi_host_library(FGMPI_HOST_FORTRAN_LIBRARY libmpichfort.so libmpichfort.so.12 libmpifort.so libmpifort.so.12)
fgmpi_host_library(FGMPI_HOST_CXX_LIBRARY libmpichcxx.so libmpichcxx.so.12 libmpicxx.so libmpicxx.so.12)
# FGMPI_USED_HOST_*: where these are on the system that runs the programs, whose root is CMAKE_SYSROOT in a build across.
foreach(part INCLUDE LIBRARY FORTRAN_LIBRARY CXX_LIBRARY)
  set(FGMPI_USED_HOST_${part} "${FGMPI_HOST_${part}}")
  if(CMAKE_SYSROOT)
    string(REGEX REPLACE "^${CMAKE_SYSROOT}/" "/" FGMPI_USED_HOST_${part} "${FGMPI_HOST_${part}}")
  endif()
endforeach()

find_package(Python3 COMPONENTS Interpreter)  # for the generators
if(NOT Python3_Interpreter_FOUND)
  message(FATAL_ERROR "Finegrain MPI needs Python 3, which writes sources: install python3 (apt, dnf) or python (Spack)")
endif()
find_package(Threads REQUIRED)
find_package(BZip2)
if(NOT BZip2_FOUND)
  message(FATAL_ERROR "Finegrain MPI needs libbz2: install libbz2-dev (apt), bzip2-devel (dnf) or bzip2 (Spack)")
endif()
fgmpi_dependency(BOOST_CONTEXT GIVES "switches between ranks" LIBRARY boost_context HEADER boost/context/detail/fcontext.hpp
                 APT libboost-context-dev DNF boost-devel SPACK "boost +context")
fgmpi_dependency(HWLOC OPTIONAL GIVES "all objects of the machine by their names, also in MPI_Comm_split_type" LIBRARY hwloc HEADER hwloc.h
                 APT libhwloc-dev DNF hwloc-devel SPACK hwloc)
fgmpi_dependency(BUDDY OPTIONAL GIVES "groups stored as decision diagrams (bdd)" LIBRARY bdd HEADER bdd.h
                 APT libbdd-dev DNF buddy-devel SPACK "buddy (from source)")
fgmpi_dependency(ROARING OPTIONAL GIVES "groups stored as Roaring bitmaps (roaring)" LIBRARY roaring HEADER roaring/roaring.h
                 APT libroaring-dev DNF roaring-devel SPACK "CRoaring (from source)")
# Only the headers of libraries that processes load at run time, when they need them.
fgmpi_dependency(LIBFABRIC OPTIONAL GIVES "the transport ofi: jobs on several hosts" HEADER rdma/fabric.h
                 APT libfabric-dev DNF libfabric-devel SPACK libfabric)
fgmpi_dependency(SODIUM OPTIONAL GIVES "multicast between hosts (FGMPI_MULTICAST), whose datagrams it signs" HEADER sodium/crypto_shorthash.h
                 APT libsodium-dev DNF libsodium-devel SPACK libsodium)
fgmpi_dependency(PMIX OPTIONAL GIVES "start by PMIx (srun --mpi=pmix)" HEADER pmix.h
                 HINTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pmix2/include
                 APT libpmix-dev DNF pmix-devel SPACK pmix)
fgmpi_dependency(URING OPTIONAL GIVES "file accesses by the kernel's io_uring" LIBRARY uring HEADER liburing.h
                 APT liburing-dev DNF liburing-devel SPACK liburing)
fgmpi_dependency(LZ4 OPTIONAL GIVES "compressed recordings of mpiexec -record" LIBRARY lz4 HEADER lz4.h
                 APT liblz4-dev DNF lz4-devel SPACK lz4)
fgmpi_dependency(OTF2 OPTIONAL GIVES "fgmpi-track-dump, the reader of traces" LIBRARY open-trace-format2 open_trace_format2 otf2
                 HEADER otf2/otf2.h APT libopen-trace-format2-dev DNF otf2-devel SPACK otf2)

fgmpi_dependency(RAPIDJSON OPTIONAL GIVES "machines for mpiexec -predict" HEADER rapidjson/reader.h
                 APT rapidjson-dev DNF rapidjson-devel SPACK rapidjson)

# GCC's libbacktrace lies in the compiler's own folder, its header beside GCC's own ones: those of other compilers come first.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libbacktrace.a OUTPUT_VARIABLE libbacktrace
                OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT IS_ABSOLUTE "${libbacktrace}")
  message(FATAL_ERROR "libbacktrace.a, a part of GCC, is not there: lines of crashes and findings are found by it")
endif()
get_filename_component(gcc_folder "${libbacktrace}" DIRECTORY)
add_library(fgmpi_libbacktrace INTERFACE)
target_link_libraries(fgmpi_libbacktrace INTERFACE ${libbacktrace})
target_compile_options(fgmpi_libbacktrace INTERFACE "SHELL:-idirafter ${gcc_folder}/include")
