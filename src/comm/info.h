// Info objects (MPI-4.0 chapter 10): keys and values behind MPI_Info handles, in the order in which
// keys were first set. Results and error classes are the hosted MPICH's
// (`test/mpi/host/forwarded.c` compares them).
//
// Thread rule: any thread at any granted level (MPI-4.0 section 11.4.1), also while another one is
// inside the library: one mutex protects all objects, and no other state of the library is touched.
// For that reason info objects are not hosted: the host's are made and found by one thread at a
// time only. Nothing here switches.
#pragma once

#include <mpi.h>

#include <string>

#include "base/status.h"
#include "comm/hints.h"

namespace fgmpi::comm {

/// The key whose value lists the kinds of memory that buffers of an object may have (MPI-4.1
/// section 11.4.3). Objects that are derived from MPI_Init have the value kMemoryKinds.
inline constexpr const char* kMemoryKindsKey = "mpi_memory_alloc_kinds";
inline constexpr const char* kMemoryKinds = "mpi,system";

/// Errors of all functions but create_info(): MPI_ERR_ARG for MPI_INFO_NULL, MPI_ERR_INFO for a
/// handle that is no info object's.
Status create_info(Hints entries, MPI_Info* info);
Status free_info(MPI_Info info);
/// All keys with their values.
Status entries_of_info(MPI_Info info, Hints* entries);
/// Accepts MPI_INFO_NULL or an info object. The error (MPI_ERR_INFO) names the argument.
Status check_info(MPI_Info info, const char* argument);
/// Adds a key or replaces its value.
Status set_in_info(MPI_Info info, const char* key, const char* value);
/// Errors: MPI_ERR_INFO_NOKEY.
Status delete_from_info(MPI_Info info, const char* key);
/// Sets *found to whether the key is set; without it *value is unchanged.
Status find_in_info(MPI_Info info, const char* key, std::string* value, bool* found);
Status count_info(MPI_Info info, int* keys);
/// Errors: MPI_ERR_ARG when there is no n-th key (counted from 0).
Status nth_key_of_info(MPI_Info info, int n, std::string* key);

/// The number of objects in use, for tests.
uint32_t info_count();

}  // namespace fgmpi::comm
