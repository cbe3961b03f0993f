// Rendezvous at the receiver. See pulls.h.

#include "pt2pt/pulls.h"

#include <cstdlib>

#include "base/assert.h"
#include "base/copy.h"
#include "pt2pt/engine.h"
#include "pt2pt/lost.h"

namespace fgmpi::pt2pt {

using transport::Header;

/// Makes a pull of `n` bytes, and its number for frames. False, with nothing made, without memory.
bool Pulls::make(RecvOp* op, uint32_t process, uint64_t cookie, uint64_t n, Pull** out,
                 uint64_t* name) {
  char* staging = op->data ? nullptr : static_cast<char*>(malloc(n));
  if (!op->data && !staging) return false;
  Pull* pull = nullptr;
  try {
    pull = pool_.make(Pull{op, cookie, op->data ? op->data : staging, staging, n, n, process});
    *name = named_.put(pull);
  } catch (const std::bad_alloc&) {
    if (pull) pool_.drop(pull);
    free(staging);
    return false;
  }
  *out = pull;
  return true;
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
  transport::MemoryReader* reader = e.transports.reader(process);
  const transport::ReadResult result =
      reader ? reader->read(process, g_av.address(process), addr, pull->destination, n, name)
             : transport::ReadResult::kUnsupported;
  switch (result) {
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
  if (pull->staging) {
    unpack_into(op, pull->staging, pull->length);
    free(pull->staging);
  }
  pool_.drop(pull);
  complete_op(op);
}

void Pulls::fail_one(uint64_t name, Status status) {
  Pull* pull = named_.take(name);
  RecvOp* op = pull->op;
  free(pull->staging);
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
  copy_across(pull->destination + h.addr, payload, length);
  pull->missing -= length;
  if (pull->missing == 0) complete(h.cookie);
}

}  // namespace fgmpi::pt2pt
