// Unexpected messages past the limit are taken in when nothing else can go on (buffer_limit.h).

#include "pt2pt/buffer_limit.h"

#include <cstdio>
#include <memory>
#include <new>
#include <vector>

#include "base/assert.h"
#include "base/settings.h"
#include "base/strings.h"
#include "datatype/copy.h"
#include "proclet-sched/coroutine/limits.h"

namespace fgmpi::pt2pt {
namespace {

/// A message that is pulled before its match.
struct EarlyPull {
  RecvOp op;  ///< the receive that pulls it, into the memory behind `kept`
  Outcome outcome;
  UnexpectedMessage* kept;
  RecvOp* taker = nullptr;  ///< the receive that has matched it meanwhile
};

bool is_past_limit(const UnexpectedMessage* u) {
  return u->answer == AnswerTime::kPastLimit &&
         (u->kind == UnexpectedMessage::kLocal || u->kind == UnexpectedMessage::kEager ||
          u->kind == UnexpectedMessage::kRendezvous || u->kind == UnexpectedMessage::kForwarded);
}

/// Calls f for each message that waits in this process.
template <class F>
void for_each_waiting(F f) {
  g_engine.endpoints.for_each([&](Endpoint* at, uint32_t) {
    for (Arrived* a = at->unexpected.front(); a; a = a->next) f(static_cast<UnexpectedMessage*>(a));
  });
}

/// Drops a message whose sender is lost (lost.h).
void forget(EarlyPull& in) {
  if (RecvOp* taker = in.taker) {
    record_first_error(taker, std::move(in.outcome.error));
    complete_op(taker);
  }
  g_engine.endpoints.for_each([&](Endpoint* at, uint32_t) {
    for (Arrived* a = at->unexpected.front(); a && in.kept->queued; a = a->next)
      if (a == in.kept) {
        remove_unexpected(at, in.kept);
        break;
      }
  });
  g_engine.uncount_unexpected(in.kept->size);
  drop_unexpected(in.kept);
}

void complete_early_pull(RecvOp* op) {
  const std::unique_ptr<EarlyPull> in(static_cast<EarlyPull*>(op->owner));
  if (in->outcome.error.error_class() == MPIX_ERR_PROC_FAILED) return forget(*in);
  if (!in->outcome.error.ok()) {
    std::fprintf(stderr, "fgmpi: a message of %llu bytes could not be taken in: %s\n",
                 static_cast<unsigned long long>(in->kept->size), in->outcome.error.what().c_str());
    end_process(1);
  }
  in->kept->kind = UnexpectedMessage::kPulled;
  if (in->taker) consume(in->kept, in->taker);
}

/// Makes the entry that stands for a rendezvous while it is pulled; nullptr: no memory.
UnexpectedMessage* entry_for(const UnexpectedMessage& request) {
  auto in = std::unique_ptr<EarlyPull>(new (std::nothrow) EarlyPull);
  UnexpectedMessage* u = in ? new_unexpected(request.envelope, request.size, true) : nullptr;
  if (!u) return nullptr;
  u->kind = UnexpectedMessage::kPulling;
  u->process = request.process;
  u->cookie = request.cookie;
  in->kept = u;
  in->op.outcome = &in->outcome;
  in->op.data = u->payload();
  in->op.capacity = u->size;
  in->op.buffer = nullptr;
  in->op.finish = complete_early_pull;
  in->op.owner = in.get();
  u->addr = reinterpret_cast<uintptr_t>(in.release());
  g_engine.count_unexpected(u->size);
  return u;
}

/// A rendezvous, and the entry that has replaced it.
struct Replaced {
  UnexpectedMessage *request, *entry;
};

/// What replaces the message in its queue; the message itself where it is not past the limit.
UnexpectedMessage* replacement(UnexpectedMessage* u, std::vector<SendOp*>* copied,
                               std::vector<Replaced>* requests) {
  if (!is_past_limit(u)) return u;
  if (u->kind == UnexpectedMessage::kEager || u->kind == UnexpectedMessage::kForwarded) {
    answer_send(u->process, u->cookie);
    u->answer = AnswerTime::kNone;
    return u;
  }
  if (u->kind == UnexpectedMessage::kLocal) {
    UnexpectedMessage* copy = copy_of(*static_cast<SendOp*>(u));
    if (copy) copied->push_back(static_cast<SendOp*>(u));
    return copy ? copy : u;
  }
  UnexpectedMessage* entry = entry_for(*u);
  if (entry) requests->push_back({u, entry});
  return entry ? entry : u;
}

/// Takes in the messages that wait at an endpoint. Their order is preserved: the queue is emptied
/// and filled again.
void pull_waiting(Endpoint* at) {
  std::vector<UnexpectedMessage*> all;
  while (Arrived* a = at->unexpected.front()) {
    remove_unexpected(at, static_cast<UnexpectedMessage*>(a));
    all.push_back(static_cast<UnexpectedMessage*>(a));
  }
  std::vector<SendOp*> copied;
  std::vector<Replaced> requests;
  for (UnexpectedMessage* u : all) {
    UnexpectedMessage* now = replacement(u, &copied, &requests);
    now->queued = true;
    at->unexpected.push(now);
  }
  for (SendOp* sender : copied) complete_op(sender);
  for (const Replaced& r : requests) {
    const Envelope from = r.request->envelope;
    const uint64_t addr = r.request->addr;
    drop_unexpected(r.request);
    auto* in = reinterpret_cast<EarlyPull*>(r.entry->addr);
    g_engine.pulls.begin(&in->op, from, r.entry->process, r.entry->cookie, addr, r.entry->size);
  }
}

}  // namespace

UnexpectedMessage* copy_of(const SendOp& sender) {
  UnexpectedMessage* u = new_unexpected(sender.envelope, sender.size, true);
  if (!u) return nullptr;
  const Buffer& b = *sender.buffer;
  if (b.type.contiguous()) {
    if (sender.size) copy_bytes(u->payload(), bytes_of(b), sender.size);
  } else {
    datatype::pack(b.address, b.count, b.type, u->payload());
  }
  u->kind = UnexpectedMessage::kEager;
  u->process = g_engine.me();
  g_engine.flow.add_local_copy(u->size);
  g_engine.count_unexpected(u->size);
  return u;
}

uint64_t count_past_limit() {
  if (settings::size(settings::kUnexpectedLimit) == 0) return 0;
  uint64_t messages = 0, bytes = 0;
  for_each_waiting([&](const UnexpectedMessage* u) {
    if (!is_past_limit(u)) return;
    ++messages;
    bytes += FlowControl::charge(u->size);
  });
  const int64_t left = sched::memory_left();
  return left >= 0 && bytes > static_cast<uint64_t>(left) / 2 ? 0 : messages;
}

void pull_past_limit() {
  g_engine.flow.multiply_limits(kFactor);
  g_engine.endpoints.for_each([](Endpoint* at, uint32_t) { pull_waiting(at); });
}

void report_limit_once() {
  static bool said = false;
  if (said) return;
  said = true;
  std::fprintf(stderr,
               "fgmpi: FGMPI_UNEXPECTED_LIMIT (%lld bytes) gives way: all ranks wait, some of them "
               "to send what "
               "no receive waits for yet; more of it is kept in memory\n",
               static_cast<long long>(settings::size(settings::kUnexpectedLimit)));
}

void match_while_pulled(UnexpectedMessage* u, RecvOp* op) {
  reinterpret_cast<EarlyPull*>(u->addr)->taker = op;
}

}  // namespace fgmpi::pt2pt
