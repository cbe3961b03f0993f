// The file of a process of a job under mpiexec -report: counters of its ranks, in a shared mapping.
// So they survive any end of the process, and others can read them while it runs.
//
//   FOLDER/report-HOST-PID
//   | ProfileHeader, 2 KiB | ranks x 832 B | parts |
//
//   parts: modules, timeline, memory, places, communicators, collectives, one-sided, moves
//
// A part is made behind the last one when it is first needed, by the code that needs it (make_part
// in parts.h). The header stores only where it begins. The file has holes behind the parts; holes
// need neither memory nor disk.
//
// Writers: the threads of a rank write its record's counts (recorder.h), the process's sampler
// writes all times (sampler.cc). Two threads never write the same word, except that threads of one
// rank (MPI_THREAD_MULTIPLE) may lose a count. Readers read at any time: a word is whole, but sums
// may differ by some messages.
// Times are in ns, of the clock that all processes of a host share. Numbers are in the
// machine's byte order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace fgmpi::report {

inline constexpr uint64_t kMagic = 0x36'54524f'504552'46;  // "FREPORT6"
/// The prefix of the names of such files in a folder.
inline constexpr const char* kFilePrefix = "report-";
/// The prefix of empty files beside them, one for each signal by which the launcher has seen a
/// process end; the signal's number follows.
inline constexpr const char* kSignalPrefix = "signal-";

/// The classes by which times are shown, and the values of a rank's row in the timeline.
enum class Doing : uint8_t {
  kNothing,     ///< not started, or ended
  kProgram,     ///< running the program's own code
  kTurn,        ///< ready, while other ranks of its process run
  kMessage,     ///< in a send or receive
  kCompletion,  ///< in a wait, test or probe
  kCollective,  ///< in a collective, or in the creation of a communicator
  kOneSided,
  kFile,
  kOther,  ///< in another call of MPI
  kCount
};

/// One call of MPI, of one rank.
struct CallCell {
  uint64_t count;
  uint64_t bytes;  ///< bytes that the rank has sent, or given to a collective
};
/// Messages to one rank, or to 2^peer_shift() of them. The upper 20 bits of the counter hold the
/// destination as (world rank >> peer_shift()) + 1, 0 for an unused cell. The other 44 bits
/// suffice: 2^44 messages to one rank take more than a week.
struct PeerCell {
  static constexpr int kMessageBits = 44;
  uint64_t word;
  uint64_t bytes;

  uint32_t peer_and_one() const { return static_cast<uint32_t>(word >> kMessageBits); }
  uint64_t messages() const { return word & ((uint64_t{1} << kMessageBits) - 1); }
};
inline constexpr uint32_t kMostPeers = (1u << (64 - PeerCell::kMessageBits)) - 2;
inline constexpr int kPeerBits = 31;  ///< more bits than a world rank has
/// The initial value of RankRecord::peer_unit, with which each world rank has its own number.
inline uint32_t first_peer_unit(int32_t world_size) {
  uint32_t unit = 1u << kPeerBits;
  while (uint64_t{static_cast<uint32_t>(world_size)} * unit >> kPeerBits > kMostPeers) unit /= 2;
  return unit;
}
/// The time for which the rank was parked for one peer: as the source of a receive or probe, or
/// with kIsTarget as the destination of a send. When all cells are used, a further peer replaces
/// the one with the least time and adds to that time. So the sum is right, and the peers with the
/// most time remain.
struct WaitCell {
  uint32_t peer_and_one;  ///< world rank + 1; 0: unused
  uint32_t time;          ///< in ProfileHeader::time_unit
};
/// Units of such times, ns: the first one of sampled times, and the longest.
inline constexpr uint64_t kSampledUnit = 100'000, kMostTimeUnit = uint64_t{1} << 31;
/// Where ranks move, their times are in this unit in all processes. The sum ends at 49 days.
inline constexpr uint64_t kMovingUnit = 1'000'000;
inline constexpr uint32_t kIsTarget = 1u << 31;
/// The time in calls from one site of the program.
struct SiteCell {
  uint64_t site;  ///< return address, in the program as the linker loaded it
  uint64_t ns;
};
/// Messages by the way that they were sent.
struct WayCell {
  uint64_t messages;
  uint64_t bytes;
};
/// Ways: within the process (in a record: all messages of its peers that the others do not count),
/// shared memory, network.
inline constexpr int kWays = 3;

inline constexpr int kCallCells = 16;  ///< the last one counts all further calls
inline constexpr int kPeerCells = 16;
inline constexpr int kSiteCells = 4;
inline constexpr int kWaitCells = 8;

enum RankFlag : uint16_t {
  kStarted = 1,  ///< MPI_Init has returned
  kEnded = 2,    ///< in or after MPI_Finalize
  // Flags of receives from MPI_ANY_SOURCE:
  /// A receive matched another rank's message than the previous one with the same
  /// communicator and tag.
  kManySources = 4,
  kUnknownSource = 8,  ///< some were nonblocking, so their senders are unknown
};

/// The record of a rank: 832 bytes, 13 cache lines.
///
///   | 48 what it does now | 16 times | 256 calls | 256 peers | 64 times of calls | 64 places |
///   | 64 waits | 32 ways | 24 further times, stack | 8 wildcards |
///
/// A send writes three of the cache lines: the first, and one each of calls and peers, because a
/// cell lies within one line.
struct RankRecord {
  uint32_t now;  ///< number of the current call + 1; 0: in none
  /// The world rank that the call sends to, or with kIsSource receives from; kAnyPeer; kNoPeer.
  /// Keeps its value after the call.
  int32_t peer;
  uint64_t site;    ///< return address of the last call, in the rank's own image
  uint16_t flags;   ///< RankFlag
  uint16_t family;  ///< family of the communicator of a collective (FamilyRecord)
  /// 2^(kPeerBits - peer_shift()), to be multiplied by: a shift would need a register that holds a
  /// call's argument.
  uint32_t peer_unit;
  /// Sends of at most kSmall bytes to the destination of the previous call.
  uint64_t repeated;
  uint64_t any_received;  ///< receives from MPI_ANY_SOURCE
  uint64_t ended_ns;      ///< time of MPI_Finalize

  uint64_t program_ns, turn_ns;  ///< sampled: running the program; ready while others run

  CallCell calls_made[kCallCells];  ///< by ProfileHeader::slots
  PeerCell peers[kPeerCells];
  uint32_t call_times[kCallCells];  ///< time in these calls, in ProfileHeader::time_unit
  SiteCell sites[kSiteCells];
  WaitCell waits[kWaitCells];
  WayCell ways[kWays - 1];  ///< shared memory, network
  /// Time parked for a named source while kManyOthers messages of others were there.
  uint64_t behind_ns;
  uint64_t cpu_ns;       ///< processor time in the program's own code
  uint64_t stack_bytes;  ///< bytes of its stack that were written
  /// A hash of communicator and tag of the last blocking receive from MPI_ANY_SOURCE.
  uint32_t any_pattern;
  int32_t any_source;  ///< the sender of the message that it matched

  int peer_shift() const { return std::countl_zero(peer_unit); }
  /// The number that stands for a peer in PeerCell.
  uint32_t number_of(int32_t peer) const {
    return static_cast<uint32_t>(uint64_t{static_cast<uint32_t>(peer)} * peer_unit >> kPeerBits) +
           1;
  }
};
static_assert(sizeof(RankRecord) == 832 && offsetof(RankRecord, calls_made) == 64,
              "with its share of the parts of the process at most 1 KiB");

inline constexpr int32_t kNoPeer = -1000, kAnyPeer = -1001, kIsSource = 1 << 30;
inline constexpr int kManyOthers = 2;
/// Sending so many bytes costs little beside sending the message itself; smaller messages in a row
/// to one rank could be joined.
inline constexpr uint64_t kSmall = 1024;

/// The offset of a part from ProfileHeader::parts_at, in units of kPartUnit; 0: the part was not
/// made.
using Part = uint32_t;
inline constexpr uint32_t kPartsBytes = 288 << 10;  ///< of all parts; room for all tables below
inline constexpr uint32_t kPartUnit = 64;           ///< parts begin at multiples of it

/// Communicators of the process that one call of the program made, from
/// communicators of one family.
struct FamilyRecord {
  uint64_t site;
  uint64_t made;           ///< counted by the member of rank 0: communicators of the job
  uint64_t members_made;   ///< handles that ranks of the process received
  uint64_t members_freed;  ///< those of them that were freed
  uint64_t collectives;    ///< collective calls of members
  uint64_t bytes;          ///< bytes that members gave to them
  uint64_t ns;             ///< time of members in these calls, sampled
  // When members received the first and the last handle, and first and last freed one; 0: never.
  uint64_t first_made_ns, last_made_ns, first_freed_ns, last_freed_ns;
  uint64_t lived_ns;    ///< sum over the handles that were freed
  int64_t map_bytes;    ///< of the last one's map, in this process
  int32_t least, most;  ///< smallest and largest size
  uint16_t call;        ///< the call that made it
  uint16_t parent;      ///< family of the parent
  uint32_t inter;
  Part first_collective;  ///< CollectiveRecord
  char model[24], encoding[40];
  /// How often the process ran each algorithm between processes (base/algorithms.def).
  uint32_t runs[counters::kAlgorithms];
};
inline constexpr int kFamilies = 64;  ///< the last one counts all further families
inline constexpr uint16_t kWorldFamily = 0, kSelfFamily = 1;

/// Calls of one collective by members of a family.
struct CollectiveRecord {
  uint32_t call;
  Part next;  ///< the family's next record
  uint64_t count, bytes, ns;
};
inline constexpr int kCollectivesOfFamily = 128;  ///< more than there are collectives

/// One-sided operations of the process's ranks, by the ranks that bytes go from and to, or by
/// 2^ProfileHeader::remote_shift ranks each.
struct RemoteRecord {
  uint32_t from, to;
  uint64_t operations, bytes;
};
inline constexpr uint32_t kRemotes = 1536, kRemotesInPart = 64;

/// A rank has come to the process from another one of its host (mpiexec -balance).
struct ArrivalRecord {
  uint64_t ns;
  int32_t rank, from;
};
inline constexpr uint32_t kMoves = 2048;  ///< those that a process records; others are only counted

/// The time of all ranks of the process in calls from one site.
struct SiteRecord {
  uint64_t site;
  uint64_t ns;
  uint32_t call;
  uint32_t unused;
};
inline constexpr uint32_t kSites = 512, kSitesInPart = 16;

/// An interval of the process's time. The shares are in 1/255 of it; in the rest it was idle.
struct TimeColumn {
  uint16_t rss;          ///< in KiB, by pack_kib()
  uint8_t program, mpi;  ///< shares of the process's thread
};
/// KiB in 16 bits, rounded up to 11 significant bits.
inline uint16_t pack_kib(uint64_t kib) {
  const int shift = std::max(static_cast<int>(std::bit_width(kib)) - 11, 0);
  const uint64_t rounded = (kib + (uint64_t{1} << shift) - 1) >> shift;
  // Rounding may have added a bit; then only the first bit is set.
  const bool longer = rounded >> 11;
  return static_cast<uint16_t>((rounded >> longer) | static_cast<uint64_t>(shift + longer) << 11);
}
inline uint64_t unpack_kib(uint16_t packed) { return uint64_t{packed & 0x7ffu} << (packed >> 11); }

inline constexpr int kColumns = 512;  ///< when all are full, pairs are joined
/// Ranks of the job in the timeline; a row has 4 bits (Doing) for each column.
inline constexpr int kRowsInAll = 64;
inline constexpr int kRowBytes = kColumns / 2;
static_assert(static_cast<int>(Doing::kCount) <= 16);
inline uint8_t doing_in(const uint8_t* row, uint32_t column) {
  return row[column / 2] >> (column % 2 * 4) & 0xf;
}
/// Ranks of the job whose memory is recorded over time, at least one for each process: packed KiB
/// for each column.
inline constexpr int kMemoryRowsInAll = 8;

/// A loaded file of code; its path follows.
struct ModuleRecord {
  /// Bounds of the code, and the address that offsets in the file are relative to.
  uint64_t low, high, base;
  Part next;
  uint32_t path_bytes;
};

enum HeaderFlag : uint32_t {
  kDeadlock = 1,
  kError = 2,     ///< an error of MPI ended the job; ProfileHeader::error has its text
  kFinished = 4,  ///< all ranks have called MPI_Finalize
  kMoving = 8,    ///< ranks may go to other processes of their host
  kAborted = 16,  ///< where ranks move: one has called MPI_Abort here
};

struct ProfileHeader {
  uint64_t magic;
  uint32_t pid, flags;
  int32_t first_rank, ranks, world_size, process, processes;
  /// Lengths of the two lists; a reader with other lists refuses the file.
  uint32_t calls, algorithms;
  uint64_t real_ns;   ///< when the file was made, since 1970
  uint64_t start_ns;  ///< when the library was loaded
  uint64_t init_ns;   ///< when the file was made, in the first MPI_Init
  uint64_t last_ns;   ///< time of the last sample
  uint64_t samples, sampling_ns;
  /// Visits of slices of kSliceRanks ranks; a sample visits some of the slices.
  uint64_t slice_looks;
  uint64_t program_ns, mpi_ns, idle_ns;  ///< of the process's thread
  uint64_t program_cpu_ns;               ///< processor time in the program's own code
  uint64_t cpu_ns;                       ///< processor time of the process
  uint64_t rss, rss_most;                ///< bytes
  uint64_t rss_first;                    ///< when the first rank returned from MPI_Init
  uint64_t unexpected_most;              ///< bytes of unexpected messages
  // The longest time for which a rank ran without a call of MPI while others of the
  // process were ready.
  uint64_t stretch_ns, stretch_site;
  int32_t stretch_rank;
  uint32_t stretch_ready;
  uint64_t starved_ns;  ///< sum of such times that are longer than kStretch
  /// Images of the program: each rank from image_first on has its own (privatize/image/images.h).
  uint64_t image_region, image_stride, image_count, program_base, image_first, image_bytes;
  /// What one stands for in times of 32 bits, ns: becomes twice as long when one would not fit.
  uint64_t time_unit;
  uint64_t column_ns;      ///< duration of a column
  uint32_t columns, rows;  ///< in use; a row has kColumns columns
  uint32_t memory_rows;
  uint32_t sites, remotes, remote_shift;  ///< records in use
  uint16_t slots[kCallCells];             ///< number of each CallCell's call + 1
  uint64_t parts_at, size;
  uint32_t parts_used;  ///< bytes
  uint32_t moves;       ///< times that ranks have come here from other processes
  Part moves_recorded;  ///< the first kMoves of them
  Part modules;         ///< the first ModuleRecord
  Part timeline;        ///< columns, rows, rows of memory
  Part looked;          ///< time of each slice's last visit, 64 bits each
  Part site_parts[kSites / kSitesInPart], remote_parts[kRemotes / kRemotesInPart];
  Part families[kFamilies];
  char host[64];
  char error[256];
};
inline constexpr size_t kHeaderBytes = 2048;
static_assert(sizeof(ProfileHeader) <= kHeaderBytes);
inline constexpr uint64_t kStretch = 100'000'000;
inline constexpr int32_t kSliceRanks = 256;
inline int32_t slices_of(int32_t ranks) { return (ranks + kSliceRanks - 1) / kSliceRanks; }

/// Sets where the parts of a process's file begin: behind its ranks.
inline void lay_out(ProfileHeader* h) {
  h->parts_at = kHeaderBytes + sizeof(RankRecord) * static_cast<size_t>(h->ranks);
  h->size = h->parts_at + kPartsBytes;
}

/// The layout of ProfileHeader::timeline: kColumns columns, then the rows, then the rows of memory.
inline size_t rows_in_timeline() { return sizeof(TimeColumn) * kColumns; }
inline size_t memory_in_timeline(uint32_t rows) {
  return rows_in_timeline() + size_t{rows} * kRowBytes;
}
inline size_t timeline_bytes(uint32_t rows, uint32_t memory_rows) {
  return memory_in_timeline(rows) + sizeof(uint16_t) * size_t{memory_rows} * kColumns;
}

/// The local index of the rank that a row of the timeline shows.
inline int32_t rank_of_row(int32_t row, int32_t rows, int32_t ranks) {
  return static_cast<int32_t>(int64_t{row} * ranks / rows);
}

/// The local index of the rank that a row of memory shows: the middle one of its share, because the
/// first has the program itself as its image.
inline int32_t rank_of_memory_row(int32_t row, int32_t rows, int32_t ranks) {
  return static_cast<int32_t>((2 * int64_t{row} + 1) * ranks / (2 * rows));
}

}  // namespace fgmpi::report
