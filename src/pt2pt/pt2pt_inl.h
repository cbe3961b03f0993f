// The fast path, in line for the bindings: contiguous bytes, and short data with gaps, between
// collocated proclets.
//
// Cost in instructions: benchmarks/micro/pt2pt_instructions.sh.
// Thread rule and invariants as in pt2pt.h.
#pragma once

#include "base/slab.h"
#include "proclet-sched/coroutine/switch_inl.h"
#include "pt2pt/engine.h"
#include "pt2pt/requests.h"
#include "pt2pt/sites.h"

namespace fgmpi::pt2pt {

/// Messages of at most this many bytes are copied without a call.
inline constexpr uint64_t kTiny = 16;

/// REQUIRES: n <= kTiny.
[[gnu::always_inline]] inline void copy_tiny(char* to, const char* from, uint64_t n) {
  if (__builtin_expect(n >= 8, 1)) {
    uint64_t first, last;
    memcpy(&first, from, 8);
    memcpy(&last, from + n - 8, 8);
    memcpy(to, &first, 8);
    memcpy(to + n - 8, &last, 8);
  } else if (n >= 4) {
    uint32_t first, last;
    memcpy(&first, from, 4);
    memcpy(&last, from + n - 4, 4);
    memcpy(to, &first, 4);
    memcpy(to + n - 4, &last, 4);
  } else if (n > 0) {
    char first = from[0], middle = from[n / 2], last = from[n - 1];
    to[0] = first;
    to[n / 2] = middle;
    to[n - 1] = last;
  }
}

/// The tier "direct" of sends (send.cc), the commonest: a few bytes to a collocated proclet whose
/// eldest posted receive matches. Completes the receive but for waking its proclet, and
/// returns it; nullptr: nothing was done, and the message is for the next tier. REQUIRES: bytes <=
/// kTiny. Never switches.
[[gnu::always_inline]] inline RecvOp* send_bytes_direct(const void* data, uint64_t bytes,
                                                        uint32_t local, const Envelope& envelope) {
  Endpoint* at = g_engine.endpoints.of_proclet(local);
  auto* op = static_cast<RecvOp*>(at->posted.first());
  if (!op || op->envelope.ctx != envelope.ctx) return nullptr;
  // One comparison of both would take more instructions and registers. Wildcards are loaded once
  // more, so that the common comparisons need no register for what they compare with.
  if (__builtin_expect(op->envelope.source != envelope.source, 0) &&
      __atomic_load_n(&op->envelope.source, __ATOMIC_RELAXED) != MPI_ANY_SOURCE)
    return nullptr;
  if (__builtin_expect(op->envelope.tag != envelope.tag, 0) &&
      __atomic_load_n(&op->envelope.tag, __ATOMIC_RELAXED) != MPI_ANY_TAG)
    return nullptr;
  if (__builtin_expect(bytes >= op->direct, 0)) return nullptr;
  at->posted.pop_first();
  g_engine.counters.count_message(Counters::kLocal, bytes);
  Outcome* outcome = op->outcome;
  outcome->source = envelope.source;
  outcome->tag = envelope.tag;
  outcome->bytes = bytes;
  copy_tiny(op->data, static_cast<const char*>(data), bytes);
  op->set_done();
  return op;
}

/// Makes the proclet ready that a complete receive belongs to, where it needs no function's call.
/// Returns false, with nothing done, for every other receive. Never switches.
[[gnu::always_inline]] inline bool wake_receiver(RecvOp* op) {
  return __builtin_expect(op->proclet != nullptr, 1) && sched::ready_in_line(op->proclet);
}

/// The tier "at once" for short data with gaps.
[[gnu::always_inline]] inline bool send_short_at_once(const ShortData& data, Peer to,
                                                      const Envelope& envelope, SendMode mode) {
  if (__builtin_expect(to.process == g_engine.me(), 1)) {
    if (RecvOp* op = match_posted(g_engine.at(to.local), envelope)) {
      g_engine.counters.count_message(Counters::kLocal, data.bytes());
      fill_from_short(op, envelope, data);
      complete_op(op);
      return true;
    }
  }
  return send_short_unmatched(data, to, envelope, mode);
}

/// Makes a receive request for contiguous bytes, with a handle. Throws std::bad_alloc, with nothing
/// changed. Never switches. REQUIRES: has_free_handle().
[[gnu::always_inline]] inline Request* irecv_bytes(void* data, uint64_t bytes, Endpoint* at,
                                                   const Envelope& pattern, const char* call,
                                                   RefCount* comm_ref) {
  auto* request = new RecvRequest(data, bytes, at, pattern, call, comm_ref);
  try {
    fast::handle_of(request);
  } catch (...) {
    delete request;
    throw;
  }
  if (__builtin_expect(at->unexpected.empty(), 1)) {
    request->op.queued = true;
    at->posted.push(&request->op);
  } else {
    begin_recv(&request->op, at, request->op.envelope);
  }
  return request;
}

/// Parks until a receive is complete. Sets op->proclet. May switch. REQUIRES: !op->done.
[[gnu::always_inline]] inline void wait_for_recv(RecvOp* op, const char* call) {
  if (__builtin_expect(g_engine.processes() > 1, 0)) {
    op->proclet = nullptr;
    g_engine.spin(&op->done);
    if (op->done) return;
  }
  RecvSite site(call, op);
  op->proclet = sched::current();
  sched::park_in_line(&site);
}

/// Posts a receive where nothing waits for one, or begins it; parks until it is complete. May
/// switch. REQUIRES: what says what is received, and into which memory, is set; nothing else is.
[[gnu::always_inline]] inline void recv_by(RecvOp* op, Endpoint* at, const char* call) {
  op->finish = nullptr;
  if (__builtin_expect(at->unexpected.empty() && at->posted.empty(), 1)) {
    op->set_flags(true);
    at->posted.push_only(op);
  } else {
    op->set_flags(false);
    op->proclet = nullptr;
    begin_recv(op, at, op->envelope);
    if (op->done) return;
  }
  wait_for_recv(op, call);
}

/// Receives contiguous bytes. May switch. The error, if any, is in the outcome.
[[gnu::always_inline]] inline void recv_bytes(void* data, uint64_t bytes, Endpoint* at,
                                              const Envelope& pattern, const char* call,
                                              Outcome* outcome) {
  RecvOp op(RecvOp::kUnset);
  op.envelope = pattern;
  op.outcome = outcome;
  op.data = static_cast<char*>(data);
  op.capacity = bytes;
  op.direct = bytes + 1;  // read only by other proclets, and none runs before this one parks
  recv_by(&op, at, call);
}

/// As recv_bytes(), for a buffer of `bytes` bytes. REQUIRES: its type is not contiguous.
[[gnu::always_inline]] inline void recv_layout(const Buffer& buffer, uint64_t bytes, Endpoint* at,
                                               const Envelope& pattern, const char* call,
                                               Outcome* outcome) {
  RecvOp op(RecvOp::kUnset);
  op.envelope = pattern;
  op.outcome = outcome;
  op.buffer = &buffer;
  op.data = nullptr;
  op.capacity = bytes;
  op.direct = 0;
  recv_by(&op, at, call);
}

}  // namespace fgmpi::pt2pt
