// The fast path, in line for the bindings: contiguous bytes between collocated proclets.
//
// Cost in instructions: benchmarks/micro/pt2pt_instructions.sh.
// Thread rule and invariants as in pt2pt.h.
#pragma once

#include "base/slab.h"
#include "pt2pt/engine.h"
#include "pt2pt/requests.h"
#include "pt2pt/sites.h"

namespace fgmpi::pt2pt {

/// Copies at most 16 bytes without a call.
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

/// The commonest send of all: a few bytes to a collocated proclet that is parked in its one
/// receive. No call, so that nothing need be saved; everything else is left to the general way.
/// Never switches.
[[gnu::always_inline]] inline bool send_to_parked(const void* data, uint64_t bytes, uint32_t local,
                                                  const Envelope& envelope) {
  Endpoint* at = g_engine.at(local);
  Posted* only = at->posted.only();
  if (!only || bytes > 16 || !covers(only->envelope, envelope)) return false;
  RecvOp* op = static_cast<RecvOp*>(only);
  if (__builtin_expect(bytes > op->capacity || !op->data || !op->proclet, 0)) return false;
  at->posted.take_only();
  op->outcome->source = envelope.source;
  op->outcome->tag = envelope.tag;
  op->outcome->bytes = bytes;
  copy_tiny(op->data, static_cast<const char*>(data), bytes);
  op->done = true;
  sched::ready(op->proclet);
  return true;
}

/// A receive request for contiguous bytes. Never switches.
inline Request* irecv_bytes(void* data, uint64_t bytes, Endpoint* at, const Envelope& pattern,
                            const char* call, Keep* keep) {
  auto* request = new RecvRequest(data, bytes, at, pattern, call, keep);
  start_recv(&request->op, at, pattern);
  return request;
}

/// find_request() without a call.
inline Request* find_request_inline(MPI_Request handle) {
  uint32_t h = static_cast<uint32_t>(handle);
  if (h == kSentHandle) return g_sent;
  if (__builtin_expect((h & ~kIndexMask) != kRequestBase, 0)) return nullptr;
  Request** slot = g_requests.get(h & kIndexMask);
  return __builtin_expect(slot && !(*slot)->freed, 1) ? *slot : nullptr;
}

/// Receives contiguous bytes; may switch. The error, if any, is in the outcome.
[[gnu::always_inline]] inline void recv_bytes(void* data, uint64_t bytes, Endpoint* at,
                                              const Envelope& pattern, const char* call,
                                              Outcome* outcome) {
  RecvOp op;
  op.buffer = nullptr;
  op.outcome = outcome;
  op.data = static_cast<char*>(data);
  op.capacity = bytes;
  start_recv(&op, at, pattern);
  wait_for(&op, call);
}

}  // namespace fgmpi::pt2pt
