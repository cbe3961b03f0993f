// Races: a receive or probe of MPI_ANY_SOURCE, or a call that completes one of several requests,
// that could have matched another message in another run.
//
// A receive that matched one message could have matched that of another sender, if that message
// fits and its sender did not know, through messages or collectives, that the receive was complete
// (vector clocks, clock.h). Two kinds of messages are considered: those matched by receives that
// were posted later, and those never matched. The order of ranks is not fully tracked: collectives
// of several processes without the receiver, windows and other jobs also impose order. Then nothing
// is reported.
#include <unordered_set>

#include "base/hash.h"
#include "check/call.h"
#include "check/messages/messages.h"

namespace fgmpi::check {

namespace {

/// A complete receive or probe of MPI_ANY_SOURCE.
struct Wildcard {
  uint64_t number = 0;  ///< in the order of posting
  uint32_t event = 0;
  const CheckedComm* comm = nullptr;
  int tag = 0, taken_world = 0;
  bool status_read = true, probe = false;
  SharedCall call, sender;
  MPI_Datatype type = MPI_BYTE;
  int64_t count = 0;
};

/// A receive from one source for which the other message was meant. Whether the race matters is
/// decided at the end: if that source sends more, and a receive of any source matches it, the race
/// is harmless.
struct Needed {
  Wildcard wildcard;
  QueuedMessage message;
  SharedCall receive;
  const CheckedComm* comm;
};

}  // namespace

struct Races {
  std::deque<Wildcard> done;
  std::vector<Needed> needed;
  std::unordered_set<uint64_t> reported;  ///< hashes of the sites that were reported
};

namespace {

/// The number of wildcards that are remembered and compared with each message; older
/// ones are forgotten.
constexpr size_t kMostWildcards = 256;

Races& races_of(Rank* rank) {
  if (!rank->races) rank->races = std::make_shared<Races>();
  rank->in_turn = false;
  return *rank->races;
}

using EventsAtCalls = std::vector<std::pair<uint64_t, uint32_t>>;

/// OwnComm::events of the communicator with this name in clocks, also of one that the rank has
/// freed; null: it has not been a member, or that was long ago.
const EventsAtCalls* events_of(const Rank& rank, uint64_t of) {
  for (const auto& [handle, own] : rank.comms)
    if (of_comm(without_side(own.comm->key)) == of) return &own.events;
  for (auto past = rank.past_events.rbegin(); past != rank.past_events.rend(); ++past)
    if (past->first == of) return &past->second;
  return nullptr;
}

}  // namespace

uint64_t known_events(const Rank& rank, const Knowledge& knows) {
  uint64_t events = known(knows.clock, of_rank(rank.world));
  knows.for_each_comm([&](const ClockPart& part) {
    const EventsAtCalls* own = events_of(rank, part.of);
    if (!own) {
      events = UINT64_MAX;  // another communicator's order is unknown here
      return;
    }
    for (const auto& [number, at] : *own)
      if (number < part.count) events = std::max<uint64_t>(events, at);
  });
  return events;
}

findings::Participant sender_of(int world, const CallRecord& call, const char* role) {
  return {world, call.info().name, arguments_of(call, nullptr), call.site, role};
}

void report_once(Rank* rank, FindingKind kind, const char* sentence, const char* allowed, bool note,
                 std::vector<findings::Participant> calls) {
  uint64_t key = hash_text(sentence);
  for (const auto& call : calls) key = mix(key, call.site);
  if (races_of(rank).reported.insert(key).second)
    report(kind, sentence, allowed, std::move(calls), note);
}

namespace {

void report_race_once(Rank* rank, const char* sentence, const char* allowed, bool note,
                      std::vector<findings::Participant> calls) {
  report_once(rank, FindingKind::kRaces, sentence, allowed, note, std::move(calls));
}

void report_possibly_harmless(Rank* rank, const Wildcard& w, const QueuedMessage& other) {
  report_race_once(
      rank,
      w.probe ? "a probe of any source could have found another message first"
              : "a receive from any source could have taken another message",
      w.status_read
          ? "harmless only if the program goes by the source in the status, whichever comes first"
          : "the status is not looked at: harmless only if either message does in the other's "
            "place",
      true,
      {participant(rank, w.call), sender_of(w.taken_world, w.sender, "sent what it took"),
       sender_of(other.source_world(), other.call, "sent what it could have taken")});
}

void report_needed_order(Rank* rank, const Needed& n) {
  report_race_once(
      rank, "a receive from any source could take the message that a later receive waits for",
      "another tag, communicator or order for what must not be taken by a receive from any source",
      false,
      {participant(rank, n.wildcard.call),
       sender_of(n.wildcard.taken_world, n.wildcard.sender, "sent what it took"),
       sender_of(n.message.source_world(), n.message.call, "sent what it could have taken"),
       participant(rank, n.receive, "would wait for ever")});
}

bool fits(const QueuedMessage& m, const Wildcard& w) {
  const TypeLayout* l = layout_of(w.type);
  if (l && m.bytes() > l->size * w.count) return false;
  return m.signature() == beginning_of(w.type, w.count, m.signature().length);
}

void report_race(Rank* rank, const Wildcard& w, const QueuedMessage& other,
                 const CheckedReceive* taker) {
  if (!w.probe && !fits(other, w))
    return report_race_once(
        rank, "a receive from any source could take a message of other types, or a longer one",
        "another tag, communicator or order for messages of another kind", false,
        {participant(rank, w.call), sender_of(w.taken_world, w.sender, "sent what it took"),
         sender_of(other.source_world(), other.call, "sent what it could have taken")});
  // A program that reads the status can wait for whichever message is missing.
  if (!w.probe && !w.status_read && taker && taker->source != MPI_ANY_SOURCE && !taker->probe)
    races_of(rank).needed.push_back({w, other, taker->call, taker->comm});
  else
    report_possibly_harmless(rank, w, other);
}

/// Reports a race of the message with the latest wildcard, posted before `before`, that could
/// have matched it.
void find_race(Rank* rank, const QueuedMessage& m, const CheckedComm* comm, uint64_t before,
               const CheckedReceive* taker) {
  if (!rank->races || g_process.order_unknown) return;
  const uint64_t events = known_events(*rank, m.known);
  const auto& done = rank->races->done;
  for (auto w = done.rbegin(); w != done.rend(); ++w) {
    if (w->event <= events) return;
    if (w->comm != comm || w->number >= before || w->taken_world == m.source_world() ||
        (w->tag != MPI_ANY_TAG && w->tag != m.tag()))
      continue;
    return report_race(rank, *w, m, taker);
  }
}

void remember(Rank* rank, Wildcard w) {
  Races& races = races_of(rank);
  races.done.push_back(std::move(w));
  if (races.done.size() > kMostWildcards) races.done.pop_front();
}

}  // namespace

bool could_be_of_earlier(Rank* rank, const QueuedMessage& m, const CheckedComm* comm,
                         uint64_t number) {
  if (!rank->races) return false;
  const uint64_t events = known_events(*rank, m.known);
  const auto& done = rank->races->done;
  for (auto w = done.rbegin(); w != done.rend(); ++w) {
    if (w->event <= events) return false;
    if (w->comm == comm && w->number < number && w->taken_world != m.source_world() &&
        (w->tag == MPI_ANY_TAG || w->tag == m.tag()))
      return true;
  }
  return done.size() >= kMostWildcards;
}

void record_synchronous_end(Rank* rank, int receiver_world) {
  if (!g_process.follows_order()) return;
  // An overestimate, which hides races but reports none falsely: the receive may be the pending one
  // or any that was posted.
  const Rank* to = local_rank(receiver_world);
  const uint64_t events =
      is_local(receiver_world) ? (to ? to->events + 1 + to->posted.size() : 1) : uint64_t{1} << 62;
  learn(&rank->knows.clock, of_rank(receiver_world), events);
}

uint32_t next_event(Rank* rank) {
  if (!g_process.follows_order()) return 0;
  ++rank->events;
  learn(&rank->knows.clock, of_rank(rank->world), rank->events);
  return rank->events;
}

void record_matched_message(Rank* rank, const QueuedMessage& m, const CheckedReceive& p) {
  if (!g_process.follows_order()) return;
  check_ready_send(rank, m, p);
  find_race(rank, m, p.comm, p.number, &p);
  if (p.passed && !g_process.order_unknown && known_events(*rank, m.known) < p.passed)
    report_race_once(
        rank,
        "a call that completes one of several requests could have completed another one first",
        "harmless only if the order in which the requests are complete does not matter", true,
        {participant(rank, *p.passed_by), participant(rank, p.call, "could have been first"),
         sender_of(m.source_world(), m.call, "sent what it received")});
  if (p.source != MPI_ANY_SOURCE) return;
  if (rank->races)
    std::erase_if(rank->races->needed, [&](const Needed& n) {
      if (n.message.source_world() != m.source_world() || n.comm != p.comm) return false;
      report_possibly_harmless(rank, n.wildcard, n.message);
      return true;
    });
  remember(rank, {p.number, p.event, p.comm, p.tag, m.source_world(), p.status_read, false, p.call,
                  m.call, receive_type_of(p.call), receive_count_of(p.call)});
}

void record_probed_message(CheckedCall* call, const QueuedMessage& m) {
  Rank* rank = call->rank();
  rank->knows.learn(m.known);
  if (call->value(&Positions::source) != MPI_ANY_SOURCE || !g_process.follows_order()) return;
  const OwnComm* own = rank->comm_of(static_cast<MPI_Comm>(call->value(&Positions::comm)));
  remember(rank, {++rank->next_posted, next_event(rank), own->comm,
                  static_cast<int>(call->value(&Positions::recv_tag)), m.source_world(),
                  call->status_read(), true, call->kept(), m.call});
}

void record_passed_receives(CheckedCall* call, std::span<const CompletedEntry> done) {
  if (!call->has(&Positions::index) && !call->has(&Positions::out_count)) return;
  if (done.empty() || !g_process.follows_order()) return;
  Rank* rank = call->rank();
  SharedCall record;
  for (size_t i = 0; i < call->requests().size(); ++i) {
    bool completed = false;
    for (const CompletedEntry& c : done) completed = completed || c.position == static_cast<int>(i);
    auto found = completed ? nullptr : rank->requests.find(call->requests()[i]);
    if (!found || !found->second.posted || found->second.posted->passed) continue;
    if (!record) {
      record = call->kept();
      next_event(rank);
    }
    found->second.posted->passed = rank->events;
    found->second.posted->passed_by = record;
  }
}

void check_unreceived_message(Rank* rank, const QueuedMessage& m, const CheckedComm* comm) {
  find_race(rank, m, comm, UINT64_MAX, nullptr);
}

void report_races(Rank* rank) {
  if (!rank->races) return;
  for (const Needed& n : rank->races->needed)
    if (!g_process.order_unknown) report_needed_order(rank, n);
  rank->races->needed.clear();
}

}  // namespace fgmpi::check
