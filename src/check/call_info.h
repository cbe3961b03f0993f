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
  kPartitionedSend,
  kPartitionedReceive,
  kPartition,  ///< says or asks something of single partitions
};

inline constexpr Role kFirstOfMessages = Role::kSend, kLastOfMessages = Role::kMatchedReceive;

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
  kNeighbor,  ///< any of the neighbourhood collectives
};

/// Where a call has the parameters that are looked at by name; -1: nowhere. Of a call with one
/// buffer, both names are its.
struct Positions {
  int8_t target, comm, root, op, dest, source, send_tag, recv_tag;
  int8_t send_buffer, send_count, send_type, recv_buffer, recv_count, recv_type;
  int8_t given, made;  ///< requests that the call is given, or makes
  int8_t flag, index, out_count, indices, message;
};

/// Sets of parameters of a call: bit i is the i-th.
struct ParameterSets {
  uint16_t used;  ///< single handles of objects that are followed and that the call does not make
  uint16_t changed;  ///< handles of objects that it makes, frees or changes
  uint16_t buffers;
  uint16_t results;  ///< what it writes, but buffers and statuses
  /// Numbers and handles, the communicator aside, that members of a collective mostly give alike.
  uint16_t agreed;
  /// What is looked at is all in the words of the call: none of it is in arrays or behind pointers.
  bool in_words;
};

}  // namespace fgmpi::check
