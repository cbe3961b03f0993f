// The unbuffered run: a second run of each rank's calls, in which a send returns only when its
// receive has begun.

#include "check/order/unbuffered.h"

#include <algorithm>
#include <unordered_map>

#include "base/hash.h"
#include "check/call.h"
#include "check/collectives/agreement.h"
#include "check/extensions.h"
#include "check/findings/unbuffered.h"

namespace fgmpi::check {
namespace {

/// The most steps of a rank outside of the spool, and the most entries of
/// Unbuffered::receives_begun.
constexpr size_t kMostSteps = 256;
/// The most bytes of steps that a process writes to the spool.
constexpr size_t kMostStepBytes = 16 << 20;
size_t g_step_bytes = 0;
std::vector<int> g_awake;  ///< world ranks whose next step may be possible now
bool g_waking = false;

/// A call that waits, and the call that began what it waits for.
struct WrittenCall {
  const Rank* rank;
  SharedCall call, awaited;
  bool written = false;
};
std::unordered_map<uint64_t, WrittenCall> g_calls;  ///< by key
/// With more calls than this, calls of one site share a key, whatever their arguments.
constexpr size_t kMostCalls = 1 << 14;

/// By key of the communicator. Other processes may send progress before a member here has
/// called anything.
std::unordered_map<uint64_t, Entered> g_entered;

/// The last send that a rank of another process has begun, and the ranks that wait
/// for its next one.
struct RemoteSender {
  uint64_t begun = 0;
  std::vector<int> waiting;
};
std::unordered_map<int, RemoteSender> g_senders;  ///< by world rank

int sender_of(uint64_t message_id) { return static_cast<int>(message_id >> 32); }

uint64_t hash_of(const CallRecord& call, bool arguments) {
  const Positions& at = call.info().at;
  uint64_t hash = mix(call.id, call.site);
  if (arguments)
    for (const int8_t position : {at.comm, at.dest, at.source, at.send_tag, at.recv_tag})
      hash = mix(hash, static_cast<uint64_t>(call.at(position)));
  return hash;
}

/// The key in the spool of a call that waits.
uint64_t call_key(const Rank* rank, const UnbufferedStep& s) {
  const bool all = g_calls.size() < kMostCalls;
  uint64_t key = mix(hash_of(*s.call, all), all ? static_cast<uint64_t>(rank->world) : 0);
  if (s.awaited) key = mix(key, hash_of(*s.awaited, all));
  key |= 1;
  g_calls.try_emplace(key, WrittenCall{rank, s.call, s.awaited});
  return key;
}

void write_call(uint64_t key) {
  WrittenCall& w = g_calls.at(key);
  if (w.written) return;
  w.written = true;
  std::vector<findings::Participant> calls = {participant(w.rank, w.call)};
  if (w.awaited) calls.push_back(participant(w.rank, *w.awaited, "is waited for"));
  g_process.spool.add_waiting(key, calls);
}

}  // namespace

bool CallCounter::add_any(uint64_t before, uint64_t calls, int size) {
  const uint64_t old = all;
  if (calls > all + 1 && members.size() < calls - all - 1) members.resize(calls - all - 1);
  for (uint64_t number = before; number < calls; ++number)
    ++(number == all ? next : members[number - all - 1]);
  for (; next == size; ++all) {
    next = members.empty() ? 0 : members.front();
    if (!members.empty()) members.erase(members.begin());
  }
  return all != old;
}

namespace {

// ---- To the spool -------------------------------------------------------------------------------

void append_number(std::string* line, char before, uint64_t value) {
  char digits[17];
  int n = 0;
  do digits[n++] = "0123456789abcdef"[value & 15];
  while (value >>= 4);
  *line += before;
  while (n > 0) *line += digits[--n];
}

uint64_t world_of(const UnbufferedStep& s) {
  return static_cast<uint64_t>(s.comm->group.at(static_cast<size_t>(s.member)));
}

void write(Rank* rank) {
  Unbuffered& u = rank->unbuffered;
  std::string line;
  for (size_t i = u.first; i < u.steps.size(); ++i) {
    const UnbufferedStep& s = u.steps[i];
    if (s.satisfied) continue;
    if (s.kind <= UnbufferedStep::kPost) {
      for (uint64_t id = s.number; id <= s.id; ++id) {
        line += ' ';
        line += findings::kSteps[s.kind];
        append_number(&line, '.', id);
      }
      continue;
    }
    line += ' ';
    line += findings::kSteps[s.kind];
    append_number(&line, '.', s.comm ? s.comm->key : s.id);
    if (s.kind >= UnbufferedStep::kEnter) append_number(&line, '.', s.number);
    if (s.kind == UnbufferedStep::kNeedRoot) append_number(&line, '.', world_of(s));
    if (!s.call) continue;
    const uint64_t key = call_key(rank, s);
    append_number(&line, '.', key);
    write_call(key);
  }
  for (const auto& [number, message_id] : u.matches) {
    line += ' ';
    line += findings::kSteps[UnbufferedStep::kMatch];
    append_number(&line, '.', number);
    append_number(&line, '.', message_id);
  }
  u.steps.clear();
  u.matches.clear();
  u.first = 0;
  u.written = true;
  if (line.empty()) return;
  g_step_bytes += line.size();
  g_process.spool.add_steps(rank->world, line);
  g_steps_full = g_step_bytes > kMostStepBytes;
}

// ---- Going on -----------------------------------------------------------------------------------

void wake(std::vector<int>* list) {
  g_awake.insert(g_awake.end(), list->begin(), list->end());
  list->clear();
}

Entered& entered_of(CheckedComm* c);

/// How many calls of the communicator the rank has entered, as far as that is known. Other members
/// may have entered calls before one in this process has.
uint64_t calls_entered_by(CheckedComm* c, int world) {
  const auto at = std::find(c->group.begin(), c->group.end(), world);
  if (at == c->group.end()) return 0;
  const Entered& e = entered_of(c);
  if (is_local(world)) return e.calls[static_cast<size_t>(at - c->group.begin())];
  const auto process = e.calls_entered.find(MPIX_Tool_process(world));
  return all_tell_all(*c) && process != e.calls_entered.end() ? process->second : 0;
}

/// The rank to which the call sends; MPI_UNDEFINED: unknown.
int receiver_of(const Rank& sender, const CallRecord& send) {
  if (send.info().at.dest < 0 || send.info().at.comm < 0) return MPI_UNDEFINED;
  const auto own = sender.comms.find(static_cast<int>(send.at(send.info().at.comm)));
  return own == sender.comms.end() ? MPI_UNDEFINED
                                   : own->second.comm->world_of(send.at(send.info().at.dest));
}

/// The send is complete only now that its receive begins, in a blocking call; `i`: the index of the
/// step that waits for that. Reports a collective call that the sender enters later in its order,
/// though the receiver has left it before: had that call waited for all members, both would wait
/// for ever. `receive`: the receiver's call; null: unknown.
void report_left_before(const Rank* sender, size_t i, const CallRecord* receive) {
  const std::vector<UnbufferedStep>& steps = sender->unbuffered.steps;
  const int world = steps[i].member;
  if (world == MPI_UNDEFINED) return;
  for (size_t k = i + 1; k < steps.size(); ++k) {
    const UnbufferedStep& s = steps[k];
    if (s.kind != UnbufferedStep::kEnter || s.comm->inter || !s.awaited ||
        s.awaited->info().starts != Starts::kBlocking ||
        calls_entered_by(s.comm, world) <= s.number)
      continue;
    std::vector<findings::Participant> calls = {
        participant(sender, steps[i].awaited ? *steps[i].awaited : *steps[i].call,
                    "is complete only when its receive begins"),
        participant(sender, *s.awaited, "is made after that")};
    const Rank* receiver = is_local(world) ? local_rank(world) : nullptr;
    if (receiver && receive)
      calls.push_back(participant(receiver, *receive,
                                  "receives it after that collective call has returned here"));
    report(FindingKind::kBuffering,
           "the program depends on buffering, or on a collective call that returns before all "
           "members have made it",
           "MPI may buffer a standard send or not, and may let a collective call wait or not",
           std::move(calls));
    return;
  }
}

/// The send of the step is complete because the receiver is in a blocking receive. The sender
/// learns which collective calls the receiver has left before, as far as it enters them later.
void learn_calls_of_receiver(Rank* sender, const UnbufferedStep& s) {
  const int world = s.member;
  if (world == MPI_UNDEFINED) return;
  for (auto& [handle, own] : sender->comms) {
    if (!own.comm || own.comm->inter) continue;
    const uint64_t entered = calls_entered_by(own.comm, world);
    if (entered > own.collectives)
      sender->knows.learn_named({of_left(own.comm->key), left_early(entered - 1, world)});
  }
}

/// The receive of a message has begun: notifies the sender. `blocks`: a
/// blocking call is in the receive, which has a known source.
void notify_sender(uint64_t message_id, bool blocks = false, const CallRecord* receive = nullptr) {
  if (!is_local(sender_of(message_id))) return announce_receive_begun(message_id, blocks);
  Rank* sender = local_rank(sender_of(message_id));
  if (!sender || sender->unbuffered.written) return;
  Unbuffered& u = sender->unbuffered;
  for (size_t i = u.first; i < u.steps.size(); ++i)
    if (u.steps[i].kind == UnbufferedStep::kNeedReceive && u.steps[i].id == message_id) {
      u.steps[i].satisfied = true;
      if (blocks) {
        report_left_before(sender, i, receive);
        learn_calls_of_receiver(sender, u.steps[i]);
      }
      if (i == u.first) g_awake.push_back(sender->world);
      return;
    }
  if (u.receives_begun.size() >= kMostSteps) u.receives_begun.erase(u.receives_begun.begin());
  u.receives_begun.push_back(message_id);
}

void record_matches(Unbuffered* u) {
  std::erase_if(u->matches, [&](const auto& match) {
    if (match.first > u->posted) return false;
    notify_sender(match.second);
    return true;
  });
}

/// The first use of a communicator by a member here.
[[gnu::noinline]] Entered& first_entered_of(CheckedComm* c) {
  c->entered = &g_entered[c->key];
  Entered& e = *c->entered;
  e.calls.resize(static_cast<size_t>(c->size));
  if (c->local_members == 0) e.here.all = UINT64_MAX;
  if (c->others.empty() || (!all_tell_all(*c) && c->home != g_process.me))
    e.elsewhere.all = c->others.empty() ? UINT64_MAX : e.calls_entered[c->home];
  else
    for (int process : c->others)
      e.elsewhere.add(0, e.calls_entered[process], static_cast<int>(c->others.size()));
  return e;
}

Entered& entered_of(CheckedComm* c) { return c->entered ? *c->entered : first_entered_of(c); }

/// Members or processes have entered calls: wakes those that wait, if all have entered
/// more than `before`.
void entered_by_all(CheckedComm* c, uint64_t before) {
  Entered& e = *c->entered;
  if (e.all() == before) return;
  if (c->home == g_process.me && !all_tell_all(*c)) announce_all_entered(*c, e.all());
  if (!e.waiting.empty()) wake(&e.waiting);
}

void enter(CheckedComm* c, int member, uint64_t number) {
  Entered& e = entered_of(c);
  const uint64_t here = e.here.all;
  e.calls[static_cast<size_t>(member)] = number + 1;
  if (!e.waiting_for.empty())
    if (auto waiting = e.waiting_for.find(member); waiting != e.waiting_for.end()) {
      wake(&waiting->second);
      e.waiting_for.erase(waiting);
    }
  if (!e.here.add(number, number + 1, c->local_members)) return;
  if (!c->listeners.empty()) announce_entered(*c, e.here.all);
  entered_by_all(c, std::min(here, e.elsewhere.all));
}

/// Another process sends how many calls all its members have entered; the process of rank 0 sends
/// it for all members.
void on_entered(int process, const Progress& progress) {
  Entered& e = g_entered[progress.of];
  uint64_t& calls_entered = e.calls_entered[process];
  if (progress.number <= calls_entered) return;
  const uint64_t old = std::exchange(calls_entered, progress.number);
  auto found = g_process.comms.find(progress.of);
  if (found == g_process.comms.end() || !found->second->entered) return;
  CheckedComm* c = found->second.get();
  const uint64_t before = e.all();
  if (!all_tell_all(*c) && c->home != g_process.me)
    e.elsewhere.all = calls_entered;
  else
    e.elsewhere.add(old, calls_entered, static_cast<int>(c->others.size()));
  entered_by_all(c, before);
  for (auto& [root, waiting] : std::exchange(e.waiting_for, {})) wake(&waiting);
}

bool root_has_entered(CheckedComm* c, int member, uint64_t number) {
  Entered& e = entered_of(c);
  const int root = c->group[static_cast<size_t>(member)];
  if (is_local(root)) return e.calls[static_cast<size_t>(member)] > number;
  if (e.elsewhere.all > number) return true;
  auto calls_entered = e.calls_entered.find(MPIX_Tool_process(root));
  return calls_entered != e.calls_entered.end() && calls_entered->second > number;
}

/// The last send of the rank that has begun, and the list of ranks that wait for later ones; null:
/// not known here.
std::pair<uint64_t, std::vector<int>*> begun_by(int world) {
  if (!is_local(world)) {
    RemoteSender& sender = g_senders[world];
    return {sender.begun, &sender.waiting};
  }
  Rank* sender = local_rank(world);
  if (!sender || sender->unbuffered.written) return {0, nullptr};
  return {sender->unbuffered.begun, &sender->unbuffered.waiting};
}

/// Makes a step. Returns false where it must wait.
bool make(Rank* rank, const UnbufferedStep& s) {
  Unbuffered& u = rank->unbuffered;
  switch (s.kind) {
    case UnbufferedStep::kBegin:
      u.begun = s.id;
      if (!u.waiting.empty()) wake(&u.waiting);
      return true;
    case UnbufferedStep::kPost:
      u.posted = s.id;
      if (!u.matches.empty()) record_matches(&u);
      return true;
    case UnbufferedStep::kReceiveMessage:
      notify_sender(s.id, s.awaited.get() != nullptr, s.awaited.get());
      return true;
    case UnbufferedStep::kNeedReceive:
      return forget_receive_begun(&u, s.id);
    case UnbufferedStep::kNeedSend: {
      const auto [begun, waiting] = begun_by(sender_of(s.id));
      if (begun >= s.id) return true;
      if (waiting) waiting->push_back(rank->world);
      return false;
    }
    case UnbufferedStep::kEnter:
      enter(s.comm, s.member, s.number);
      return true;
    case UnbufferedStep::kNeedAll:
      if (entered_of(s.comm).all() > s.number) return true;
      s.comm->entered->waiting.push_back(rank->world);
      return false;
    case UnbufferedStep::kNeedRoot:
      if (root_has_entered(s.comm, s.member, s.number)) return true;
      s.comm->entered->waiting_for[s.member].push_back(rank->world);
      return false;
    default:
      return true;
  }
}

void go_on(Rank* rank) {
  Unbuffered& u = rank->unbuffered;
  if (u.written) return;
  while (u.first < u.steps.size()) {
    UnbufferedStep& s = u.steps[u.first];
    if (!s.satisfied && !make(rank, s)) break;
    if (s.kind == UnbufferedStep::kBegin && !is_local(s.member))
      announce_send_begun(s.id, s.member);
    s.call = s.awaited = SharedCall();
    ++u.first;
  }
  if (!rank->begun.empty() || rank->receives_from) record_posted_receives(rank);
  if (u.first == u.steps.size()) {
    u.steps.clear();
    u.first = 0;
  } else if (u.first > kMostSteps) {
    u.steps.erase(u.steps.begin(), u.steps.begin() + static_cast<ptrdiff_t>(u.first));
    u.first = 0;
  }
}

void wake_all() {
  if (g_waking) return;
  g_waking = true;
  while (!g_awake.empty()) {
    Rank* rank = local_rank(g_awake.back());
    g_awake.pop_back();
    if (rank) go_on(rank);
  }
  g_waking = false;
}

/// Adds a step, or makes it at once. `waits`: the call that waits, if any; `awaited`: the call that
/// began what it waits for, if that is another call.
void add(Rank* rank, UnbufferedStep&& s, const WaitingCall* waits = nullptr,
         const SharedCall* awaited = nullptr) {
  Unbuffered& u = rank->unbuffered;
  if (g_steps_full) return;
  if (u.steps.empty() && !u.written && make(rank, s)) {
    if (!g_awake.empty()) wake_all();
    return;
  }
  if (waits) s.call = waits->record();
  if (awaited) s.awaited = *awaited;
  u.steps.push_back(std::move(s));
  if (u.steps.size() - u.first >= kMostSteps) write(rank);
  wake_all();
}

/// Extends the last step of the same kind by a send or receive, if the rank waits for nothing
/// after that step.
bool join_last(Unbuffered* u, UnbufferedStep::StepKind kind, int member, uint64_t id) {
  if (kind == UnbufferedStep::kBegin && !is_local(member))
    return false;  // each is announced to its process
  for (size_t i = u->steps.size(); i-- > u->first;) {
    UnbufferedStep& s = u->steps[i];
    if (s.kind > UnbufferedStep::kPost || (kind == UnbufferedStep::kBegin && !is_local(s.member)))
      return false;
    if (s.kind != kind) continue;
    s.id = id;
    return true;
  }
  return false;
}

/// Wakes ranks after a step that was made at once.
void made() {
  if (!g_awake.empty()) wake_all();
}

}  // namespace

bool forget_receive_begun(Unbuffered* u, uint64_t message_id) {
  for (size_t i = u->receives_begun.size(); i-- > 0;)
    if (u->receives_begun[i] == message_id) {
      u->receives_begun[i] = u->receives_begun.back();
      u->receives_begun.pop_back();
      return true;
    }
  return false;
}

bool step_send_in_turn(Rank* rank, uint64_t message_id, int receiver_world) {
  if (!join_last(&rank->unbuffered, UnbufferedStep::kBegin, receiver_world, message_id))
    add(rank, {.kind = UnbufferedStep::kBegin,
               .member = receiver_world,
               .id = message_id,
               .number = message_id});
  return rank->unbuffered.begun >= message_id;
}

void step_receive_in_turn(Rank* rank, uint64_t number) {
  if (!join_last(&rank->unbuffered, UnbufferedStep::kPost, 0, number))
    add(rank, {.kind = UnbufferedStep::kPost, .id = number, .number = number});
}

void step_receive_begun(uint64_t message_id) {
  if (!follows_steps()) return;
  notify_sender(message_id);
  made();
}

void step_matched(Rank* rank, uint64_t number, uint64_t message_id, bool certain) {
  if (!follows_steps()) return;
  Unbuffered& u = rank->unbuffered;
  if (!certain || (!u.written && u.posted >= number)) {
    step_receive_begun(message_id);
  } else if (u.written) {
    add(rank, {.kind = UnbufferedStep::kMatch, .id = number, .number = message_id});
  } else {
    u.matches.emplace_back(number, message_id);
  }
}

void step_receive_message(Rank* rank, uint64_t message_id, bool certain) {
  if (!follows_steps()) return;
  const CallRecord* call = certain ? rank->current : nullptr;
  const bool blocks = call && call->info().starts == Starts::kBlocking &&
                      call->info().at.source >= 0 &&
                      call->at(call->info().at.source) != MPI_ANY_SOURCE;
  if (certain && !is_free(rank->unbuffered))
    return add(rank, {.kind = UnbufferedStep::kReceiveMessage,
                      .id = message_id,
                      .awaited = blocks ? SharedCall(*call) : SharedCall()});
  notify_sender(message_id, blocks, call);
  made();
}

void step_enter(const WaitingCall& call, const CollectiveCall& collective, int member) {
  if (!follows_steps()) return;
  Rank* rank = call.rank;
  if (is_free(rank->unbuffered)) return enter_at_once(collective.comm, member, collective.number);
  add(rank, {.kind = UnbufferedStep::kEnter,
             .member = member,
             .number = collective.number,
             .comm = collective.comm,
             .awaited = call.record()});
}

void enter_at_once(CheckedComm* c, int member, uint64_t number) {
  enter(c, member, number);
  made();
}

namespace {

/// The send is complete because its receive had begun. If that is the blocking call in which the
/// receiver is, the sender learns which collective calls the receiver has left before: unless the
/// send is buffered, what the sender does next comes after these.
void learn_what_receiver_left(Rank* sender, const CallRecord& send) {
  const int world = receiver_of(*sender, send);
  if (world == MPI_UNDEFINED) return;
  const Positions& at = send.info().at;
  const auto own = sender->comms.find(static_cast<int>(send.at(at.comm)));
  const Rank* receiver = is_local(world) ? local_rank(world) : nullptr;
  if (!receiver || !receiver->current || !receiver->posted.empty() || !receiver->begun.empty())
    return;
  const CallRecord& receive = *receiver->current;
  const CallInfo& info = receive.info();
  if (info.role != CallRole::kReceive || info.starts != Starts::kBlocking ||
      receive.at(info.at.source) != own->second.rank ||
      receive.at(info.at.recv_tag) != send.at(at.send_tag))
    return;
  const auto there = receiver->comms.find(static_cast<int>(receive.at(info.at.comm)));
  if (there == receiver->comms.end() || there->second.comm != own->second.comm) return;
  receiver->knows.for_each_left([&](const ClockPart& part) { sender->knows.learn_named(part); });
  if (receiver->left.of) sender->knows.learn_named(receiver->left);
}

}  // namespace

// Conditions never become false again. So if the condition of a wait holds already, no step is
// added, whatever steps precede it.
void step_need_receive(const WaitingCall& call, uint64_t message_id, const SharedCall* awaited) {
  if (!follows_steps()) return;
  Unbuffered& u = call.rank->unbuffered;
  const CallRecord& send = awaited ? **awaited : *call.call;
  if (!u.written && forget_receive_begun(&u, message_id))
    return learn_what_receiver_left(call.rank, send);
  add(call.rank,
      {.kind = UnbufferedStep::kNeedReceive,
       .member = receiver_of(*call.rank, send),
       .id = message_id},
      &call, awaited);
}

void step_need_send(const WaitingCall& call, uint64_t message_id, const SharedCall* awaited) {
  if (!follows_steps()) return;
  if (call.rank->unbuffered.written || begun_by(sender_of(message_id)).first < message_id)
    add(call.rank, {.kind = UnbufferedStep::kNeedSend, .id = message_id}, &call, awaited);
}

namespace {

/// The communicator for whose members a collective call waits: the other group's side of an
/// intercommunicator.
CheckedComm* waited_for(CheckedComm* comm) { return comm->inter ? remote_side(*comm) : comm; }

/// `of`: the call that began the operation.
void need_members(const WaitingCall& waits, const CollectiveCall& collective, const CallRecord& of,
                  const SharedCall* awaited) {
  const AwaitedMembers awaited_of = awaited_members(of.info(), collective.is_root);
  if (awaits_nobody_known(awaited_of)) return;
  CheckedComm* comm = waited_for(collective.comm);
  UnbufferedStep s = {.kind = UnbufferedStep::kNeedAll, .number = collective.number, .comm = comm};
  if (awaited_of == AwaitedMembers::kRoot) {
    s.kind = UnbufferedStep::kNeedRoot;
    s.member = static_cast<int>(of.at(of.info().at.root));
    // MPI_PROC_NULL: the rank is in the root's group.
    if (s.member < 0 || s.member >= comm->size) return;
    if (!waits.rank->unbuffered.written && root_has_entered(comm, s.member, s.number)) return;
  }
  add(waits.rank, std::move(s), &waits, awaited);
}

/// Is it known that all members have entered the call? Unknown for a rank whose steps
/// are in the spool.
bool all_have_entered(const Rank& rank, const CollectiveCall& collective) {
  return !rank.unbuffered.written &&
         entered_of(waited_for(collective.comm)).all() > collective.number;
}

}  // namespace

void step_need_members(const WaitingCall& call, const CollectiveCall& collective,
                       const SharedCall* awaited) {
  if (!follows_steps() || all_have_entered(*call.rank, collective)) return;
  need_members(call, collective, awaited ? **awaited : *call.call, awaited);
}

void on_step(int process, const Progress& progress) {
  if (!follows_steps()) return;
  if (progress.kind == Progress::kEntered) {
    on_entered(process, progress);
  } else if (progress.kind == Progress::kReceiveBegun) {
    if (is_local(sender_of(progress.of))) notify_sender(progress.of, progress.number != 0);
  } else if (progress.kind == Progress::kSendBegun) {
    RemoteSender& sender = g_senders[sender_of(progress.of)];
    sender.begun = std::max(sender.begun, progress.of);
    wake(&sender.waiting);
  }
  wake_all();
}

void write_steps_left() {
  if (!follows_steps()) return;
  for (const auto& rank : g_process.all)
    if (rank &&
        (rank->unbuffered.first < rank->unbuffered.steps.size() || rank->unbuffered.written))
      write(rank.get());
}

}  // namespace fgmpi::check
