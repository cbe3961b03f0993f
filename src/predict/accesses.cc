// Accesses to windows and to files: what a rank does to memory and storage that others have.
//
// The library moves the data of an operation on a window at once, in the order of virtual time, and
// the operation's messages take their time behind it:
//
//   put, accumulate      data to the target, an acknowledgement back
//   get, fetching ones   a request to the target, data back
//
// Nobody at the target is needed. A rank waits for its operations in the calls that complete them.
// Locks are granted at their target in the order in which requests reach it.

#include <algorithm>
#include <utility>

#include "predict/simulator.h"
#include "proclet-sched/coroutine/queue.h"

namespace fgmpi::predict {

namespace {

constexpr sched::WaitSite kAccessSite{"an access to a window or a file", nullptr, true};

}  // namespace

// ---- Windows ------------------------------------------------------------------------------------

PredictedTransfer* Simulator::new_access(uint32_t from, uint32_t to, AccessStage stage) {
  PredictedTransfer* const t = new_transfer();
  set_ends(t, from, to);
  t->stage = stage;
  return t;
}

void Simulator::await_access(const rma::MemoryAccess& access, const sched::WaitSite* site) {
  const uint32_t index = running_index();
  settle(index, site);
  if (access.use == rma::MemoryAccess::kLock) return await_lock(access, site);
  PredictedRank& rank = ranks_[index];
  const auto bytes = static_cast<uint64_t>(access.moved);
  PredictedTransfer* const t = new_access(index, access.local, AccessStage::kRequest);
  const bool reads = access.use == rma::MemoryAccess::kRead;
  t->bytes = reads ? 0 : bytes;
  t->reply = reads || access.fetches ? bytes : 0;
  t->returns = reads || access.fetches;
  const VirtualTime overhead = link_of(*t).piece(t->bytes).send_overhead;
  rank.clock += overhead;
  rank.times.overhead += overhead;
  ++rank.accesses;
  ++transfers_made_;
  push_event(rank.clock, NextEvent::kSend, t);
}

/// The bytes of an access have reached the target, or those of its result the origin.
void Simulator::access_arrived(PredictedTransfer* t) {
  if (t->stage == AccessStage::kReply) return end_access(t, t->to);
  if (!t->returns) {
    t->stage = AccessStage::kReply;
    push_event(now_ + latency_of(*t, link_of(*t).piece(0)), NextEvent::kClear, t);
    return;
  }
  set_ends(t, t->to, t->from);
  t->stage = AccessStage::kReply;
  t->bytes = t->reply;
  push_event(now_, NextEvent::kSend, t);
}

void Simulator::end_access(PredictedTransfer* t, uint32_t index) {
  PredictedRank& rank = ranks_[index];
  free_transfer(t);
  --rank.accesses;
  raise_clock(&rank.rare().accessed, now_);
  touch(index);
}

/// What comes back without passing ports.
void Simulator::access_answered(PredictedTransfer* t) {
  switch (t->stage) {
    case AccessStage::kLock:
      return ask_lock(t);
    case AccessStage::kGranted:
      wake(t->from, now_);
      return free_transfer(t);
    case AccessStage::kUnlock:
      return end_lock(t);
    default:
      return end_access(t, t->from);
  }
}

void Simulator::await_accesses() {
  if (!comm::rank_state()) return;
  const uint32_t index = running_index();
  while (ranks_[index].accesses > 0) await_touch(index, kNever, &kAccessSite);
  raise_clock(&ranks_[index].clock, ranks_[index].rare().accessed);
}

// ---- Locks and notices --------------------------------------------------------------------------

void Simulator::await_lock(const rma::MemoryAccess& access, const sched::WaitSite* site) {
  const uint32_t index = running_index();
  PredictedTransfer* const t = new_access(index, access.local, AccessStage::kLock);
  t->lock = &window_locks_[{access.window, access.target}];
  t->lock->local = access.local;
  t->exclusive = access.detail != 0;
  const LinkPiece& piece = link_of(*t).piece(0);
  ranks_[index].clock += piece.send_overhead;
  push_event(ranks_[index].clock + latency_of(*t, piece), NextEvent::kClear, t);
  park_until(index, kNever, site);
}

void Simulator::record_unlock(uint64_t window, int32_t target, bool exclusive) {
  const uint32_t index = running_index();
  WindowLock& lock = window_locks_[{window, target}];
  PredictedTransfer* const t = new_access(index, lock.local, AccessStage::kUnlock);
  t->lock = &lock;
  t->exclusive = exclusive;
  push_event(ranks_[index].clock + latency_of(*t, link_of(*t).piece(0)), NextEvent::kClear, t);
}

void Simulator::ask_lock(PredictedTransfer* t) {
  t->lock->waiting.push_back(t);
  grant_locks(t->lock);
}

void Simulator::end_lock(PredictedTransfer* t) {
  WindowLock* const lock = t->lock;
  if (lock->holders > 0) --lock->holders;
  if (lock->holders == 0) lock->exclusive = false;
  free_transfer(t);
  grant_locks(lock);
}

void Simulator::grant_locks(WindowLock* lock) {
  while (!lock->waiting.empty()) {
    PredictedTransfer* const t = lock->waiting.front();
    if (lock->exclusive || (t->exclusive && lock->holders > 0)) return;
    lock->waiting.pop_front();
    lock->exclusive = t->exclusive;
    ++lock->holders;
    t->stage = AccessStage::kGranted;
    push_event(now_ + latency_of(*t, link_of(*t).piece(0)), NextEvent::kClear, t);
  }
}

void Simulator::record_notice_sent(const rma::WindowNotice& notice) {
  const uint32_t index = running_index();
  const LinkPiece& piece = machine_.link(nodes_[index], nodes_[notice.local]).piece(0);
  PredictedTransfer way;
  set_ends(&way, index, notice.local);
  ranks_[index].clock += piece.send_overhead;
  notices_[{notice.window, notice.from, notice.to, notice.kind}] =
      ranks_[index].clock + latency_of(way, piece) + piece.receive_overhead;
}

void Simulator::record_notice_received(const rma::WindowNotice& notice) {
  const auto found = notices_.find({notice.window, notice.from, notice.to, notice.kind});
  if (found == notices_.end()) return;
  raise_clock(&running().clock, found->second);
  notices_.erase(found);
}

// ---- Files --------------------------------------------------------------------------------------

void Simulator::open_file() {
  if (comm::rank_state()) running().clock += machine_.files.open;
}

void Simulator::access_file(int64_t bytes, const MPI_Request* request) {
  if (!comm::rank_state()) return;
  const auto mark = [&] {
    times_of(static_cast<uint32_t>(*request)) = {kAwaitsAccesses, 0};
    has_file_requests_ = true;
  };
  if (bytes <= 0 || !machine_.files.moves()) {  // the real access takes time here, though
    if (request) mark();
    return;
  }
  const uint32_t index = running_index();
  PredictedTransfer* const t = new_access(index, index, AccessStage::kFile);
  t->bytes = static_cast<uint64_t>(bytes);
  ++ranks_[index].accesses;
  push_event(ranks_[index].clock, NextEvent::kSend, t);
  if (!request) return await_accesses();
  mark();
}

}  // namespace fgmpi::predict
