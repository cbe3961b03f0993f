// Calls of MPI that two threads of a rank make without an order, or where only a mutex orders them.
#include "check/threads/thread_calls.h"

#include <algorithm>
#include <cstring>

#include "check/memory/accesses.h"

namespace fgmpi::check {
namespace {

constexpr size_t kMostReceives = 64;

/// The two calls of a finding, in an order that does not depend on the run.
std::vector<findings::Participant> both(const CheckedCall& call, const CallRecord& other) {
  const bool swap = other.site < call.record().site;
  const CallRecord& first = swap ? other : call.record();
  const CallRecord& second = swap ? call.record() : other;
  return {participant(call.rank(), first),
          participant(call.rank(), second, "may come before or after")};
}

/// Do others learn by such a call what its caller knows, or the caller what they know?
bool communicates(const CallInfo& info) {
  return info.role != CallRole::kOther || info.hides_order;
}

bool matches(int wanted, int is, int any) { return wanted == any || wanted == is; }

/// Does the receive take a message from this source with this tag?
template <class Message>
bool could_take(const Message& receive, const Message& probe) {
  return receive.comm == probe.comm && matches(receive.source, probe.source, MPI_ANY_SOURCE) &&
         matches(receive.tag, probe.tag, MPI_ANY_TAG);
}

/// Does it matter which of two collective calls comes first?
bool differ(const CallRecord& a, const CallRecord& b) {
  if (a.id != b.id) return true;
  const CallInfo& info = a.info();
  for (int i = 0; i < info.count; ++i) {
    const Parameter& p = info.parameters[i];
    if (p.object != Object::kRequest && !p.pointer && a.words[i] != b.words[i]) return true;
  }
  for (unsigned set = info.sets.buffers; set; set &= set - 1)
    if (a.words[__builtin_ctz(set)] != b.words[__builtin_ctz(set)]) return true;
  return false;
}

}  // namespace

const ThreadCalls::StrandCall* ThreadCalls::unordered(const LastCalls& calls,
                                                      const StrandEvent& now, bool firm) {
  for (const StrandCall& made : calls)
    if (made.event.strand != now.strand && !is_ordered(made.event, firm)) return &made;
  return nullptr;
}

void ThreadCalls::replace(LastCalls* calls, const StrandCall& made) {
  for (StrandCall& old : *calls)
    if (old.event.strand == made.event.strand) return void(old = made);
  calls->push_back(made);
}

void ThreadCalls::check_level(CheckedCall* call) {
  if (call->rank()->level >= MPI_THREAD_MULTIPLE) return;
  const StrandCall* other = unordered(calls_, now_, false);
  if (other)
    report(FindingKind::kThreads, "two threads of a rank may call MPI at the same time",
           "at MPI_THREAD_SERIALIZED a mutex, a barrier or a join is between calls of two threads",
           {call->me(), participant(call->rank(), other->call, "may not have returned")});
}

void ThreadCalls::check_collective(CheckedCall* call) {
  const CallInfo& info = call->info();
  if (!is_collective(info) || !call->has(&Positions::comm)) return;
  const auto comm = static_cast<MPI_Comm>(call->value(&Positions::comm));
  const OwnComm* own = call->rank()->comm_of(comm);
  if (!own || own->comm->size < 2) return;
  LastCalls& last = collectives_[comm];
  const char* allowed =
      "the program puts them into an order, or each thread has a communicator of its own";
  if (const StrandCall* other = unordered(last, now_, false))
    report(
        FindingKind::kThreads,
        "two threads of a rank make collective calls on one communicator, and nothing orders them",
        allowed, both(*call, other->call));
  else if (const StrandCall* by_mutex = unordered(last, now_, true);
           by_mutex && differ(call->record(), by_mutex->call))
    report(FindingKind::kThreads,
           "two threads of a rank make collective calls on one communicator, and only a mutex or "
           "critical section orders them",
           allowed, both(*call, by_mutex->call));
  replace(&last, {now_, call->record()});
}

// ---- Requests and other objects -----------------------------------------------------------------
namespace {

/// The variable of the only request that the call completes; null where it is given a list.
MPI_Request* completed_by(const CheckedCall& call) {
  const CallInfo& info = call.info();
  if (info.role != CallRole::kCompletion || info.at.given < 0 ||
      info.parameters[info.at.given].array)
    return nullptr;
  return reinterpret_cast<MPI_Request*>(call.at(info.at.given));
}

}  // namespace

void ThreadCalls::check_completion(CheckedCall* call) {
  const MPI_Request* variable = completed_by(*call);
  if (!variable) return;
  const auto found = completed_.find(variable);
  if (found == completed_.end() || found->second.event.strand == now_.strand ||
      is_ordered(found->second.event, true))
    return;
  const bool by_mutex = is_ordered(found->second.event, false);
  report(FindingKind::kThreads,
         by_mutex ? "two threads of a rank complete the same request, and only a mutex or critical "
                    "section orders them"
                  : "two threads of a rank complete the same request, and nothing orders them",
         "a request is completed by one thread", both(*call, found->second.call));
}

void ThreadCalls::record_completion(CheckedCall* call) {
  const CallInfo& info = call->info();
  if (info.at.made >= 0) completed_.erase(reinterpret_cast<MPI_Request*>(call->at(info.at.made)));
  const MPI_Request* variable = completed_by(*call);
  if (variable && *variable == MPI_REQUEST_NULL && !call->requests().empty() &&
      call->requests()[0] != MPI_REQUEST_NULL)
    completed_[variable] = {order_->now(), call->record()};
}

void ThreadCalls::check_freed(CheckedCall* call) {
  const CallInfo& info = call->info();
  for (unsigned set = info.sets.used; set; set &= set - 1) {
    const int i = __builtin_ctz(set);
    const Parameter& p = info.parameters[i];
    if (p.life != Life::kFreed || !p.pointer || p.array || p.object == Object::kRequest ||
        p.object == Object::kMessage)
      continue;
    const auto key = std::make_pair(p.object, call->old[i]);
    const auto found = objects_.find(key);
    if (found == objects_.end()) continue;
    if (const StrandCall* other = unordered(found->second, now_, true))
      report(FindingKind::kThreads,
             is_ordered(other->event, false)
                 ? "an object is freed that another thread uses, and only a mutex or critical "
                   "section orders them"
                 : "an object is freed that another thread uses, and nothing orders them",
             "the last use of an object comes before the call that frees it, in every run",
             {call->me(), participant(call->rank(), other->call, "may come later")});
    objects_.erase(found);
  }
}

void ThreadCalls::record_objects(CheckedCall* call) {
  const CallInfo& info = call->info();
  for (unsigned set = info.sets.used; set; set &= set - 1) {
    const int i = __builtin_ctz(set);
    const Parameter& p = info.parameters[i];
    if (p.life == Life::kFreed || p.pointer || p.array || p.object == Object::kRequest ||
        is_predefined(static_cast<int>(call->at(i))))
      continue;
    const auto key = static_cast<uint64_t>(static_cast<uint32_t>(call->at(i)));
    replace(&objects_[{p.object, key}], {order_->now(), call->record()});
  }
}

// ---- Probes -------------------------------------------------------------------------------------
void ThreadCalls::report_taken(CheckedCall* call, const ThreadReceive& probe,
                               const ThreadReceive& receive) {
  report(FindingKind::kThreads,
         "a message that a thread has found by a probe may be received by another thread",
         "MPI_Mprobe and MPI_Mrecv, or a mutex that is held from the probe to the receive",
         {participant(call->rank(), probe.call),
          participant(call->rank(), receive.call, "may receive the message")});
}

void ThreadCalls::begin_receive(CheckedCall* call) {
  const CallInfo& info = call->info();
  if (info.role != CallRole::kReceive || info.starts == Starts::kPersistent) return;
  ThreadReceive receive;
  receive.begin = now_;
  receive.locks = now_.locks;
  receive.comm = static_cast<MPI_Comm>(call->value(&Positions::comm));
  receive.source = static_cast<int>(call->value(&Positions::source));
  receive.tag = static_cast<int>(call->value(&Positions::recv_tag));
  receive.call = call->record();
  for (const auto& [strand, probe] : probed_)
    // The probing strand may have given the message to this one, on purpose.
    if (strand != now_.strand && could_take(receive, probe) && !is_ordered(probe.begin, true)) {
      report_taken(call, probe, receive);
      break;
    }
  for (const ThreadReceive& other : receives_)
    if (other.probes && other.begin.strand != now_.strand && other.end.count &&
        could_take(receive, other) && !is_ordered(other.end, true) &&
        !order_->share_a_lock(other.locks, receive.locks)) {
      report_taken(call, other, receive);
      break;
    }
  if (receives_.size() >= kMostReceives) receives_.pop_front();
  receives_.push_back(std::move(receive));
}

void ThreadCalls::end_receive(CheckedCall* call) {
  const CallInfo& info = call->info();
  if (info.role != CallRole::kReceive || info.starts == Starts::kPersistent) return;
  const StrandEvent end = order_->now();
  for (ThreadReceive& receive : receives_)
    if (receive.begin.strand == end.strand && !receive.end.count && !receive.probes) {
      receive.end = end;
      receive.locks = order_->held_since(receive.begin);
    }
  const auto probed = probed_.find(end.strand);
  if (probed == probed_.end()) return;
  ThreadReceive probe = std::move(probed->second);
  probed_.erase(probed);
  probe.end = end;
  probe.locks = order_->held_since(probe.begin);
  check_probe(call, probe);
  if (receives_.size() >= kMostReceives) receives_.pop_front();
  receives_.push_back(std::move(probe));
}

void ThreadCalls::check_probe(CheckedCall* call, const ThreadReceive& probe) {
  for (const ThreadReceive& receive : receives_)
    if (!receive.probes && receive.begin.strand != probe.begin.strand &&
        could_take(receive, probe) && !order_->share_a_lock(probe.locks, receive.locks) &&
        (!receive.end.count || receive.end.count > probe.known.firm.of(receive.end.strand)))
      return report_taken(call, probe, receive);
}

void ThreadCalls::record_probe(CheckedCall* call) {
  const CallInfo& info = call->info();
  if (info.role != CallRole::kProbe) return;
  const auto* flag = static_cast<const int*>(call->pointer(&Positions::flag));
  const MPI_Status* status = call->written_status();
  if ((call->has(&Positions::flag) && flag && !*flag) || !status) return;
  ThreadReceive probe;
  probe.begin = order_->now();
  probe.known = order_->known_here();
  probe.locks = probe.begin.locks;
  probe.comm = static_cast<MPI_Comm>(call->value(&Positions::comm));
  probe.source = status->MPI_SOURCE;
  probe.tag = status->MPI_TAG;
  probe.probes = true;
  probe.call = call->record();
  probed_[probe.begin.strand] = std::move(probe);
}

// ---- Any call -----------------------------------------------------------------------------------
void ThreadCalls::begin(CheckedCall* call) {
  now_ = order_->now();
  if (!now_.count) return;
  const uint64_t before = g_process.reports;
  check_level(call);
  if (g_process.reports == before) check_collective(call);
  check_completion(call);
  check_freed(call);
  begin_receive(call);
  if (communicates(call->info())) order_->begin_communication();
}

void ThreadCalls::end(CheckedCall* call) {
  if (!order_->now().count) return;
  const CallInfo& info = call->info();
  replace(&calls_, {order_->now(), call->record()});
  record_completion(call);
  record_objects(call);
  end_receive(call);
  record_probe(call);
  // A send need not wait for others.
  if (communicates(info) && info.role != CallRole::kSend) order_->end_communication();
}

// ---- Hooks --------------------------------------------------------------------------------------
namespace {

bool uses_memory_while_it_runs(const CheckedCall& call) {
  const CallInfo& info = call.info();
  return info.starts == Starts::kBlocking && info.sets.buffers && info.at.target < 0;
}

uintptr_t frame_here() { return reinterpret_cast<uintptr_t>(__builtin_frame_address(0)); }

}  // namespace

void begin_threaded_call(CheckedCall* call) {
  Rank* rank = call->rank();
  ThreadOrder& order = *rank->order;
  if (call->nested() || !order.is_active()) return;
  order.begin_call();
  if (g_process.wants(FindingKind::kThreads)) order.calls().begin(call);
  if (!uses_memory_while_it_runs(*call)) return;
  collect_buffers(call);
  if (!call->has_lists()) return;
  report_strand_conflicts(
      rank, call->record(),
      order.begin_use(call, call->lists().regions, call->record(), true, frame_here()));
}

void end_threaded_call(CheckedCall* call) {
  ThreadOrder& order = *call->rank()->order;
  if (call->nested()) return;
  if (order.is_active()) order.end_call();
  if (uses_memory_while_it_runs(*call) && call->has_lists())
    report_strand_conflicts(
        call->rank(), call->record(),
        order.end_use(call, call->lists().regions, call->record(), frame_here()));
  if (order.is_active() && g_process.wants(FindingKind::kThreads)) order.calls().end(call);
}

namespace {

constexpr size_t kMostAwaiting = 4;

findings::Participant participant_of(const Rank* rank, const ThreadOrder::AwaitingStrand& strand) {
  findings::Participant waits;
  waits.rank = rank->world;
  waits.call = strand.at;
  waits.site = site_of(strand.place);
  for (void* caller : strand.callers) waits.callers.push_back(site_of(caller));
  waits.role = strand.parked ? "is waited for" : "is waited for by another thread";
  return waits;
}

/// Reports a rank whose first thread waits for other threads, which cannot go on.
bool report_awaiting_threads(Rank* rank) {
  auto awaiting = rank->order->awaiting();
  if (awaiting.empty() || !awaiting[0].parked) return false;
  std::vector<findings::Participant> calls;
  for (const CheckedCall* call : rank->inside)
    if (!pthread_equal(call->thread(), rank->thread)) calls.push_back(call->me("does not return"));
  const bool in_calls = !calls.empty();
  if (awaiting.size() > kMostAwaiting) awaiting.resize(kMostAwaiting);
  for (const auto& strand : awaiting) calls.push_back(participant_of(rank, strand));
  g_process.deadlock.push_back(
      report(FindingKind::kDeadlock,
             in_calls ? "a thread waits for ever for what another thread would do after a call of "
                        "MPI"
                      : "a thread waits for ever for what no thread of its rank does",
             "", std::move(calls)));
  return true;
}

}  // namespace

void add_awaiting_threads(Rank* rank, std::vector<findings::Participant>* calls) {
  if (!rank->order) return;
  auto awaiting = rank->order->awaiting();
  if (awaiting.size() > kMostAwaiting) awaiting.resize(kMostAwaiting);
  for (const auto& strand : awaiting) calls->push_back(participant_of(rank, strand));
}

namespace {

findings::Participant participant_of(const Rank* rank, const ThreadOrder::BlockedThread& thread) {
  findings::Participant waits;
  waits.rank = rank->world;
  waits.call = "a mutex or critical section";
  waits.site = site_of(thread.place);
  for (void* caller : thread.callers) waits.callers.push_back(site_of(caller));
  waits.role = "is waited for";
  return waits;
}

/// Reports threads that wait for mutexes which they have locked themselves.
bool report_locked_twice(Rank* rank) {
  bool any = false;
  for (const ThreadOrder::BlockedThread& one : rank->order->wanting_threads()) {
    if (!one.again) continue;
    any = true;
    g_process.deadlock.push_back(report(
        FindingKind::kDeadlock, "a thread waits for ever for a mutex that it has locked itself", "",
        {participant_of(rank, one)}));
  }
  return any;
}

/// Reports threads none of which is in a call of MPI, and that wait for each other's mutexes.
bool report_wanting_threads(Rank* rank) {
  const auto wanting = rank->order->wanting_threads();
  if (wanting.size() < 2) return false;
  std::vector<findings::Participant> waits;
  for (const ThreadOrder::BlockedThread& one : wanting)
    if (waits.size() < kMostAwaiting) waits.push_back(participant_of(rank, one));
  g_process.deadlock.push_back(report(FindingKind::kDeadlock,
                                      "threads wait for ever for mutexes that others hold", "",
                                      std::move(waits)));
  return true;
}

}  // namespace

bool report_blocked_threads(Rank* rank) {
  const auto blocked = rank->order->blocked_threads();
  for (const ThreadOrder::BlockedThread& one : blocked) {
    const findings::Participant waits = participant_of(rank, one);
    g_process.deadlock.push_back(
        report(FindingKind::kDeadlock,
               "a thread waits for ever for what another thread holds in a call of MPI", "",
               {one.call->me("does not return"), waits}));
  }
  return report_locked_twice(rank) || !blocked.empty() || report_awaiting_threads(rank) ||
         report_wanting_threads(rank);
}

void begin_threaded_use(Rank* rank, const RequestOperation& operation) {
  const CallRecord& call = *operation.call;
  report_strand_conflicts(
      rank, call, rank->order->begin_use(&operation, operation.regions, call, false, frame_here()));
}

void end_threaded_use(Rank* rank, const RequestOperation& operation) {
  const CallRecord& call = *operation.call;
  report_strand_conflicts(rank, call,
                          rank->order->end_use(&operation, operation.regions, call, frame_here()));
}

}  // namespace fgmpi::check
