// The words between a process under exploration and the explorer (src/readers/exploration), over a
// stream socket.
//
//   | length 4 | kind 1 | fields, as base/fields.h puts them |
//
//   process -> explorer   kHello: execution 4, pid 4       it runs this execution; execution 0: it
//                                                          serves as a starting point. With it come
//                                                          the descriptors of its standard output
//                                                          and errors
//                         kQuestion: number 4, Choice...   what can happen next
//                         kPast: EventSet                  what had to happen before the event
//                           chosen last
//                         kRace: event 4, early 1, by 4, 2 EventSets  Race
//                         kMatch: sender 4, Choice         as Chooser::tell_match(), in an
//                           execution that is traced
//                         kUnable                          as an answer to kKeep: it has threads,
//                                                          which a fork would lose, or files of its
//                                                          own, which it would share
//                         kReaped: pid 4, status 4         as waitpid() gives it
//                         kLimit: Limit 1                  not everything that is possible is among
//                           the choices
//                         kRedundant                       this execution leads to nothing that
//                           others do not show
//   explorer -> process   kTake: index 4                   this choice happens
//                         kStop                            the execution is of no interest any more
//                         kKeep                            become a starting point; a fork goes on
//                           with the execution
//                         kRun: execution 4, traced 1      (to a starting point) fork an execution
//                         kReap: pid 4                     wait for the end of this fork of yours
//
// Both ends are of one build. System calls are made directly: the library stands in front of some
// for its programs. Thread rule: one thread an end.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "explore/choice.h"

namespace fgmpi::explore {

enum class Word : uint8_t {
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

/// A word with its fields.
using Bytes = std::vector<uint8_t>;
Bytes begin_word(Word word);

void append(Bytes* out, const std::vector<Choice>& choices);
std::vector<Choice> read_choices(FieldReader* in);
void append(Bytes* out, const EventSet& set);
EventSet read_set(FieldReader* in);

/// Puts a word into its frame.
void add_frame(Bytes* out, const Bytes& word);
/// Sends it all, however long that takes. False: the other end is gone.
bool send_bytes(int fd, const Bytes& framed);
bool send_word(int fd, const Bytes& word);
/// The two descriptors of kHello.
using Outputs = std::array<int, 2>;
bool send_hello(int fd, const Bytes& word, const Outputs& outputs);
/// What is there of the next bytes, at most `size`, as recv() returns it; never waits. Descriptors
/// that come with them (new ones, close-on-exec) are put into *outputs, which are closed before.
ssize_t receive_some(int fd, void* bytes, size_t size, Outputs* outputs);
void close_outputs(Outputs* outputs);
/// Waits for a whole word. False: the other end is gone.
bool receive_word(int fd, Bytes* bytes);
/// The socket on which the explorer listens, in its folder.
std::string socket_path(const std::string& folder);
/// A new connection to it; -1: it is gone (errno).
int connect_to(const std::string& folder);

}  // namespace fgmpi::explore
