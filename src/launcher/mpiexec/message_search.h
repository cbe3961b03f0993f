// Which receive took which message, from the order of events: the messages to one rank of a
// repeated run.
//
// All ranks run in one process, so a message is at its receiver when its send begins, and matches
// the eldest receive that waits for it; a receive matches the eldest message (MPI-4.0 section
// 3.5). The order of events therefore says it all. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

namespace fgmpi::launcher {

class MessageSearch {
 public:
  /// A send to the rank, or a receive of the rank.
  struct MessageEnd {
    uint64_t event;
    int32_t source;  ///< a rank of the job; of a receive also MPI_ANY_SOURCE
    int32_t tag;     ///< of a receive also MPI_ANY_TAG
    uint16_t comm;
  };

  void send(const MessageEnd& message);
  /// Posts a receive. Returns a number for it.
  size_t receive(const MessageEnd& pattern);
  /// A probe takes the eldest message of this envelope, for a receive. Returns a number as
  /// receive() does.
  size_t take(const MessageEnd& pattern);
  /// Removes a receive that has not matched yet.
  void cancel(size_t receive);
  /// The event of the send that the receive has matched; 0: none yet.
  uint64_t sender_of(size_t receive) const { return senders_[receive]; }

 private:
  struct PostedPattern {
    MessageEnd pattern;
    size_t number;
  };
  struct CommQueues {
    std::list<PostedPattern> posted;
    std::list<MessageEnd> unexpected;
  };
  std::unordered_map<uint16_t, CommQueues> queues_;
  std::vector<uint64_t> senders_;  ///< by the numbers of receives
};

}  // namespace fgmpi::launcher
