// The words between a process under exploration and the explorer (src/readers/exploration), over a
// stream socket.
//
//   | length 4 | kind 1 | fields, as base/fields.h encodes them |
//
//   process -> explorer
//     kHello: execution 4, pid 4   the process runs this execution, or is a starting point
//                                  (execution 0); sent with the descriptors of its standard
//                                  output and errors
//     kQuestion: number 4, Choice...  what can happen next
//     kPast: EventSet              the events that had to happen before the latest event
//     kRace: event 4, early 1, by 4, 2 EventSets   a Race
//     kMatch: sender 4, Choice     as Chooser::report_match(); only in a traced execution
//     kUnable                      the answer to kKeep of a process with threads, which a fork
//                                  would lose, or with files of its own, which a fork would share
//     kReaped: pid 4, status 4     as waitpid() returns them
//     kLimit: Limit 1              some possibilities are not among the choices
//     kRedundant                   others show everything that this execution leads to
//   explorer -> process
//     kTake: index 4               this choice happens
//     kStop                        the execution is no longer needed
//     kKeep                        become a starting point; a fork continues the execution
//     kRun: execution 4, traced 1  to a starting point: fork an execution
//     kReap: pid 4                 wait for the end of this child
//
// Both ends are of one build. System calls are made directly, because the library interposes some
// of them for its programs. Thread rule: one thread for each end.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "explore/choice.h"

namespace fgmpi::explore {

enum class ChannelWord : uint8_t {
  kHello = 1,
  kQuestion,
  kPast,
  kRace,
  kReaped,
  kLimit,
  kRedundant,
  kMatch,
  kUnable,
  kTake,
  kStop,
  kKeep,
  kRun,
  kReap
};

/// A word's kind and fields.
using Bytes = std::vector<uint8_t>;
Bytes begin_word(ChannelWord word);

void append(Bytes* out, const std::vector<Choice>& choices);
std::vector<Choice> read_choices(FieldReader* in);
void append(Bytes* out, const EventSet& set);
EventSet read_set(FieldReader* in);

/// Appends a word with its length in front.
void add_frame(Bytes* out, const Bytes& word);
/// Sends all bytes, however long that takes. Returns false where the other end is gone.
bool send_bytes(int fd, const Bytes& framed);
bool send_word(int fd, const Bytes& word);
/// The two descriptors that come with kHello.
using Outputs = std::array<int, 2>;
bool send_hello(int fd, const Bytes& word, const Outputs& outputs);
/// Receives the bytes that have arrived, at most `size`, and returns as recv() does; never waits.
/// Descriptors that come with them replace those in *outputs, which are closed; the new ones are
/// close-on-exec.
ssize_t receive_some(int fd, void* bytes, size_t size, Outputs* outputs);
void close_outputs(Outputs* outputs);
/// Waits for a whole word. Returns false where the other end is gone.
bool receive_word(int fd, Bytes* bytes);
/// The socket on which the explorer listens, in its folder.
std::string socket_path(const std::string& folder);
/// A new connection to the explorer; -1: it is gone (errno).
int connect_to(const std::string& folder);

}  // namespace fgmpi::explore
