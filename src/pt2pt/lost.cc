// The end of operations that need a lost process.

#include "pt2pt/lost.h"

#include <mpi.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/strings.h"
#include "pt2pt/deadlock.h"
#include "pt2pt/requests.h"

namespace fgmpi::pt2pt {
namespace {

ReceiveJudge g_judge = nullptr;
std::vector<uint32_t> g_lost;

void fail(RecvOp* op, uint32_t process) {
  record_first_error(op, process_failed(process));
  complete_op(op);
}

void end_sends(uint32_t process) {
  g_engine.fail_sends([&](const SendOp* op) { return op->process == process; },
                      [&] { return process_failed(process); });
}

void end_pulls(uint32_t process) {
  g_engine.pulls.fail([&](uint32_t from, const RecvOp&) { return from == process; },
                      [&] { return process_failed(process); });
}

/// Ends a message of several frames whose last frame will not arrive.
void end_arriving(uint32_t process) {
  const Arriving* a = g_engine.peers.arriving(process);
  if (!a) return;
  const Arriving ended = *a;
  g_engine.remove_arriving(process);
  if (ended.op) fail(ended.op, process);
  if (!ended.kept) return;
  if (ended.op || !ended.kept->queued) return drop_unexpected(ended.kept);
  g_engine.endpoints.for_each([&](Endpoint* at, uint32_t) {
    for (Arrived* u = at->unexpected.front(); u; u = u->next) {
      if (u != ended.kept) continue;
      remove_unexpected(at, ended.kept);
      drop_unexpected(ended.kept);
      return;
    }
  });
}

/// Drops messages whose bytes are still in the memory of the lost process.
void drop_rendezvous(uint32_t process) {
  g_engine.endpoints.for_each([&](Endpoint* at, uint32_t) {
    for (Arrived *a = at->unexpected.front(), *next; a; a = next) {
      next = a->next;
      auto* u = static_cast<UnexpectedMessage*>(a);
      if (u->process != process || u->kind != UnexpectedMessage::kRendezvous) continue;
      remove_unexpected(at, u);
      drop_unexpected(u);
    }
  });
}

/// Ends a posted receive with the judge's error. A request that may still be matched is
/// only stalled.
void end_receive(Endpoint* at, RecvOp* op, Status status) {
  const bool pending = status.error_class() == MPIX_ERR_PROC_FAILED_PENDING;
  if (pending && op->finish == RecvRequest::arrived)
    return static_cast<RecvRequest*>(op->owner)->stall(std::move(status));
  if (pending && op->finish == RecvRequest::arrived_stalled) return;
  at->posted.remove(op);
  op->queued = false;
  record_first_error(op, pending ? Status(MPIX_ERR_PROC_FAILED, status.what()) : std::move(status));
  complete_op(op);
}

void examine(Endpoint* at, uint32_t local) {
  std::vector<RecvOp*> posted;
  for (PostedReceive* p = at->posted.front(); p; p = p->next)
    posted.push_back(static_cast<RecvOp*>(p));
  for (RecvOp* op : posted) {
    Status status = g_judge(op->envelope, local);
    if (!status.ok()) end_receive(at, op, std::move(status));
  }
  for (Prober** link = &at->probers; Prober* prober = *link;) {
    Status status = g_judge(prober->pattern, local);
    if (status.ok()) {
      link = &prober->next;
      continue;
    }
    *link = prober->next;
    prober->found = true;
    prober->error = std::move(status);
    prober->waiter->count_down();
  }
}

}  // namespace

const std::vector<uint32_t>& lost_processes() { return g_lost; }

bool is_lost(uint32_t process) {
  return process < g_engine.processes() && g_engine.peers.is_lost(process);
}

Status process_failed(uint32_t process) {
  const uint32_t first = g_av.first(process), count = g_av.count(process);
  return count == 1 ? error(MPIX_ERR_PROC_FAILED,
                            "process %u of the job (world rank %u) has failed", process, first)
                    : error(MPIX_ERR_PROC_FAILED,
                            "process %u of the job (world ranks %u to %u) has failed", process,
                            first, first + count - 1);
}

void lose_process(uint32_t process) {
  if (is_lost(process)) return;
  Engine& e = g_engine;
  g_lost.push_back(process);
  DeferredFrame* waiting = e.peers.mark_lost(process);
  while (waiting) {
    DeferredFrame* next = waiting->next;
    e.drop_frame(process, waiting);
    waiting = next;
  }
  end_sends(process);
  end_pulls(process);
  end_arriving(process);
  drop_rendezvous(process);
  detection_learns_of_loss();
}

void set_receive_judge(ReceiveJudge judge) { g_judge = judge; }

void examine_receives() {
  g_engine.endpoints.for_each([](Endpoint* at, uint32_t local) { examine(at, local); });
}

void examine_receives(uint32_t local) { examine(g_engine.at(local), local); }

void resume_receives(uint32_t local) {
  for (PostedReceive* p = g_engine.at(local)->posted.front(); p; p = p->next) {
    auto* op = static_cast<RecvOp*>(p);
    if (op->finish == RecvRequest::arrived_stalled) static_cast<RecvRequest*>(op->owner)->go_on();
  }
}

void end_operations(uint64_t id, uint64_t mask, const Status& status) {
  Engine& e = g_engine;
  const auto meant = [&](const Envelope& envelope) { return (envelope.ctx & mask) == id; };
  std::unordered_set<const SendOp*> deferred;
  e.peers.for_each_deferred([&](const DeferredFrame* frame) {
    if (frame->op) deferred.insert(frame->op);
  });
  const auto copy = [&] { return Status(status.error_class(), status.what()); };
  e.fail_sends([&](const SendOp* op) { return meant(op->envelope) && !deferred.count(op); }, copy);
  e.pulls.fail([&](uint32_t, const RecvOp& op) { return meant(op.envelope); }, copy);
  std::vector<SendOp*> collocated;
  g_engine.endpoints.for_each([&](Endpoint* at, uint32_t) {
    for (Arrived *a = at->unexpected.front(), *next; a; a = next) {
      next = a->next;
      auto* u = static_cast<UnexpectedMessage*>(a);
      if (!meant(u->envelope) || u->kind != UnexpectedMessage::kLocal) continue;
      remove_unexpected(at, u);
      collocated.push_back(static_cast<SendOp*>(u));
    }
  });
  for (SendOp* op : collocated) {
    op->error = copy();
    complete_op(op);
  }
}

Status refusal(const Envelope& pattern, uint32_t local) {
  Status status = g_judge(pattern, local);
  if (status.ok() || status.error_class() == MPIX_ERR_REVOKED) return status;
  Endpoint* at = g_engine.at(local);
  if (!at->unexpected.empty() && at->unexpected.find(pattern)) return {};
  return status.error_class() == MPIX_ERR_PROC_FAILED ? std::move(status)
                                                      : Status(MPIX_ERR_PROC_FAILED, status.what());
}

void RecvRequest::stall(Status pending) {
  if (freed || complete_) return;
  outcome.error = std::move(pending);
  polled = true;
  op.finish = arrived_stalled;
  set_complete();
}

/// Called when the message of a stalled receive has arrived before the program received the error
/// that it might not arrive: the error is dropped.
void RecvRequest::arrived_stalled(RecvOp* op) {
  auto* request = static_cast<RecvRequest*>(op->owner);
  if (request->outcome.error.error_class() == MPIX_ERR_PROC_FAILED_PENDING)
    request->outcome.error = Status();
  op->finish = arrived;
  request->polled = false;
}

void RecvRequest::progress() {
  if (complete_ || !op.queued) return;
  Status status = g_judge(op.envelope, g_engine.endpoints.find_local(at));
  if (status.ok())
    polled = false;
  else
    end_receive(at, &op, std::move(status));
}

void RecvRequest::go_on() {
  op.finish = arrived;
  outcome.error = Status();
  complete_ = false;
}

bool go_on_if_stalled(Request* request) {
  if (request->outcome.error.error_class() != MPIX_ERR_PROC_FAILED_PENDING) return false;
  static_cast<RecvRequest*>(request)->go_on();
  return true;
}

}  // namespace fgmpi::pt2pt
