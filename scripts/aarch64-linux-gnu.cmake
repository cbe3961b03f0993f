# Builds for 64-bit Arm on another machine, with Debian's packages g++-aarch64-linux-gnu and gfortran-aarch64-linux-gnu:
#   cmake --preset default -DCMAKE_TOOLCHAIN_FILE=scripts/aarch64-linux-gnu.cmake -DCMAKE_SYSROOT=/roots/arm64
# CMAKE_SYSROOT is a root with the packages that the library needs; scripts/test-system arm64 makes one. Programs are found on
# the machine that builds, libraries and headers in the root. The wrappers of the build compile across where FGMPI_CC,
# FGMPI_CXX, FGMPI_FC and FGMPI_SYSROOT say so.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
foreach(language C CXX Fortran)
  set(compiler_of_C gcc)
  set(compiler_of_CXX g++)
  set(compiler_of_Fortran gfortran)
  set(CMAKE_${language}_COMPILER aarch64-linux-gnu-${compiler_of_${language}})
endforeach()
if(NOT CMAKE_SYSROOT)
  message(FATAL_ERROR "scripts/aarch64-linux-gnu.cmake: give the root of the system for which to build by -DCMAKE_SYSROOT=FOLDER")
endif()
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CMAKE_SYSROOT)
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
