// The fast path, in line for the bindings: contiguous bytes between collocated proclets.
//
// Cost (instructions, x86-64, 8 bytes): see benchmarks/micro/README.md.
// Thread rule and invariants as in pt2pt.h.
#pragma once

#include "pt2pt/engine.h"
#include "pt2pt/sites.h"

namespace fgmpi::pt2pt {

/// Completes a send of contiguous bytes if a collocated receive is posted for it. Never switches.
inline bool send_to_posted(const void* data, uint64_t bytes, Peer to, const Envelope& envelope) {
  if (__builtin_expect(to.process != g_engine.me, 0)) return false;
  Endpoint* at = g_engine.at(to.local);
  RecvOp* op = take_posted(at, envelope);
  if (!op) return false;
  if (__builtin_expect(bytes <= op->capacity && op->data != nullptr, 1)) {
    op->outcome->source = envelope.source;
    op->outcome->tag = envelope.tag;
    op->outcome->bytes = bytes;
    copy_bytes(op->data, data, bytes);
  } else {
    fill(op, envelope, data, bytes);
  }
  complete_op(op);
  return true;
}

/// Receives contiguous bytes; may switch. The error, if any, is in the outcome.
inline void recv_bytes(void* data, uint64_t bytes, Endpoint* at, const Envelope& pattern, const char* call,
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
