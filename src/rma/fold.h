// Folding: an operation applied to elements of a target, each at once for everybody who does the same (MPI-4.0 section
// 12.7.1: atomic element by element, for one predefined type).
//
// One discipline a target, whoever executes: a rank of the same process, a peer of the host in the mapping, or the
// target's process for a message:
//   - elements of 1, 2, 4 and 8 bytes at their natural alignment: processor atomics (sums, bitwise operations, exchange)
//     or compare-and-swap; in a row, 16 bytes by one of these; of MPI_REPLACE and MPI_NO_OP plain stores and loads;
//   - all others: the stripe of the target's control area that the element's address chooses;
//   - memory of the user's that peers reach by process_vm_*: the one lock of the control area, for a whole piece;
//   - memory that no other process reaches: nothing, as ranks of a process do not interrupt each other; nor under an
//     exclusive lock of the target, which excludes all others.
// Thread rule: several processes at once on the target's memory. Nothing here switches.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "base/status.h"
#include "host/datatype.h"
#include "rma/control.h"

namespace fgmpi::rma {

/// The most bytes that are transferred under Control::all() at once: what a waiter may have to wait for of each of those
/// before it.
inline constexpr int64_t kMostUnderLock = 64 << 10;

/// An operation on elements of one predefined type.
struct Folding {
  MPI_Op op = MPI_REPLACE;
  host::Type type;      ///< predefined
  int64_t element = 1;  ///< bytes from one to the next, padding included
};
/// Errors: MPI_ERR_OP when it is not predefined, or not defined on the type. `fetching`: MPI_NO_OP is allowed.
Status make_folding(MPI_Op op, MPI_Datatype element, bool fetching, Folding* out);

/// target[i] = target[i] op source[i] for `bytes` bytes; `old`: where the elements from before go, or nullptr. `source` may
/// be nullptr for MPI_NO_OP. `address`: the target's as its owner numbers it, which chooses the stripe. `one_lock`: nobody
/// else changes the memory meanwhile: the caller holds Control::all(), or no other process reaches it (Part::alone).
void fold(const Folding& folding, void* target, const void* source, void* old, int64_t bytes,
          Control* control, uint64_t address, bool one_lock);
/// The same without regard to others: `target` is a copy.
void fold_alone(const Folding& folding, void* target, const void* source, int64_t bytes);

/// *target = *desired if it equals *expected; what was there goes to *old. `bytes`: 1, 2, 4 or 8.
void swap_if_equal(void* target, const void* expected, const void* desired, void* old,
                   int64_t bytes, Control* control, uint64_t address, bool one_lock);
/// Errors: MPI_ERR_TYPE for what MPI_Compare_and_swap is not defined on (section 12.3.4).
Status check_swappable(const host::Type& type);

}  // namespace fgmpi::rma
