// Folding: an operation applied to elements of a target, atomically for each element with respect
// to other folds (MPI-4.0 section 12.7.1: atomic element by element, for one predefined type).
//
// All folds at one target follow one discipline, whoever executes them: a rank of the same process,
// a peer of the host in the mapping, or the target's process for a message.
//   - Elements of 1, 2, 4 and 8 bytes at their natural alignment: processor atomics (sums, bitwise
//     operations, exchange) or compare-and-swap; in a row, 16 bytes by one of these. MPI_REPLACE
//     and MPI_NO_OP use plain stores and loads.
//   - All other elements: under the stripe of the target's control area that the element's address
//     chooses.
//   - Pairs with a gap (MPI_SHORT_INT and its like): as above, but value and index are accessed
//     separately, since other bytes may lie in the gap. Operands and results have no gaps: they
//     travel as MPI packs them.
//   - The user's own memory, which peers reach by process_vm_*: under the one lock of the control
//     area, for a whole piece.
//   - Memory that no other process reaches: no lock, as ranks of a process do not interrupt each
//     other. Under an exclusive lock of the target: no lock either, as it excludes all others.
//
// Thread rule: several processes at once on the target's memory. Nothing here switches.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/status.h"
#include "datatype/datatype.h"
#include "datatype/reducer.h"
#include "rma/control.h"
#include "rma/layout.h"

namespace fgmpi::rma {

/// The most bytes that are transferred at once under Control::all(). A waiter may have to wait for
/// one such transfer of each rank before it.
inline constexpr int64_t kMostUnderLock = 64 << 10;

/// An operation on elements of one predefined type.
///
///   a pair at the target:     | value |  gap  | index |  gap  |
///                             0      head  index_at         stride
///
///   as operand or result:     | value | index |
///                             0     head     size
struct Folding {
  MPI_Op op = MPI_REPLACE;
  datatype::Type type;                 ///< predefined
  datatype::Reducer reduce = nullptr;  ///< nullptr: MPI_REPLACE or MPI_NO_OP
  int64_t size = 1;                    ///< bytes of data of an element
  int64_t stride = 1;                  ///< bytes from an element to the next in a row at the target
  int64_t head = 1;      ///< bytes of a pair's value, where the pair has a gap; else of the element
  int64_t index_at = 0;  ///< offset of a pair's index, where the pair has a gap
  bool has_gap() const { return size != stride; }
  int64_t index_bytes() const { return size - head; }
  /// Bytes from the first to the last byte of elements in a row at the target, which hold `bytes`
  /// bytes of data.
  int64_t span(int64_t bytes) const {
    return has_gap() ? (bytes / size - 1) * stride + index_at + index_bytes() : bytes;
  }
};
/// Checks the operation, but not the type. Errors: MPI_ERR_OP when `op` is no predefined operation.
/// `fetching`: MPI_NO_OP is allowed.
Status check_operation_of_accumulate(MPI_Op op, bool fetching);
/// Errors: those of check_operation_of_accumulate(); MPI_ERR_OP when `op` is not defined on the
/// type; MPI_ERR_TYPE when the type is null.
Status make_folding(MPI_Op op, MPI_Datatype element, bool fetching, Folding* out);

/// The next elements in a row at the target, at most `most` bytes of data: the offset of the first,
/// and their bytes of data without gaps. Returns false where `at` is not at elements of the type.
/// REQUIRES: `at` has bytes left, and `most` is a multiple of the element's size.
bool next_elements(const Folding& folding, TypeCursor* at, int64_t most, TypeRun* out);

/// Computes target[i] = target[i] op source[i] for elements in a row with `bytes` bytes of data.
/// `old` receives the elements from before; it may be nullptr. `source` may be nullptr for
/// MPI_NO_OP. `address`: the target's address as its owner numbers it, which chooses the stripe.
/// `one_lock`: no other access changes the memory meanwhile, because the caller holds
/// Control::all(), or no other process reaches the memory (WindowPart::alone).
void fold(const Folding& folding, void* target, const void* source, void* old, int64_t bytes,
          Control* control, uint64_t address, bool one_lock);
/// Computes as fold() does, in a private copy of the target's elements, which includes the gaps.
void fold_alone(const Folding& folding, void* target, const void* source, int64_t bytes);

/// Sets *target to *desired if it equals *expected; *old receives the value from before. `bytes`:
/// 1, 2, 4 or 8.
void swap_if_equal(void* target, const void* expected, const void* desired, void* old,
                   int64_t bytes, Control* control, uint64_t address, bool one_lock);
/// Errors: MPI_ERR_TYPE for types on which MPI_Compare_and_swap is not defined (section 12.3.4).
Status check_swappable(const datatype::Type& type);

}  // namespace fgmpi::rma
