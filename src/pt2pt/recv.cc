// Receives and probes.

#include "pt2pt/message_decider.h"
#include "pt2pt/moved_endpoints.h"
#include "pt2pt/polls.h"
#include "pt2pt/requests.h"
#include "pt2pt/sites.h"
#include "pt2pt/tool_waits.h"

namespace fgmpi::pt2pt {

// ---- Blocking -----------------------------------------------------------------------------------

Status recv(const Buffer& buffer, Endpoint* at, int32_t source, int32_t tag, uint64_t ctx,
            const char* call, Outcome* outcome) {
  RecvOp op;
  op.prepare(buffer, outcome);
  begin_recv(&op, at, {ctx, source, tag});
  wait_for(&op, call);
  return std::move(outcome->error);
}

// ---- Requests -----------------------------------------------------------------------------------

constinit Pool<RecvRequest> RecvRequest::pool;

RecvRequest::RecvRequest(const Buffer& b, Endpoint* endpoint, const Envelope& p, const char* name,
                         RefCount* k)
    : buffer(b), at(endpoint) {
  op.prepare(buffer, &outcome);
  prepare(p, name, k);
}

RecvRequest::~RecvRequest() {
  if (comm_ref) comm_ref->release();
}

Status RecvRequest::start() {
  complete_ = false;
  active = true;
  op.done = false;
  outcome.cancelled = false;
  outcome.error = Status();
  begin_recv(&op, at, op.envelope);
  return {};
}

void RecvRequest::cancel() {
  if (op.queued) {
    if (g_message_decider) g_message_decider->forget_receive(&op);
    at->posted.remove(&op);
    op.queued = false;
  } else if (!g_message_decider || !g_message_decider->withdraw_receive(&op)) {
    return;
  }
  outcome.source = MPI_ANY_SOURCE;
  outcome.tag = MPI_ANY_TAG;
  outcome.bytes = 0;
  outcome.cancelled = true;
  complete_op(&op);
}

Status irecv(const Buffer& buffer, Endpoint* at, int32_t source, int32_t tag, uint64_t ctx,
             const char* call, RefCount* comm_ref, Request** out) {
  auto* request = new RecvRequest(buffer, at, {ctx, source, tag}, call, comm_ref);
  *out = request;
  begin_recv(&request->op, at, request->op.envelope);
  return {};
}

Status recv_init(const Buffer& buffer, Endpoint* at, int32_t source, int32_t tag, uint64_t ctx,
                 const char* call, RefCount* comm_ref, Request** out) {
  auto* request = new RecvRequest(buffer, at, {ctx, source, tag}, call, comm_ref);
  request->persistent = true;
  request->active = false;
  *out = request;
  return {};
}

// ---- Probes -------------------------------------------------------------------------------------

namespace {

/// The oldest unexpected message that the pattern covers, or nullptr.
UnexpectedMessage* find_unexpected(Endpoint* at, const Envelope& pattern) {
  if (at->unexpected.empty()) return nullptr;
  return static_cast<UnexpectedMessage*>(at->unexpected.find(pattern));
}

/// Like find_unexpected(), but searches again after progress and after a yield: a program that
/// calls MPI_Iprobe in a loop depends on both. May switch.
UnexpectedMessage* find_with_progress(Endpoint* at, const Envelope& pattern, const char* call) {
  UnexpectedMessage* u = find_unexpected(at, pattern);
  if (u) return u;
  if (g_engine.processes() > 1 && g_engine.progress()) u = find_unexpected(at, pattern);
  if (u) return u;
  let_others_run_after_probe(at, pattern, call);
  // The messages of a rank that has moved follow it: it finds again what it has found before.
  while (!(u = find_unexpected(at, pattern)) && messages_follow(sched::current())) {
    g_engine.progress();
    sched::yield();
  }
  return u;
}

bool decided_by_others(const Envelope& pattern) {
  return __builtin_expect(g_message_decider != nullptr, 0) &&
         g_message_decider->decides(pattern.ctx);
}

/// Sets *found to the message that the decider lets the probe find. False: there is no decider.
bool seen_by_others(Endpoint* at, const Envelope& pattern, bool take, bool waits, const char* call,
                    UnexpectedMessage** found) {
  if (!decided_by_others(pattern)) return false;
  const auto local = g_engine.endpoints.find_local(at);
  *found = g_message_decider->probe(local, pattern, take, waits, call);
  return true;
}

/// Parks until a matching message has arrived. Returns the error when none can arrive any more.
Status wait_for_unexpected(Endpoint* at, const Envelope& pattern, const char* call,
                           UnexpectedMessage** found) {
  while (!(*found = find_unexpected(at, pattern))) {
    ProbeSite site(call, &pattern);
    Waiter waiter{sched::current(), 1};
    Prober prober{at->probers, pattern, &waiter, false};
    at->probers = &prober;
    sched::park(&site);
    FGMPI_TRY(std::move(prober.error));
  }
  return {};
}

void report(const UnexpectedMessage* u, Outcome* outcome) {
  outcome->source = u->envelope.source;
  outcome->tag = u->envelope.tag;
  outcome->bytes = u->size;
}

}  // namespace

bool iprobe(Endpoint* at, int32_t source, int32_t tag, uint64_t ctx, Outcome* outcome) {
  const Envelope pattern{ctx, source, tag};
  UnexpectedMessage* u;
  if (!seen_by_others(at, pattern, false, false, "MPI_Iprobe", &u))
    u = find_with_progress(at, pattern, "MPI_Iprobe");
  if (!u) return false;
  report(u, outcome);
  return true;
}

Status probe(Endpoint* at, int32_t source, int32_t tag, uint64_t ctx, const char* call,
             Outcome* outcome) {
  const Envelope pattern{ctx, source, tag};
  UnexpectedMessage* u;
  if (!seen_by_others(at, pattern, false, true, call, &u))
    FGMPI_TRY(wait_for_unexpected(at, pattern, call, &u));
  report(u, outcome);
  return {};
}

Status await_message(Endpoint* at, int32_t source, int32_t tag, uint64_t ctx, const char* call,
                     ToolBegins begins, void* argument, bool* interrupted) {
  const Envelope pattern{ctx, source, tag};
  *interrupted = false;
  while (!find_unexpected(at, pattern)) {
    ToolWait w(sched::current());
    *interrupted = !begins(&w, argument);
    if (*interrupted) return {};
    ProbeSite site(call, &pattern);
    Prober prober{at->probers, pattern, &w, false};
    at->probers = &prober;
    w.missing = 1;
    sched::park(&site);
    for (Prober** link = &at->probers; *link; link = &(*link)->next) {
      if (*link != &prober) continue;
      *link = prober.next;
      break;
    }
    FGMPI_TRY(std::move(prober.error));
    *interrupted = w.interrupted;
    if (*interrupted) return {};
  }
  return {};
}

bool improbe(Endpoint* at, int32_t source, int32_t tag, uint64_t ctx, Outcome* outcome,
             Message** message) {
  const Envelope pattern{ctx, source, tag};
  UnexpectedMessage* u;
  const bool decided = seen_by_others(at, pattern, true, false, "MPI_Improbe", &u);
  if (!decided) u = find_with_progress(at, pattern, "MPI_Improbe");
  if (!u) return false;
  report(u, outcome);
  if (!decided) remove_unexpected(at, u);
  *message = as_message(u);
  return true;
}

Status mprobe(Endpoint* at, int32_t source, int32_t tag, uint64_t ctx, const char* call,
              Outcome* outcome, Message** message) {
  const Envelope pattern{ctx, source, tag};
  UnexpectedMessage* u;
  const bool decided = seen_by_others(at, pattern, true, true, call, &u);
  if (!decided) FGMPI_TRY(wait_for_unexpected(at, pattern, call, &u));
  report(u, outcome);
  if (!decided) remove_unexpected(at, u);
  *message = as_message(u);
  return {};
}

Status imrecv(const Buffer& buffer, Message* message, const char* call, RefCount* comm_ref,
              Request** out) {
  UnexpectedMessage* u = as_unexpected(message);
  auto* request = new RecvRequest(buffer, nullptr, u->envelope, call, comm_ref);
  *out = request;
  consume(u, &request->op);
  return {};
}

Status mrecv(const Buffer& buffer, Message* message, const char* call, Outcome* outcome) {
  UnexpectedMessage* u = as_unexpected(message);
  RecvOp op;
  op.prepare(buffer, outcome);
  op.envelope = u->envelope;
  consume(u, &op);
  wait_for(&op, call);
  return std::move(outcome->error);
}

}  // namespace fgmpi::pt2pt
