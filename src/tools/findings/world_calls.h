// MPI_Init, MPI_Init_thread and MPI_Finalize of a library that is preloaded to watch MPI calls, and their profiling names.
// Fortran's bindings of the host call the latter: these calls are watched; others by these names are a tool's or the
// host's own.
//
// To be included once in such a library, at the end of a file, where these are visible without a qualifier:
//   g_next                                                        the functions of the libraries behind this one
//   int init(int*, char***), init_thread(int*, char***, int, int*), finalize(const void* place)
// Thread rule: any thread.
#pragma once

#include "tools/findings/interpose.h"
#include "tools/findings/places.h"

EXPORT int MPI_Init(int* argc, char*** argv) { return init(argc, argv); }
EXPORT int PMPI_Init(int* argc, char*** argv) {
  return fgmpi::findings::from_fortran(FROM) ? init(argc, argv) : g_next.MPI_Init(argc, argv);
}
EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return init_thread(argc, argv, required, provided);
}
EXPORT int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return fgmpi::findings::from_fortran(FROM)
             ? init_thread(argc, argv, required, provided)
             : g_next.MPI_Init_thread(argc, argv, required, provided);
}
EXPORT int MPI_Finalize() { return finalize(FROM); }
EXPORT int PMPI_Finalize() {
  return fgmpi::findings::from_fortran(FROM) ? finalize(FROM) : g_next.MPI_Finalize();
}
