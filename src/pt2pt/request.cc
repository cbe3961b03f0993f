// Completion of requests, and their handles.

#include <new>
#include <utility>

#include "base/slab.h"
#include "pt2pt/engine.h"
#include "pt2pt/message_decider.h"
#include "pt2pt/polls.h"
#include "pt2pt/requests.h"
#include "pt2pt/sites.h"
#include "pt2pt/tool_waits.h"

namespace fgmpi::pt2pt {

void* Request::operator new(size_t bytes) { return ::operator new(bytes); }
void Request::operator delete(void* request, size_t bytes) {
  g_engine.blocks.count_freed(bytes);
#ifdef __cpp_sized_deallocation
  ::operator delete(request, bytes);
#else
  ::operator delete(request);  // clang before 19 has no other by default
#endif
}

// ---- Completion ---------------------------------------------------------------------------------

void Request::set_complete() {
  FGMPI_ASSERT(!complete_);
  complete_ = true;
  if (Waiter* w = waiter) {
    waiter = nullptr;
    w->count_down();
  } else if (__builtin_expect(freed, 0)) {
    drop_handle(this);
    delete this;
  }
}

namespace {

/// Polls requests that only progress() completes; true when one of them is still incomplete.
bool poll_some(Request* const* requests, size_t count) {
  bool polled = false;
  for (size_t i = 0; i < count; ++i) {
    Request* r = requests[i];
    if (!r || r->complete() || !r->polled) continue;
    r->progress();
    polled |= r->polled && !r->complete();
  }
  return polled;
}

/// Sets the waiter of every request that is active and incomplete, so that its completion counts
/// w->missing down; returns how many there are. `polled`: one of them completes by progress() only.
uint32_t attach_waiter(Request* const* requests, size_t count, Waiter* w, RequestsSite* site,
                       bool* polled) {
  uint32_t incomplete = 0;
  for (size_t i = 0; i < count; ++i) {
    Request* r = requests[i];
    if (!r || r->complete() || r->waiter == w || !r->active) continue;
    r->waiter = w;
    if (__builtin_expect(r->external, 0)) site->deadlocks = false;
    if (__builtin_expect(r->polled, 0)) *polled = true;
    ++incomplete;
  }
  return incomplete;
}

/// Undoes attach_waiter() for requests that are still incomplete, before the waiter goes out of
/// scope.
void detach_waiter(Request* const* requests, size_t count, const Waiter* w) {
  for (size_t i = 0; i < count; ++i)
    if (requests[i] && requests[i]->waiter == w) requests[i]->waiter = nullptr;
}

}  // namespace

void wait_all(Request* const* requests, size_t count, const char* call) {
  if (count == 1 && requests[0]) g_engine.spin(requests[0]->complete_flag());
  RequestsSite site(call, requests, count);
  Waiter w{sched::current(), 0};
  bool polled = false;
  w.missing = attach_waiter(requests, count, &w, &site, &polled);
  if (__builtin_expect(polled, 0)) {
    detach_waiter(requests, count, &w);
    while (poll_some(requests, count)) yield_before_retry(call);
    w.missing = attach_waiter(requests, count, &w, &site, &polled);
  }
  if (w.missing > 0) sched::park(&site);
}

void wait_any(Request* const* requests, size_t count, const char* call) {
  RequestsSite site(call, requests, count);
  for (;;) {
    bool polled = poll_some(requests, count);
    for (size_t i = 0; i < count; ++i)
      if (requests[i] && requests[i]->active && requests[i]->complete()) return;
    if (!polled) break;
    yield_before_retry(call);
  }
  Waiter w{sched::current(), 0};
  bool polled = false;
  if (attach_waiter(requests, count, &w, &site, &polled) == 0) return;
  w.missing = 1;
  sched::park(&site);
  detach_waiter(requests, count, &w);
}

namespace {
/// Are all of these requests, or is one of them, complete or inactive?
bool are_complete(Request* const* requests, size_t count, bool all) {
  bool any_active = false;
  for (size_t i = 0; i < count; ++i) {
    if (!requests[i] || !requests[i]->active) continue;
    if (requests[i]->complete() != all) return !all;
    any_active = true;
  }
  return all || !any_active;
}
}  // namespace

bool await_requests(Request* const* requests, size_t count, bool all, const char* call,
                    ToolBegins begins, void* argument) {
  if (count == 1 && requests[0]) g_engine.spin(requests[0]->complete_flag());
  RequestsSite site(call, requests, count);
  ToolWait w(sched::current());
  for (;;) {
    const bool polled = poll_some(requests, count);
    if (count > 0 && are_complete(requests, count, all)) return true;
    if (!begins(&w, argument)) return false;
    if (!polled) break;
    yield_before_retry(call);
  }
  bool polled = false;
  const uint32_t incomplete = attach_waiter(requests, count, &w, &site, &polled);
  w.missing = all && count > 0 ? incomplete : 1;
  sched::park(&site);
  detach_waiter(requests, count, &w);
  return !w.interrupted;
}

void interrupt(void* wait) {
  auto* w = static_cast<ToolWait*>(wait);
  w->interrupted = w->interrupted || w->missing > 0;
  if (std::exchange(w->missing, 0) > 0) sched::ready(w->proclet);
}

bool test(Request* request, const char* call) {
  if (__builtin_expect(decided_by_others(&request, 1), 0))
    return g_message_decider->complete(&request, 1, Wanted::kAll, false, call, nullptr);
  if (request->complete()) return true;
  if (request->polled) {
    request->progress();
    if (request->complete()) return true;
  }
  let_others_run_after_test(&request, 1, call);
  return request->complete();
}

void free_request(Request* request) {
  if (request->immortal) return;
  const bool finished = request->complete() || !request->active;
  // A generalized request keeps its handle until the user declares it complete.
  if (finished || !(request->external || request->polled)) drop_handle(request);
  if (finished) {
    delete request;
  } else {
    request->freed = true;
    request->waiter = nullptr;  // that of the rank's polls (polls.h)
  }
}

namespace {
class CompletedRequest final : public Request {
 public:
  CompletedRequest() { complete_ = true; }
  ~CompletedRequest() override {
    if (comm_ref) comm_ref->release();
  }
  Status start() override {
    active = true;
    return {};
  }
};
}  // namespace

Request* completed_request(int32_t source, int32_t tag, const char* call, RefCount* comm_ref) {
  auto* request = new CompletedRequest;
  request->outcome.source = source;
  request->outcome.tag = tag;
  request->call = call;
  request->comm_ref = comm_ref;
  if (comm_ref) comm_ref->retain();
  return request;
}

// ---- Handles ------------------------------------------------------------------------------------

Slab<Request*>& g_requests = *new Slab<Request*>;

namespace {
Slab<UnexpectedMessage*>& g_messages = *new Slab<UnexpectedMessage*>;
}

namespace {
/// Makes sure that a slab of handles has room for another object.
template <class T>
Status need_room(Slab<T>* slab, const char* kind) {
  if (__builtin_expect(slab->live() >= kIndexMask, 0))
    return error(MPI_ERR_NO_MEM, "all %u %s handles of this process are in use", kIndexMask, kind);
  try {
    slab->prepare();
  } catch (const std::bad_alloc&) {
    return error(MPI_ERR_NO_MEM, "no memory for another %s handle; %u are in use", kind,
                 slab->live());
  }
  return {};
}
}  // namespace

uint32_t fast::g_handles_before_turn = sched::kCallsPerTurn;

Status need_handle() {
  if (__builtin_expect(!fast::has_free_handle(), 0)) {
    sched::let_others_run();
    fast::begin_turn_of_handles();
  }
  return need_room(&g_requests, "request");
}
Status need_message_handle() { return need_room(&g_messages, "message"); }
MPI_Request handle_of(Request* request) { return fast::handle_of(request); }
Request* find_request(MPI_Request handle) { return fast::find_request(handle); }
void drop_handle(Request* request) { fast::drop_handle(request); }

Request* find_freed_too(MPI_Request handle) {
  uint32_t h = static_cast<uint32_t>(handle);
  if (h == kSentHandle || (h & ~kIndexMask) != kRequestBase) return find_request(handle);
  Request** slot = g_requests.get(h & kIndexMask);
  return slot ? *slot : nullptr;
}

MPI_Message message_handle(Message* message) {
  int64_t index = g_messages.create(as_unexpected(message));
  // The error cannot occur after need_message_handle().
  if (index < 0 || index >= kIndexMask) out_of_memory("message handles", 0);
  return static_cast<MPI_Message>(kRequestBase | kMessageBit | static_cast<uint32_t>(index));
}

Message* claim_message(MPI_Message handle) {
  uint32_t h = static_cast<uint32_t>(handle);
  if ((h & ~kIndexMask) != (kRequestBase | kMessageBit)) return nullptr;
  UnexpectedMessage** slot = g_messages.get(h & kIndexMask);
  if (!slot) return nullptr;
  UnexpectedMessage* u = *slot;
  g_messages.destroy(h & kIndexMask);
  return as_message(u);
}

void for_each_request(void (*visit)(Request*, void*), void* argument) {
  g_requests.for_each([&](uint32_t, Request* r) { visit(r, argument); });
}

}  // namespace fgmpi::pt2pt
