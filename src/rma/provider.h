// Operations on memory of other hosts that the network's provider carries out (fi_read, fi_write,
// fi_atomic). They need no frame of ours and no layout that travels; with hardware that executes
// them, they need no help of the target.
//
// The processes of a window grant each other access where their transport can, unless
// FGMPI_RMA_NETWORK=messages. Where the peer's processor has to serve accesses, only long transfers
// are made by accesses, unless FGMPI_RMA_NETWORK=provider. A put or get is one access for each run
// of bytes that lies in a row at both sides; with many short runs, messages are faster.
//
// An accumulate is made by the provider if three conditions hold: the provider has its operation,
// executes it with the target's processor, and no other process reaches the target's memory
// (WindowPart::alone). Other accumulates are made by messages. Accumulates of the two kinds could
// pass each other, which MPI-4.0 section 12.7.2 forbids; so each kind waits for the other
// (in_turn()).
//
// Thread rule: one thread. Only in_turn() may switch.
#pragma once

#include "rma/fold.h"
#include "rma/message.h"
#include "rma/win.h"

namespace fgmpi::rma {

/// Lets the other processes of a window access this one's memory. Returns the key that they need,
/// or 0 where only messages reach it.
uint64_t grant_access();
void withdraw_access();
/// True where this process can access memory of `process`, if it is granted. REQUIRES: not this
/// process.
bool can_access(uint32_t process);

/// True where accesses move so many bytes in so many pieces faster than messages.
bool worth_accesses(int64_t bytes, int64_t pieces);
/// Begins a put (`op->origin` and its cursor) or get (`op->result`) of op->total bytes at `remote`
/// in the target's process, in the order of `target`'s elements. Owns `op` from now
/// on.
void launch_moves(Remote* op, uint64_t remote, const datatype::Type& target);

/// Finds the provider's operation for `bytes` bytes of elements. Returns false where it has none.
bool find_atomic(const Reach& reach, const Folding& folding, bool fetch, transport::Access* out);
/// Finds the provider's operation for a compare-and-swap. Returns false where it has none.
bool find_swap(const Reach& reach, const datatype::Type& type, transport::Access* out);
/// Begins an accumulate of op->total bytes in a row. `what`: from find_atomic() or find_swap(),
/// with its addresses set. Owns `op` from now on.
void launch_atomic(Remote* op, const transport::Access& what);

/// Waits until no accumulate of this member at `rank` is under way by the other of the two kinds
/// (messages, provider). May switch.
void in_turn(Win* win, int32_t rank, bool by_provider, const char* call);

}  // namespace fgmpi::rma
