// Copies from the sender's layout into the receiver's, and the objects of unexpected messages.

#include <algorithm>

#include "base/buffer.h"
#include "base/copy.h"
#include "base/count_words.h"
#include "datatype/copy.h"
#include "pt2pt/buffer_limit.h"
#include "pt2pt/engine.h"
#include "pt2pt/message_decider.h"

namespace fgmpi::pt2pt {

void record_first_error(RecvOp* op, Status status) {
  if (status.ok()) return;
  // The error "a message may not arrive" does not concern the message that has arrived.
  const int before = op->outcome->error.error_class();
  if (before == MPI_SUCCESS || before == MPIX_ERR_PROC_FAILED_PENDING)
    op->outcome->error = std::move(status);
}

Status no_memory_for_message(uint64_t bytes) {
  return error(MPI_ERR_NO_MEM, "no memory to hold a message of %s on its way",
               count_words(bytes, "byte").c_str());
}

uint64_t truncated(RecvOp* op, uint64_t size) {
  op->outcome->bytes = op->capacity;
  record_first_error(
      op,
      error(MPI_ERR_TRUNCATE,
            "a message of %s from rank %d with tag %d does not fit into the receive buffer of %s",
            count_words(size, "byte").c_str(), op->outcome->source, op->outcome->tag,
            count_words(op->capacity, "byte").c_str()));
  return op->capacity;
}

namespace {

/// Copies `n` bytes into the layout of a receive by copy(). Layouts that are nested very deep, and
/// two different ones, need memory for the walk over them: without it the message is dropped, and
/// its receive has the error. The sender, if it is the caller, has done its part.
template <class Copy>
[[gnu::always_inline]] inline void copy_into_layout(RecvOp* op, uint64_t n, Copy copy) {
  try {
    copy();
  } catch (const std::bad_alloc&) {
    record_first_error(op, no_memory_for_message(n));
  }
}

}  // namespace

void fill(RecvOp* op, const Envelope& from, const void* bytes, uint64_t size) {
  uint64_t n = set_outcome(op, from, size);
  if (n == 0) return;
  if (op->data) {
    copy_bytes(op->data, bytes, n);
  } else if (n == op->capacity && !op->of_part) {
    copy_into_layout(op, n, [=] {
      datatype::unpack_whole(bytes, op->buffer->address, op->buffer->count, op->buffer->type);
    });
  } else {
    unpack_piece(op, 0, bytes, n);
    check_end(op, n);
  }
}

void fill_across(RecvOp* op, const Envelope& from, const void* bytes, uint64_t size) {
  if (!op->data) return fill(op, from, bytes, size);
  if (const uint64_t n = set_outcome(op, from, size)) copy_across(op->data, bytes, n);
}

namespace {

/// The byte of the buffer's data at which a message begins.
int64_t first_byte(const RecvOp* op) {
  return op->of_part ? static_cast<int64_t>(static_cast<const PartRecvOp*>(op)->first) : 0;
}

}  // namespace

void unpack_piece(RecvOp* op, uint64_t offset, const void* bytes, uint64_t n) {
  copy_into_layout(op, n, [=] {
    datatype::unpack_part(bytes, static_cast<int64_t>(n), op->buffer->address, op->buffer->type,
                          first_byte(op) + static_cast<int64_t>(offset));
  });
}

void check_end(RecvOp* op, uint64_t n) {
  if (op->of_part) return;  // the sender divides the data as it likes
  record_first_error(op, datatype::check_end(static_cast<int64_t>(n), op->buffer->type));
}

void fill_from(RecvOp* op, const Envelope& from, const Buffer& source) {
  if (source.type.contiguous())
    return fill(op, from, bytes_of(source), static_cast<uint64_t>(source.bytes()));
  const uint64_t n = set_outcome(op, from, static_cast<uint64_t>(source.bytes()));
  if (n == 0) return;
  const auto bytes = static_cast<int64_t>(n);
  copy_into_layout(op, n, [&] {
    if (op->data)
      datatype::pack_part(source.address, source.type, 0, bytes, op->data);
    else
      datatype::copy_part(source.address, source.type, op->buffer->address, op->buffer->type,
                          first_byte(op), bytes);
  });
  if (!op->data) check_end(op, n);
}

void fill_from_short(RecvOp* op, const Envelope& from, const ShortData& source) {
  const uint64_t size = source.bytes(), n = set_outcome(op, from, size);
  if (n == 0) return;
  if (__builtin_expect(n == size, 1)) {
    if (op->data) return pack_short(*source.type, source.address, source.count, op->data);
    if (op->buffer->type.derived() == source.type && !op->of_part)
      return copy_short(*source.type, source.address, op->buffer->address, source.count);
  }
  char row[datatype::kMostShortBytes];
  pack_short(*source.type, source.address, source.count, row);
  if (op->data) return copy_bytes(op->data, row, n);
  unpack_piece(op, 0, row, n);
  check_end(op, n);
}

UnexpectedMessage* new_unexpected(const Envelope& envelope, uint64_t size, bool with_payload) {
  size_t bytes = sizeof(UnexpectedMessage) + (with_payload ? size : 0);
  uint8_t size_class = BlockPool::class_of(bytes);
  UnexpectedMessage* u = static_cast<UnexpectedMessage*>(g_engine.blocks.take(bytes, size_class));
  if (__builtin_expect(!u, 0)) return nullptr;
  u->envelope = envelope;
  u->size = size;
  u->size_class = size_class;
  u->queued = false;
  u->answer = AnswerTime::kNone;
  return u;
}

void drop_unexpected(UnexpectedMessage* u) { g_engine.blocks.give(u, u->size_class); }

void push_unexpected(Endpoint* at, UnexpectedMessage* u) {
  u->queued = true;
  at->unexpected.push(u);
  Prober** link = &at->probers;
  while (Prober* prober = *link) {
    if (covers(prober->pattern, u->envelope)) {
      *link = prober->next;
      prober->found = true;
      prober->waiter->count_down();
    } else {
      link = &prober->next;
    }
  }
}

UnexpectedMessage* copy_under_way(const Envelope& envelope, const void* bytes, uint64_t size) {
  UnexpectedMessage* u = new_unexpected(envelope, size, true);
  if (!u) return nullptr;
  if (size) copy_bytes(u->payload(), bytes, size);
  u->kind = UnexpectedMessage::kEager;
  u->process = g_engine.me();
  g_engine.flow.add_local_copy(size);
  g_engine.count_unexpected(size);
  return u;
}

void fill_from_copy(UnexpectedMessage* u, RecvOp* op) {
  fill(op, u->envelope, u->payload(), u->size);
  g_engine.uncount_unexpected(u->size);
  g_engine.flow.remove_local_copy(u->size);
  drop_unexpected(u);
}

void consume(UnexpectedMessage* u, RecvOp* op) {
  Engine& e = g_engine;
  switch (u->kind) {
    case UnexpectedMessage::kEager:
      fill(op, u->envelope, u->payload(), u->size);
      e.uncount_unexpected(u->size);
      if (u->process == e.me()) {
        e.flow.remove_local_copy(u->size);
      } else {
        if (u->answer != AnswerTime::kNone) e.send_ack(u->process, u->cookie);
        e.return_credit(u->process, u->size);
      }
      drop_unexpected(u);
      return complete_op(op);
    case UnexpectedMessage::kPulled:
      fill(op, u->envelope, u->payload(), u->size);
      e.uncount_unexpected(u->size);
      drop_unexpected(u);
      return complete_op(op);
    case UnexpectedMessage::kPulling:
      return match_while_pulled(u, op);
    case UnexpectedMessage::kArriving:  // consumed when it is whole
      reinterpret_cast<Arriving*>(u->addr)->op = op;
      return;
    case UnexpectedMessage::kLocal: {
      SendOp* sender = static_cast<SendOp*>(u);
      fill_from(op, u->envelope, *sender->buffer);
      complete_op(sender);
      return complete_op(op);
    }
    case UnexpectedMessage::kRendezvous: {
      Envelope from = u->envelope;
      uint32_t process = u->process;
      uint64_t cookie = u->cookie, addr = u->addr, size = u->size;
      drop_unexpected(u);
      return e.pulls.begin(op, from, process, cookie, addr, size);
    }
    case UnexpectedMessage::kHeldBack:
      return g_message_decider->match_held_back(u, op);
    case UnexpectedMessage::kForwarded:
      return consume_forwarded(u, op);
  }
}

}  // namespace fgmpi::pt2pt
