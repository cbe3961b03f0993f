// The procedures of mpi_f08 with choice buffers: which of their arguments are buffers, and how much
// of these a call uses.
//
// All arguments are addresses, since Fortran passes by reference, but for the lengths of strings.
// The descriptions are generated with libmpichfort's procedures
// (src/mpichfort/generate/sections.py). Thread rule: any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fgmpi::fortran {

using Argument = void*;
/// The position of an argument in a call; kAbsent where the call has no argument of that kind.
using ArgumentIndex = uint8_t;
inline constexpr ArgumentIndex kAbsent = 255;

/// How much of a buffer a call uses.
enum class BufferAmount : uint8_t {
  kElements,    ///< `count` elements
  kOneElement,  ///< one element of a predefined type; the call has no count
  kBytes,       ///< `count` bytes
  kPartitions,  ///< `count` elements, as many times as there are partitions
  kBlocks,      ///< `count` elements for each rank or neighbour
  kList,        ///< counts and displacements in elements for each rank or neighbour
  kTypedList,   ///< counts, displacements in bytes, and types
  kSum,         ///< reduce-scatter: the sum of the counts
  kOwnPart,     ///< reduce-scatter: the count of the calling rank; in place, the sum of the counts
  kAddress,     ///< nothing but its address: MPI_File_*_end
  kMemory,      ///< `count` bytes that MPI uses as they are: windows, attached buffers
};

/// The number of blocks or counts of a buffer: 1, the ranks of the group (of the remote group of an
/// intercommunicator), the ranks of the local group, or the neighbours in a topology.
enum class BlockCount : uint8_t { kOne, kPeers, kMembers, kSources, kDestinations };

/// The ranks that use the buffer of a rooted collective.
enum class Users : uint8_t { kAll, kRoot, kNotRoot };

struct BufferArgument {
  const char* name;
  ArgumentIndex buffer, count, type, displacements;
  BufferAmount amount;
  BlockCount parts;
  Users users;  ///< kNotRoot: on an intracommunicator, all ranks
  bool written;
  bool wide_counts, wide_displacements;  ///< 64 bits
};

/// The kind of object whose error handler is called.
enum class Answers : uint8_t { kCommunicator, kWindow, kFile };

struct Procedure {
  const char* call;   ///< "MPI_Send"
  uint8_t arguments;  ///< their number, with the error code and, behind it, the lengths of strings
  ArgumentIndex error, object, root, partitions, request;
  Answers answers;
  /// Sections are copied (staged_buffer.h); else types are composed (composed_type.h).
  bool staged;
  bool persistent;  ///< each MPI_Start copies, not the call itself
  uint8_t buffers;
  BufferArgument buffer[3];
};

inline constexpr size_t kMostArguments = 16;

}  // namespace fgmpi::fortran
