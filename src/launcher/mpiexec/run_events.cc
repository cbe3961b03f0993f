// The list of events, and the search for the send of a message.

#include "launcher/mpiexec/run_events.h"

#include <mpi.h>

#include <map>
#include <set>
#include <utility>

#include "launcher/mpiexec/message_search.h"

namespace fgmpi::launcher {

using rewind::CallDetail;
using rewind::MessageRole;

void RunEvents::add_received() {
  for (const rewind::ListedEvent& listed : reader_.events()) {
    if (listed.call < rewind::kFirstDetail) {
      events_.push_back(table_.convert(listed));
      continue;
    }
    const uint16_t comm = table_.number_of(listed.context);
    details_.push_back({listed.place, events_.size(),
                        static_cast<CallDetail::CallDetailKind>(listed.call - rewind::kFirstDetail),
                        listed.rank, static_cast<int32_t>(listed.count), listed.partner_in_job,
                        listed.partner, listed.tag, comm});
  }
}

uint64_t RunEvents::find_step(uint64_t event, int32_t rank, int64_t steps) const {
  const int direction = steps > 0 ? -1 : 1;
  int64_t left = steps > 0 ? steps : -steps;
  auto now = static_cast<int64_t>(event);
  while (left > 0) {
    now += direction;
    if (now < 1 || now > static_cast<int64_t>(count())) return 0;
    if (at(static_cast<uint64_t>(now)).rank == rank) --left;
  }
  return static_cast<uint64_t>(now);
}

/// Follows the messages to one rank through the run, for one event of that rank.
class ReceiveFollower {
 public:
  ReceiveFollower(RunEvents* run, uint64_t wanted)
      : run_(*run), wanted_(wanted), receiver_(run->at(wanted).rank) {}

  RunEvents::Receives follow() {
    auto detail = run_.details_.begin();
    for (uint64_t event = 1; event <= run_.count() && !is_known(event); ++event) {
      follow_event(event);
      for (; detail != run_.details_.end() && detail->position <= event; ++detail)
        follow_detail(*detail);
    }
    RunEvents::Receives found;
    for (const size_t receive : receives_) {
      ++found.count;
      if (const uint64_t sender = search_.sender_of(receive)) found.senders.push_back(sender);
    }
    return found;
  }

 private:
  using RequestOfRank = std::pair<int32_t, int32_t>;  ///< rank, handle

  bool is_known(uint64_t event) const {
    // What an event has made or taken is listed before the rank's next one begins.
    if (event <= wanted_ || run_.at(event).rank != receiver_) return false;
    for (const size_t receive : receives_)
      if (search_.sender_of(receive) == 0) return false;
    return true;
  }

  static int32_t source_of(int32_t partner, int32_t in_job) {
    return partner == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : in_job;
  }

  void send(uint64_t event, const RunEvent& e) {
    if (e.partner_in_job == receiver_) search_.send({event, e.rank, e.tag, e.comm});
  }

  size_t receive(uint64_t event, const RunEvent& e) {
    const int32_t source = source_of(e.partner, e.partner_in_job);
    const size_t number = search_.receive({event, source, e.tag, e.comm});
    if (event == wanted_) receives_.insert(number);
    last_ = {event, number};
    return number;
  }

  void follow_event(uint64_t event) {
    const RunEvent& e = run_.at(event);
    const bool sends_here = e.partner_in_job == receiver_;
    if (!sends_here && e.rank != receiver_) return;
    const ListedCall& call = run_.call_of(event);
    if (call.persistent) return;
    if (call.role == MessageRole::kSends) send(event, e);
    // What an exchange receives is a detail, which follows: the library posts it first, which is
    // the same, unless the rank sends to itself.
    if (call.role == MessageRole::kExchanges) send(event, e);
    if (call.role == MessageRole::kReceives && e.rank == receiver_ && e.partner != MPI_PROC_NULL)
      receive(event, e);
  }

  void start_request(uint64_t event, const RequestOfRank& request) {
    const auto made = persistent_.find(request);
    if (made == persistent_.end()) return;
    const MessageRole role = run_.call_of(made->second).role;
    const RunEvent& e = run_.at(made->second);
    if (role == MessageRole::kSends) send(event, e);
    if (role == MessageRole::kReceives && e.rank == receiver_ && e.partner != MPI_PROC_NULL)
      requests_[request.second] = receive(event, e);
  }

  void follow_detail(const RunEvents::EventDetail& d) {
    const RequestOfRank request{d.rank, d.handle};
    if (d.kind == CallDetail::kRequestMade && run_.call_of(d.event).persistent)
      persistent_[request] = d.event;
    if (d.kind == CallDetail::kRequestStarted) start_request(d.event, request);
    if (d.rank != receiver_) return;
    const MessageSearch::MessageEnd pattern{d.event, source_of(d.partner, d.partner_in_job), d.tag,
                                            d.comm};
    const auto pending = requests_.find(d.handle);
    const auto message = messages_.find(d.handle);
    switch (d.kind) {
      case CallDetail::kReceivesToo:
        if (d.partner == MPI_PROC_NULL) break;
        last_ = {d.event, search_.receive(pattern)};
        if (d.event == wanted_) receives_.insert(last_.second);
        break;
      case CallDetail::kRequestMade:
        if (last_.first == d.event) requests_[d.handle] = last_.second;
        break;
      case CallDetail::kRequestAwaited:
        if (d.event == wanted_ && pending != requests_.end()) receives_.insert(pending->second);
        break;
      case CallDetail::kRequestCancelled:
        if (pending != requests_.end()) search_.cancel(pending->second);
        break;
      case CallDetail::kMessageTaken:
        messages_[d.handle] = search_.take(pattern);
        if (d.event == wanted_) receives_.insert(messages_[d.handle]);
        break;
      case CallDetail::kMessageReceived:
        if (message == messages_.end()) break;
        last_ = {d.event, message->second};
        if (d.event == wanted_) receives_.insert(message->second);
        break;
      case CallDetail::kRequestStarted:
        break;
    }
  }

  RunEvents& run_;
  const uint64_t wanted_;
  const int32_t receiver_;
  MessageSearch search_;
  std::set<size_t> receives_;               ///< of the wanted event
  std::pair<uint64_t, size_t> last_{0, 0};  ///< the receiver's last receive, and its event
  std::map<RequestOfRank, uint64_t> persistent_;
  std::map<int32_t, size_t> requests_, messages_;  ///< the receiver's receives, by handles
};

RunEvents::Receives RunEvents::find_receives(uint64_t event) {
  return ReceiveFollower(this, event).follow();
}

}  // namespace fgmpi::launcher
