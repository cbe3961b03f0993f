// Data representations (MPI-4.0 section 14.5): native and internal are memory's own, external32 is big-endian with sizes
// of the standard, and programs register their own.
// Thread rule: one thread. Conversions run on the host stack, or call functions of the program, which must not switch.
#pragma once

#include <mpi.h>

#include <string>

#include "base/status.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::file {

struct Datarep {
  enum Kind : uint8_t { kAsInMemory, kExternal32, kRegistered };
  std::string name;
  Kind kind = kAsInMemory;
  MPI_Datarep_conversion_function_c* read = nullptr;
  MPI_Datarep_conversion_function_c* write = nullptr;
  MPI_Datarep_conversion_function* read_small = nullptr;  ///< registered without large counts
  MPI_Datarep_conversion_function* write_small = nullptr;
  MPI_Datarep_extent_function* extent = nullptr;
  void* state = nullptr;
  bool converts() const { return kind != kAsInMemory; }
};

/// nullptr when there is none of this name.
const Datarep* find_datarep(const char* name);
/// Errors: MPI_ERR_DUP_DATAREP, MPI_ERR_ARG.
Status register_datarep(Datarep what);

/// Bytes that one element of the type takes in the file.
Status file_size(const Datarep& datarep, const host::Type& type, int64_t* bytes);
/// Extent of a type in the file: MPI_File_get_type_extent.
Status file_extent(const Datarep& datarep, const host::Type& type, int64_t* bytes);
/// Elements at `buffer` into file bytes, and `bytes` file bytes into elements (whole ones).
Status to_file(const Datarep& datarep, const pt2pt::Buffer& buffer, char* out, int64_t bytes);
Status from_file(const Datarep& datarep, const char* in, int64_t bytes,
                 const pt2pt::Buffer& buffer);

}  // namespace fgmpi::file
