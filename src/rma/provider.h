// Operations on memory of other hosts that the network's provider carries out (fi_read, fi_write,
// fi_atomic): no frame of ours, no layout that travels; with hardware that does them, no help of
// the target.
//
// The processes of a window grant each other access where their transport can, unless
// FGMPI_RMA_NETWORK=messages. Where the peer's processor serves accesses, they are for long
// transfers only, unless it says `provider`. A put or get is an access for each run of bytes that
// lies in a row at both sides; with many short ones, messages are faster. An accumulate goes this
// way if the provider has its operation, and executes it with the target's processor, for a target
// whose memory no other process reaches (Part::alone). Others are by messages; the two could pass
// each other, which accumulates must not (MPI-4.0 section 12.7.2), so one waits for the others
// (in_turn()).
//
// Thread rule: one thread. Only in_turn() may switch.
#pragma once

#include "rma/fold.h"
#include "rma/message.h"
#include "rma/win.h"

namespace fgmpi::rma {

/// Lets the other processes of a window access this one's memory; their key for that, or 0: by
/// messages only.
uint64_t grant_access();
void withdraw_access();
/// Can this process access memory there, if it is granted? REQUIRES: not this process.
bool can_access(uint32_t process);

/// Are so many bytes in so many pieces moved faster by accesses than by messages?
bool worth_accesses(int64_t bytes, int64_t pieces);
/// A put (`op->origin` and its cursor) or get (`op->result`), of op->total bytes at `remote` in the
/// target's process, in the order of `target_layout` (`count` elements). Takes `op`.
void launch_moves(Remote* op, uint64_t remote, const LayoutPtr& target_layout, int64_t count);

/// The provider's operation for `bytes` bytes of elements, or false: it has none.
bool find_atomic(const Reach& reach, const Folding& folding, bool fetch, transport::Access* out);
/// The same for a compare-and-swap.
bool find_swap(const Reach& reach, const host::Type& type, transport::Access* out);
/// An accumulate of op->total bytes in a row: `what` of find_atomic() or find_swap(), with its
/// addresses. Takes `op`.
void launch_atomic(Remote* op, const transport::Access& what);

/// Waits until no accumulate of this member at `rank` is under way by the other of the two ways.
/// May switch.
void in_turn(Win* win, int32_t rank, bool by_provider, const char* call);

}  // namespace fgmpi::rma
