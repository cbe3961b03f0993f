// The commands of a visit.

#include "launcher/mpiexec/visited_run.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <iostream>
#include <sstream>

#include "base/clock.h"
#include "base/strings.h"

namespace fgmpi::launcher {
namespace {

class EventVisit {
 public:
  explicit EventVisit(RewoundRun* run) : run_(*run), events_(run->events()) {}

  /// `words`: the end of the answer.
  bool go_to(uint64_t event, const std::string& words = "") {
    pid_t process = 0;
    const int64_t start = now_ns();
    if (const Status gone = run_.go_to(event, &process); !gone.ok()) {
      say(gone.what());
      return false;
    }
    at_ = event;
    behind_ = false;
    const double seconds = 1e-9 * static_cast<double>(now_ns() - start);
    say(format("at %" PRIu64 " of %" PRIu64 ": %s: process %d, in %.3f s%s", event, events_.count(),
               events_.line_of(event).c_str(), process, seconds, words.c_str()));
    return true;
  }

  /// Returns false behind "quit".
  bool follow(const std::string& line) {
    std::istringstream in(line);
    std::string command, word;
    in >> command >> word;
    const std::optional<int64_t> number = parse_int(word);
    if (command == "goto" && (number || word == "last"))
      go_to(number ? static_cast<uint64_t>(*number) : events_.count());
    else if (command == "back")
      step(number.value_or(1));
    else if (command == "forward")
      step(-number.value_or(1));
    else if (command == "rank" && number)
      go_to_rank(*number);
    else if (command == "events")
      list(number.value_or(-1));
    else if (command == "sender")
      go_to_sender(static_cast<size_t>(std::max<int64_t>(number.value_or(1), 1)));
    else if (command == "here" && number)
      stand_behind(static_cast<uint64_t>(*number), read_number(&in));
    else if (command == "find" && number)
      find(static_cast<uint64_t>(*number), &in);
    else if (command == "before" && number)
      say_snapshot_before(static_cast<uint64_t>(*number));
    else if (command == "snapshots")
      say(format("%zu snapshots, %.1f MiB", run_.snapshots(),
                 static_cast<double>(run_.snapshot_bytes()) / (1 << 20)));
    else if (!command.empty() && command != "quit")
      say(command +
          ": allowed are goto EVENT, back, forward, rank, events, sender, "
          "snapshots, quit");
    return command != "quit";
  }

 private:
  static void say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }

  static int64_t read_number(std::istringstream* in) {
    int64_t number = 0;
    *in >> number;
    return number;
  }

  void stand_behind(uint64_t event, int64_t rank) {
    at_ = std::clamp<uint64_t>(event, 1, events_.count());
    const uint64_t own = events_.find_step(at_ + 1, static_cast<int32_t>(rank), 1);
    behind_ = own != 0;
    if (own) at_ = own;
    say(format("here %" PRIu64, at_));
  }

  void find(uint64_t event, std::istringstream* in) {
    const auto rank = static_cast<int32_t>(read_number(in));
    say(format("event %" PRIu64, events_.find_step(event, rank, read_number(in))));
  }

  void say_snapshot_before(uint64_t event) {
    const uint64_t found = run_.snapshot_before(event);
    say(found ? format("snapshot %" PRIu64, found) : "no snapshot");
  }

  void step(int64_t steps) {
    // Behind an event, that event is the first one before.
    if (behind_ && steps > 0 && --steps == 0) return static_cast<void>(go_to(at_));
    const uint64_t event = events_.find_step(at_, events_.at(at_).rank, steps);
    if (event)
      go_to(event);
    else
      say(format("rank %d has no such event", events_.at(at_).rank));
  }

  void go_to_rank(int64_t rank) {
    const uint64_t event =
        events_.at(at_).rank == rank ? at_ : events_.find_step(at_, static_cast<int32_t>(rank), 1);
    if (event)
      go_to(event);
    else
      say(format("rank %lld has no event up to here", static_cast<long long>(rank)));
  }

  /// To where the event's message was sent, the one of this number where there are several.
  void go_to_sender(size_t number) {
    if (events_.follows_witness())
      return say("sender: the run follows a witness, which says itself what each receive takes");
    const RunEvents::Receives receives = events_.find_receives(at_);
    const std::string call = events_.call_of(at_).name;
    if (receives.count == 0)
      return say(call + " receives no message; allowed is a receive, or a wait for one");
    if (receives.senders.empty())
      return say("no message has matched this " + call + " up to the end of the run");
    if (number > receives.senders.size())
      return say(
          format("sender %zu: allowed is a number from 1 to %zu", number, receives.senders.size()));
    go_to(receives.senders[number - 1], format("; message %zu of %zu", number, receives.count));
  }

  void list(int64_t rank) {
    constexpr size_t kMostLines = 20;
    std::vector<uint64_t> found;
    for (uint64_t event = at_; event > 0 && found.size() < kMostLines; --event)
      if (rank < 0 || events_.at(event).rank == rank) found.push_back(event);
    std::reverse(found.begin(), found.end());
    for (uint64_t event : found)
      say(format("%" PRIu64 " %s", event, events_.line_of(event).c_str()));
    say("end");
  }

  RewoundRun& run_;
  RunEvents& events_;
  uint64_t at_ = 1;
  bool behind_ = false;  ///< the debugger has run on from event at_ by itself
};

}  // namespace

int visit(RewoundRun* run, uint64_t event) {
  if (run->events().count() == 0) {
    std::fprintf(stderr, "mpiexec: -goto: the run has no events\n");
    return 1;
  }
  EventVisit now(run);
  if (!now.go_to(event ? event : run->events().count())) return 1;
  for (std::string line; std::getline(std::cin, line);)
    if (!now.follow(line)) break;
  return 0;
}

}  // namespace fgmpi::launcher
