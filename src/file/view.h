// Views (MPI-4.0 section 14.3): which bytes of a file a rank sees, and as what.
//
//   file:   | disp |  filetype  |  filetype  | ...
//                   xx..xx......  xx..xx......
//
// Position p of the data is a byte of the filetype's data, found by walking the type's tree
// (datatype/type_tree.h).
//
// Thread rule: one thread; nothing here switches. Invariant: a view does not change; operations
// under way share ownership of theirs.
#pragma once

#include <mpi.h>

#include <memory>

#include "datatype/type_tree.h"
#include "file/datarep.h"

namespace fgmpi::file {

struct View {
  int64_t disp = 0;
  int64_t etype_size = 1;      ///< in the file
  datatype::TypeTreePtr tree;  ///< the filetype's tree, as it lies in the file
  /// True where positions ascend with offsets. False where the filetype overlaps itself, which only
  /// files that are read may have, or the next filetype.
  bool ascends = true;
  datatype::Type etype, filetype;
  DatarepPtr datarep;

  /// True where the data is one run of bytes.
  bool contiguous() const { return tree->contiguous(); }
  /// The file's offset of a byte of the data.
  int64_t offset_of(int64_t position) const;
  /// Bytes of the data before the first that lies at or behind a file's offset.
  int64_t data_before(int64_t offset) const;
};
using ViewPtr = std::shared_ptr<const View>;

/// The view of a file before MPI_File_set_view: bytes from offset 0 on.
ViewPtr default_view();
/// `writable`: types that overlap themselves are refused too. A filetype without bytes is the view
/// of a rank that accesses nothing of the file. Errors: MPI_ERR_ARG, MPI_ERR_TYPE,
/// MPI_ERR_UNSUPPORTED_DATAREP; MPI_ERR_IO for displacements that are negative, descend or overlap
/// (MPI-4.0 section 14.3).
Status make_view(int64_t disp, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep,
                 bool writable, ViewPtr* out);
/// Makes handles of the types for the user, who frees them; a predefined type's is its own.
Status copy_types(const View& view, MPI_Datatype* etype, MPI_Datatype* filetype);

}  // namespace fgmpi::file
