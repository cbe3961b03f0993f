# CPack reads this file when it makes packages. It sets what depends on the release of Debian that they are made on, and for: its
# name in their version, 0.1.0-1+deb12, and the names that it gives to the packages of other software.
include(${CMAKE_CURRENT_LIST_DIR}/release.cmake)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${FGMPI_PACKAGE_RELEASE})

# Sets the variable to the package that a file belongs to. CPack finds the packages of linked libraries by itself.
function(fgmpi_package_of variable file)
  execute_process(COMMAND dpkg-query -S "*/${file}" OUTPUT_VARIABLE found ERROR_QUIET)
  if(NOT found MATCHES "^([a-z0-9.+-]+)[:,]")
    message(FATAL_ERROR "no installed package has a file ${file}: run scripts/setup")
  endif()
  set(${variable} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()
# What is loaded or started by name. The package of the MPICH that is hosted is found by the name of its Fortran library.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS)
foreach(file bin/mpiexec.hydra libmpichfort.so.12 libfabric.so.1 "libsodium.so.2[36]")
  fgmpi_package_of(package ${file})
  string(APPEND CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "${package}, ")
endforeach()
string(REGEX REPLACE ", $" "" CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "${CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS}")
fgmpi_package_of(package libpmix.so.2)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "finegrain-mpi-doc, ${package}, gdb")
fgmpi_package_of(package libmpichfort.so)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "finegrain-mpi (= ${CPACK_PACKAGE_VERSION}-${FGMPI_PACKAGE_RELEASE}), ${package}")
