// Rendezvous at the receiver. See pulls.h.

#include "pt2pt/pulls.h"

#include <algorithm>

#include "base/assert.h"
#include "base/copy.h"
#include "proclet-sched/coroutine/packing.h"
#include "pt2pt/engine.h"
#include "pt2pt/lost.h"

namespace fgmpi::pt2pt {

using transport::Header;

namespace {

/// Memory for a piece of a message, for the time of one call.
constexpr uint64_t kReadPiece = 128 << 10;
char* piece_memory() {
  static char* memory = new char[kReadPiece];
  return memory;
}

}  // namespace

/// Makes a pull of `n` bytes, and its number for frames. False, with nothing made, without memory.
bool Pulls::make(RecvOp* op, uint32_t process, uint64_t cookie, uint64_t n, Pull** out,
                 uint64_t* name) {
  Pull* pull = nullptr;
  try {
    pull = pool_.make(Pull{op, cookie, n, n, process});
    *name = named_.put(pull);
  } catch (const std::bad_alloc&) {
    if (pull) pool_.drop(pull);
    return false;
  }
  *out = pull;
  return true;
}

/// Reads the bytes at `addr` in the sender's memory; kUnsupported where data frames are to bring
/// them.
transport::ReadResult Pulls::read(const Pull& pull, uint64_t addr, uint64_t name) {
  transport::MemoryReader* reader = g_engine.transports.reader(pull.process);
  if (!reader || !addr) return transport::ReadResult::kUnsupported;
  const uint64_t peer = g_av.address(pull.process);
  if (pull.op->data) {
    sched::keep_unpacked(pull.op->data, pull.length);
    return reader->read(pull.process, peer, addr, pull.op->data, pull.length, name);
  }
  if (!reader->reads_at_once()) return transport::ReadResult::kUnsupported;
  // Equal pieces, since a transport may refuse to read few bytes.
  const uint64_t pieces = (pull.length + kReadPiece - 1) / kReadPiece;
  const uint64_t piece = (pull.length + pieces - 1) / pieces;
  for (uint64_t offset = 0; offset < pull.length; offset += piece) {
    const uint64_t n = std::min(piece, pull.length - offset);
    const transport::ReadResult result =
        reader->read(pull.process, peer, addr + offset, piece_memory(), n, name);
    if (result != transport::ReadResult::kDone) return result;
    unpack_piece(pull.op, offset, piece_memory(), n);
  }
  return transport::ReadResult::kDone;
}

void Pulls::begin(RecvOp* op, const Envelope& from, uint32_t process, uint64_t cookie,
                  uint64_t addr, uint64_t size) {
  Engine& e = g_engine;
  uint64_t n = set_outcome(op, from, size);
  if (n == 0) {
    e.send_ack(process, cookie);
    return complete_op(op);
  }
  Pull* pull;
  uint64_t name;
  if (!make(op, process, cookie, n, &pull, &name)) {
    record_first_error(op, no_memory_for_message(n));  // the message is dropped: the sender is done
    e.send_ack(process, cookie);
    return complete_op(op);
  }
  ++e.counters.reads;
  switch (read(*pull, addr, name)) {
    case transport::ReadResult::kDone:
      e.send_ack(process, cookie);
      return complete(name);
    case transport::ReadResult::kPending:
      pull->reading = true;
      return;
    case transport::ReadResult::kUnsupported:
    case transport::ReadResult::kFailed:
      break;
  }
  --e.counters.reads;
  if (is_lost(process)) return fail_one(name, process_failed(process));
  Header h = e.header_for(kClear, cookie);
  h.ctx = name;
  h.size = n;
  e.send_own_frame(process, h, nullptr, 0);
}

void Pulls::complete(uint64_t name) {
  Pull* pull = named_.take(name);
  RecvOp* op = pull->op;
  if (!op->data) check_end(op, pull->length);
  pool_.drop(pull);
  complete_op(op);
}

void Pulls::fail_one(uint64_t name, Status status) {
  Pull* pull = named_.take(name);
  RecvOp* op = pull->op;
  pool_.drop(pull);
  record_first_error(op, std::move(status));
  complete_op(op);
}

void Pulls::complete_read(uint64_t name, Status status) {
  Pull* pull = named_.get(name);
  FGMPI_CHECK(pull != nullptr);
  if (!status.ok())
    record_first_error(pull->op,
                       is_lost(pull->process) ? process_failed(pull->process) : std::move(status));
  g_engine.send_ack(pull->process, pull->sender_cookie);
  complete(name);
}

void Pulls::receive_data(const Header& h, const void* payload, size_t length) {
  Pull* pull = named_.get(h.cookie);
  if (!pull || pull->process != h.src_process || h.addr > pull->length ||
      length > pull->length - h.addr || length > pull->missing)
    return g_engine.count_bad_frame();
  if (pull->op->data)
    copy_across(pull->op->data + h.addr, payload, length);
  else
    unpack_piece(pull->op, h.addr, payload, length);
  pull->missing -= length;
  if (pull->missing == 0) complete(h.cookie);
}

}  // namespace fgmpi::pt2pt
