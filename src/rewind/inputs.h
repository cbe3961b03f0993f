// Records of the stream kInputs.
//
//   | events since the record before | tag | what the tag says |
//
// Thread rule: the scheduler's thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::rewind {

/// Tags below kFirstCallTag; a system call has its number added to that.
enum InputTag : uint64_t {
  kClockTag,
  kCatchUpTag,
  kRandomTag,
  kProcessTag,
  kCounterTag,
  kSignalTag,
  kFirstCallTag = 16
};

/// Is the next record of the repeated run one of this tag, at this event, whose first value is
/// `first`? REQUIRES: records of this tag begin with a value.
bool is_next_input(uint64_t tag, int64_t first);

/// Begins a record, or reads the beginning of the next one, which has to be of this tag.
void begin_input(uint64_t tag);
/// Writes a value to the record, or replaces it by the recorded one.
void pass(int64_t* value);
void pass_bytes(void* bytes, size_t size);
void end_input();

/// Writes the value, or compares it with the recorded one: `what` names it.
void pass_compared(uint64_t value, const char* what);

}  // namespace fgmpi::rewind
