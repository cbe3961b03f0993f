// What the checker needs to know about each MPI function: the types of the table that
// generate.py writes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::check {

inline constexpr size_t kMostArguments = 14;

/// The meaning of a parameter.
enum class ParameterUse : uint8_t {
  kPlain,
  kRead,
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

/// The effect of a call on the object behind a handle.
enum class Life : uint8_t { kNothing, kBorrowed, kCreated, kFreed, kChanged, kCompleted, kStarted };

/// The group of functions that the checker treats alike.
enum class CallRole : uint8_t {
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
  kCreation,  ///< also collective: makes a communicator, window or file
  kPartitionedSend,
  kPartitionedReceive,
  kPartition,  ///< readies or queries single partitions
};

inline constexpr CallRole kFirstOfMessages = CallRole::kSend,
                          kLastOfMessages = CallRole::kMatchedReceive;

enum class Starts : uint8_t { kBlocking, kNonblocking, kPersistent };

/// The collective operation of a blocking, nonblocking or persistent call.
enum class Collective : uint8_t {
  kNone,
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kExscan,
  kNeighbor,
};

/// The positions of the parameters that the checker accesses by name; -1 where the call has none. A
/// call with one buffer has it at both the send and the receive positions.
struct Positions {
  int8_t target, comm, root, op, dest, source, send_tag, recv_tag;
  int8_t send_buffer, send_count, send_type, recv_buffer, recv_count, recv_type;
  int8_t given, made;  ///< requests that the call is given, and that it makes
  int8_t flag, index, out_count, indices, message;
};

/// Sets of a call's parameters: bit i stands for parameter i.
struct ParameterSets {
  uint16_t used;     ///< single handles of tracked objects that the call uses but does not make
  uint16_t changed;  ///< handles of objects that the call makes, frees or changes
  uint16_t buffers;
  uint16_t results;  ///< what the call writes, other than buffers and statuses
  /// Numbers and handles, except the communicator, that members of a collective usually give alike.
  uint16_t agreed;
  /// All that the checker compares is in the arguments themselves, not in arrays or
  /// behind pointers.
  bool in_words;
};

}  // namespace fgmpi::check
