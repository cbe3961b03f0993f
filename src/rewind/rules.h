// What is done with each system call of a recorded run.
//
// Thread rule: none (a constant table).
#pragma once

#include <cstdint>

namespace fgmpi::rewind {

enum class CallAnswer : uint8_t {
  kRefused,     ///< nobody knows what it would do: the run is not recorded any further
  kMade,        ///< made again when the run is repeated: it changes only the process itself
  kPlaced,      ///< as kMade; its answer is an address, which has to be the recorded one
  kGiven,       ///< not made again: the recorded answer is given
  kOfFile,      ///< as the descriptor's kind says (descriptors.h)
  kDescriptor,  ///< as kGiven; the answer is a new descriptor
  kMissing,     ///< answered as by a kernel that lacks it
  kSpecial,     ///< by a function of its own
};

/// Memory that the kernel writes: where a given answer puts the recorded bytes.
struct WrittenMemory {
  enum Size : uint8_t {
    kNothing,
    kFixed,    ///< `number` bytes
    kResult,   ///< as many bytes as the result says
    kRecords,  ///< result times `number` bytes
    kPointed,  ///< the argument `number` points to the size, which the kernel changes, too
  } size = kNothing;
  uint8_t argument = 0;
  uint16_t number = 0;
};

struct CallRule {
  uint16_t number = 0;
  CallAnswer answer = CallAnswer::kRefused;
  WrittenMemory written[2] = {};
};

/// The rule of a system call; an unknown one is refused.
const CallRule& rule_of(long number);

/// Is the call one whose answer is an address, a hash of which is all that is recorded?
bool is_placed_call(long number);

}  // namespace fgmpi::rewind
