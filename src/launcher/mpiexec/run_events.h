// All events of a repeated run, and which of them sent what another one received.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/mpiexec/listed_events.h"
#include "rewind/hooks.h"

namespace fgmpi::launcher {

class RunEvents {
 public:
  RunEvents(pid_t process, ReportReader* reader) : reader_(*reader), table_(process, reader) {}
  /// Adds the events that the reader has received last.
  void add_received();

  /// The run follows a witness, which decides in place of MPI's rules what a receive takes.
  void follow_witness() { follows_witness_ = true; }
  bool follows_witness() const { return follows_witness_; }

  uint64_t count() const { return events_.size(); }
  /// REQUIRES: 1 <= event <= count(), here and below.
  const RunEvent& at(uint64_t event) const { return events_[event - 1]; }
  /// The event's line, without its number.
  std::string line_of(uint64_t event) { return table_.words(at(event)); }
  std::string call_words(uint64_t event) { return table_.call_words(at(event)); }
  const std::string& place_of(uint64_t event) { return table_.place_of(at(event)); }
  /// The communicator in words; "": the call has none.
  std::string comm_of(uint64_t event) {
    return at(event).comm ? table_.comm_words(at(event).comm) : "";
  }
  const ListedCall& call_of(uint64_t event) { return table_.call_of(at(event)); }
  /// The event `steps` before (or, less than 0, behind) this one among those of the rank; 0: none.
  uint64_t find_step(uint64_t event, int32_t rank, int64_t steps) const;

  /// The receives of an event: those that it posts, or that it completes.
  struct Receives {
    size_t count = 0;
    std::vector<uint64_t> senders;  ///< the sends that they have matched; fewer: some wait
  };
  Receives find_receives(uint64_t event);

 private:
  friend class ReceiveFollower;
  struct EventDetail {
    uint64_t event;
    uint64_t position;  ///< events that had begun
    rewind::CallDetail::CallDetailKind kind;
    int32_t rank, handle, partner_in_job, partner, tag;
    uint16_t comm;
  };

  ReportReader& reader_;
  EventTable table_;
  std::vector<RunEvent> events_;
  std::vector<EventDetail> details_;
  bool follows_witness_ = false;
};

}  // namespace fgmpi::launcher
