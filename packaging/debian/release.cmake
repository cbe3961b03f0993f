# Sets FGMPI_CODENAME (bookworm) and FGMPI_PACKAGE_RELEASE (1+deb12) for the system that packages are made on. Debian's testing and
# unstable have no number, but a name.
cmake_host_system_information(RESULT FGMPI_SYSTEM QUERY DISTRIB_INFO)
set(FGMPI_CODENAME ${FGMPI_SYSTEM_VERSION_CODENAME})
set(release ${FGMPI_SYSTEM_VERSION_ID})
if(NOT release)
  set(release ${FGMPI_CODENAME})
endif()
string(REPLACE "debian" "deb" FGMPI_PACKAGE_RELEASE "1+${FGMPI_SYSTEM_ID}${release}")
