// Data representations (MPI-4.0 section 14.5): native and internal are memory's own, external32 is
// big-endian with sizes of the standard, and programs register their own. A representation exists
// only for the rank that has registered it. Thread rule: one thread. Conversions run on the host
// stack, or call functions of the program, which must not switch.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "datatype/signature.h"
#include "datatype/type_tree.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::file {

struct Datarep {
  enum DatarepKind : uint8_t { kAsInMemory, kExternal32, kRegistered };
  std::string name;
  DatarepKind kind = kAsInMemory;
  MPI_Datarep_conversion_function_c* read = nullptr;
  MPI_Datarep_conversion_function_c* write = nullptr;
  MPI_Datarep_conversion_function* read_small = nullptr;  ///< registered without large counts
  MPI_Datarep_conversion_function* write_small = nullptr;
  MPI_Datarep_extent_function* extent = nullptr;
  void* state = nullptr;
  bool converts() const { return kind != kAsInMemory; }
};

/// A view shares ownership of its representation, which may outlive the rank that registered it.
using DatarepPtr = std::shared_ptr<const Datarep>;

/// Finds a representation of the standard or of the running rank; nullptr where there is none.
DatarepPtr find_datarep(const char* name);
/// Registers a representation for the running rank. Errors: MPI_ERR_DUP_DATAREP, MPI_ERR_ARG.
Status register_datarep(Datarep what);

/// What a datatype becomes in a file of some representation.
struct Placed {
  datatype::Signature signature;  ///< empty where the representation is memory's own
  datatype::PlacedSizes sizes;    ///< sizes in the file of the predefined types in it
  datatype::PlacedSizes memory;   ///< their sizes in memory
  int64_t items = 0;              ///< predefined types in an element
  int64_t bytes = 0;              ///< bytes of an element in the file
};
/// Fills *out for a type. Errors: MPI_ERR_TYPE; MPI_ERR_CONVERSION from the extent function.
Status place(const Datarep& datarep, const datatype::Type& type, Placed* out);
/// Makes the tree of the type as it lies in the file.
Status tree_in_file(const Datarep& datarep, const datatype::Type& type, datatype::TypeTreePtr* out);
/// Extent of a type in the file: MPI_File_get_type_extent.
Status file_extent(const Datarep& datarep, const datatype::Type& type, int64_t* bytes);

/// The whole items of the buffer's elements that a number of file bytes hold, and their bytes in
/// memory.
struct Whole {
  int64_t items = 0, memory = 0;
};
Whole whole_items(const Placed& placed, int64_t file_bytes);
/// Convert elements at `buffer` into file bytes, and file bytes into whole items of elements.
Status to_file(const Datarep& datarep, const Placed& placed, const pt2pt::Buffer& buffer,
               char* out);
Status from_file(const Datarep& datarep, const Placed& placed, const char* in, int64_t bytes,
                 const pt2pt::Buffer& buffer);

}  // namespace fgmpi::file
