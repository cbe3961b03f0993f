// Sends that wait for their destination's address: that of a rank of a system-ranked communicator,
// at its first use.
//
//   <communicator, rank>  ->  send, send, send      in the order in which they were called
//
// An i-call must return at once (MPI-4.0 section 3.7), so the send waits here, not the calling
// rank. While one send waits, later sends to the same rank wait, too. When the address is known,
// one step starts all of them (start_waiting_sends()), so no send overtakes another. A blocking
// send waits for its completion as always.
//
// Thread rule: one thread; nothing here switches. Invariant: an entry has at least one send, and
// its address has been asked for.

#include <algorithm>
#include <map>
#include <utility>

#include "pt2pt/moved_frames.h"
#include "pt2pt/requests.h"

namespace fgmpi::pt2pt {

namespace {

struct WaitingSend {
  SendOp* op;
  SendMode mode;
};

/// The context id without plane and round, and the rank.
using Destination = std::pair<uint64_t, int32_t>;

uint64_t communicator_of(uint64_t ctx) { return ctx & ~uint64_t{0xff}; }

/// The map is never destroyed: programs use MPI until they end.
std::map<Destination, std::vector<WaitingSend>>& g_waiting =
    *new std::map<Destination, std::vector<WaitingSend>>;
uint32_t g_count = 0;
AddressSource g_source = nullptr;

Destination destination_of(const SendOp& op) {
  return {communicator_of(op.envelope.ctx), static_cast<int32_t>(op.to.local)};
}

/// Where a send goes, now that its rank is known to live at `home`: only what moves with a rank
/// follows it.
Peer address_for(const SendOp& op, Peer home) {
  return is_of_moving_plane(op.envelope.ctx) ? g_av.as_destination(home) : home;
}

}  // namespace

void set_address_source(AddressSource source) { g_source = source; }
uint32_t sends_without_address() { return g_count; }

bool resolve_address(SendOp* op, SendMode mode) {
  const Destination destination = destination_of(*op);
  auto [it, first] = g_waiting.try_emplace(destination);
  // The send is entered before its address is asked for: the answer may come within the call.
  it->second.push_back({op, mode});
  ++g_count;
  Peer peer;
  if (!first || !g_source(op->envelope.ctx, destination.second, &peer)) return false;
  FGMPI_CHECK(stop_waiting_for_address(op));
  op->to = address_for(*op, peer);
  return true;
}

bool stop_waiting_for_address(SendOp* op) {
  auto it = g_waiting.find(destination_of(*op));
  if (it == g_waiting.end()) return false;
  auto waiting = std::find_if(it->second.begin(), it->second.end(),
                              [&](const WaitingSend& w) { return w.op == op; });
  if (waiting == it->second.end()) return false;
  it->second.erase(waiting);
  if (it->second.empty()) g_waiting.erase(it);
  --g_count;
  return true;
}

void start_waiting_sends(uint64_t ctx, int32_t rank, Peer peer) {
  auto it = g_waiting.find({communicator_of(ctx), rank});
  if (it == g_waiting.end()) return;
  std::vector<WaitingSend> sends = std::move(it->second);
  g_waiting.erase(it);
  g_count -= static_cast<uint32_t>(sends.size());
  for (const WaitingSend& send : sends) {
    send.op->to = address_for(*send.op, peer);
    if (send_buffer_at_once(*send.op->buffer, send.op->to, send.op->envelope, send.mode))
      complete_op(send.op);
    else
      begin_send(send.op, send.mode);
  }
}

std::vector<int32_t> awaited_ranks(uint64_t ctx, int32_t low, int32_t high) {
  std::vector<int32_t> ranks;
  const uint64_t communicator = communicator_of(ctx);
  for (auto it = g_waiting.lower_bound({communicator, low});
       it != g_waiting.end() && it->first < Destination{communicator, high}; ++it)
    ranks.push_back(it->first.second);
  return ranks;
}

}  // namespace fgmpi::pt2pt
