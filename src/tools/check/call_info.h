// What the checker knows of each function of MPI: words for the table that generate.py writes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::check {

inline constexpr size_t kMostArguments = 14;

/// What a parameter is.
enum class What : uint8_t {
  kPlain,
  kRead,  ///< a buffer that is read
  kWritten,
  kBoth,
  kCount,
  kCounts,
  kDispls,
  kRank,
  kRoot,
  kTag,
  kNumber,
  kText,
  kStatus,
  kStatuses,
};

/// What a call does to the object of a handle.
enum class Life : uint8_t { kNothing, kBorrowed, kCreated, kFreed, kChanged, kCompleted, kStarted };

/// How the checker looks at a call.
enum class Role : uint8_t {
  kOther,
  kSend,
  kReceive,
  kSendReceive,
  kReplace,
  kProbe,
  kMatchedProbe,
  kMatchedReceive,
  kStart,
  kCompletion,
  kCollective,
  kCreation,  ///< collective too, of a communicator, window or file
};

enum class Starts : uint8_t { kBlocking, kNonblocking, kPersistent };

}  // namespace fgmpi::check
