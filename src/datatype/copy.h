// Packing, unpacking and copying of elements of datatypes, in one pass.
//
// Data of a type is a sequence of bytes in the order of its type map. Packing makes it a row;
// unpacking lays a row out; copy() lays out, in one layout, what lies in another, without a row in
// between.
//
// Thread rule: one thread; nothing here switches. std::bad_alloc is thrown where there is no memory
// for the cursors that walk a tree of more than 16 levels, or two layouts that differ.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "datatype/datatype.h"

namespace fgmpi::datatype {

/// Packs `count` elements at `buffer` into `out` (count*size bytes).
void pack(const void* buffer, int64_t count, const Type& type, void* out);
/// Packs `bytes` bytes of the data of elements at `buffer`, from byte number `position` on.
void pack_part(const void* buffer, const Type& type, int64_t position, int64_t bytes, void* out);
/// As pack_part(), for elements that are described by a tree.
void pack_by_tree(const void* buffer, const TypeTree& tree, int64_t position, int64_t bytes,
                  void* out);
/// Unpacks `bytes` bytes (a whole message or a truncated one: not necessarily whole elements) into
/// `count` elements at `buffer`, at most as many as these have.
void unpack(const void* in, int64_t bytes, void* buffer, int64_t count, const Type& type);
/// Unpacks `count` whole elements.
void unpack_whole(const void* in, void* buffer, int64_t count, const Type& type);
/// Unpacks `bytes` bytes, which are byte number `position` and following of the data, into elements
/// at `buffer`.
void unpack_part(const void* in, int64_t bytes, void* buffer, const Type& type, int64_t position);
void unpack_by_tree(const void* in, int64_t bytes, void* buffer, const TypeTree& tree,
                    int64_t position);
/// Copies the first `bytes` bytes of the data of elements at `from` to byte number `position` and
/// following of the data of elements at `to`.
void copy_part(const void* from, const Type& from_type, void* to, const Type& to_type,
               int64_t position, int64_t bytes);
/// Copies elements of one layout into another, at most as many bytes as the receiver has. Errors:
/// MPI_ERR_TRUNCATE when the sender has more.
Status copy(const void* from, int64_t from_count, const Type& from_type, void* to, int64_t to_count,
            const Type& to_type);

/// Returns an error (MPI_ERR_TYPE) when a message of `bytes` bytes ends within a basic element of
/// the type.
Status check_end(int64_t bytes, const Type& type);

}  // namespace fgmpi::datatype
