// The file of a process of a job that runs under mpiexec -report: counters of its ranks, kept in a
// shared mapping, so that they are there whichever way the process ends, and so that others can
// read them while it runs.
//
//   FOLDER/report-HOST-PID
//   | Header, 2 KiB | ranks x 832 B | parts: modules, timeline, memory, places, communicators, collectives, one-sided |
//
// A part is made when it is first needed, behind the last one, by whoever needs it (make_part in
// recorder.h); what is known of it in the header is where it begins. The file has holes behind
// them: their bytes take neither memory nor disk.
//
// Who writes: the threads of a rank its own record's counts (recorder.h), the process's sampler all
// times (sampler.cc). Two threads never write the same word, but that threads of one rank
// (MPI_THREAD_MULTIPLE) may lose a count among them. Readers take what they find: a word is whole,
// sums may be some messages apart.
// Times are in ns, of the clock that is the same in all processes of a host. Numbers are the
// machine's.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace fgmpi::report {

inline constexpr uint64_t kMagic = 0x34'54524f'504552'46;  // "FREPORT4"
/// What begins the names of such files in a folder.
inline constexpr const char* kFilePrefix = "report-";
/// Beside them an empty file for each signal that the launcher has seen end a process: its number
/// follows.
inline constexpr const char* kSignalPrefix = "signal-";

/// The classes of calls that times are shown by, and what a rank of the timeline does. A column of
/// a row holds one.
enum class Doing : uint8_t {
  kNothing,     ///< not begun, or ended
  kProgram,     ///< the program's own code, running
  kTurn,        ///< could go on, but other ranks of its process run
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
  uint64_t bytes;  ///< that the rank has put in: sent, or given to a collective
};
/// Messages to one rank, or to 2^peer_shift() of them. Whom they are for is in the word that is
/// counted up: (world rank >> peer_shift()) + 1 in its 20 upper bits, 0 where the cell is not in
/// use. 2^44 messages to one rank take more than a week.
struct PeerCell {
  static constexpr int kMessageBits = 44;
  uint64_t word;
  uint64_t bytes;

  uint32_t peer_and_one() const { return static_cast<uint32_t>(word >> kMessageBits); }
  uint64_t messages() const { return word & ((uint64_t{1} << kMessageBits) - 1); }
};
inline constexpr uint32_t kMostPeers = (1u << (64 - PeerCell::kMessageBits)) - 2;
inline constexpr int kPeerBits = 31;  ///< more than a world rank has
/// What RankRecord::peer_unit begins with: so that each rank of the world has a number.
inline uint32_t first_peer_unit(int32_t world_size) {
  uint32_t unit = 1u << kPeerBits;
  while (uint64_t{static_cast<uint32_t>(world_size)} * unit >> kPeerBits > kMostPeers) unit /= 2;
  return unit;
}
/// Time in which the rank was parked for one other: as the source of a receive or probe, or with
/// kIsTarget as the destination of a send. When all are taken, a further one takes over the one
/// with the least time, and its time: the sum is right, and so are those that are waited for most.
struct WaitCell {
  uint32_t peer_and_one;  ///< world rank and 1; 0: not in use
  uint32_t tenths;        ///< of milliseconds, as sampled: at most five days
};
inline constexpr uint64_t kTenth = 100'000;  ///< ns
inline constexpr uint32_t kIsTarget = 1u << 31;
/// Time in calls from one place of the program.
struct SiteCell {
  uint64_t site;  ///< return address in the program as the linker loaded it
  uint64_t ns;
};
/// Messages by the way that they took.
struct WayCell {
  uint64_t messages;
  uint64_t bytes;
};
/// Ways: in the process (of a record: what its peers have beyond the others), shared memory, the
/// network.
inline constexpr int kWays = 3;

inline constexpr int kCallCells = 16;  ///< the last one is for all further calls
inline constexpr int kPeerCells = 16;
inline constexpr int kSiteCells = 4;
inline constexpr int kWaitCells = 8;

enum RankFlag : uint16_t {
  kStarted = 1,  ///< MPI_Init has returned
  kEnded = 2,    ///< in MPI_Finalize, or behind it
  // Of receives from MPI_ANY_SOURCE:
  /// One with the same communicator and tag as the one before took another rank's message.
  kManySources = 4,
  kUnknownSource = 8,  ///< some were nonblocking: whose messages they took is not known
};

/// A rank. 832 bytes, 13 cache lines:
///
///   | 48 what it does now | 16 times | 256 calls | 256 peers | 64 times of calls | 64 places | 64 waits | 32 ways |
///   | 24 further times, stack | 8 wildcards |
///
/// A send touches three of its cache lines: the first, and one each of calls and peers, whose cells
/// lie in one line.
struct RankRecord {
  uint32_t now;  ///< number of the call that it is in, and 1; 0: none
  /// World rank that the call sends to, or with kIsSource receives from; kAnyPeer; kNoPeer. Stays
  /// after the call.
  int32_t peer;
  uint64_t site;    ///< return address of the last call, in the rank's own image
  uint16_t flags;   ///< RankFlag
  uint16_t family;  ///< of the communicator of a collective (FamilyRecord)
  /// 2^(kPeerBits - peer_shift()): multiplying takes no register of a call's arguments, shifting
  /// does.
  uint32_t peer_unit;
  /// Sends of at most kSmall bytes to the rank that the call before had sent to.
  uint64_t repeated;
  uint64_t any_received;  ///< receives from MPI_ANY_SOURCE
  uint64_t ended_ns;      ///< when MPI_Finalize was called

  uint64_t program_ns, turn_ns;  ///< sampled: running the program; ready while others run

  CallCell calls_made[kCallCells];  ///< by Header::slots
  PeerCell peers[kPeerCells];
  uint32_t call_tenths[kCallCells];  ///< time in these calls: tenths of milliseconds, as sampled
  SiteCell sites[kSiteCells];
  WaitCell waits[kWaitCells];
  WayCell ways[kWays - 1];  ///< shared memory, network
  uint64_t behind_ns;  ///< parked for a named source while messages of kManyOthers others lay there
  uint64_t cpu_ns;     ///< processor time in the program's own code
  uint64_t stack_bytes;  ///< of its stack, what was written
  /// Of the last blocking receive from MPI_ANY_SOURCE: communicator and tag, hashed.
  uint32_t any_pattern;
  int32_t any_source;  ///< whose message it took

  int peer_shift() const { return std::countl_zero(peer_unit); }
  /// The number of a peer in PeerCell.
  uint32_t number_of(int32_t peer) const {
    return static_cast<uint32_t>(uint64_t{static_cast<uint32_t>(peer)} * peer_unit >> kPeerBits) +
           1;
  }
};
static_assert(sizeof(RankRecord) == 832 && offsetof(RankRecord, calls_made) == 64,
              "with its share of the parts of the process at most 1 KiB");

inline constexpr int32_t kNoPeer = -1000, kAnyPeer = -1001, kIsSource = 1 << 30;
inline constexpr int kManyOthers = 2;
/// Messages that are sent one by one to the same rank: so many bytes are cheap beside the message
/// itself.
inline constexpr uint64_t kSmall = 1024;

/// Where a part begins: bytes from Header::parts_at; 0: it is not made.
using Part = uint32_t;
inline constexpr uint32_t kPartsBytes = 256 << 10;  ///< of all; room for all tables below
inline constexpr uint32_t kPartUnit = 64;           ///< parts are multiples of it

/// Communicators of the process that were made by one call of the program, from communicators of
/// one family.
struct FamilyRecord {
  uint64_t site;
  uint64_t made;           ///< counted by the member of rank 0: communicators of the job
  uint64_t members_made;   ///< handles that ranks of the process have been given
  uint64_t members_freed;  ///< of these
  uint64_t collectives;    ///< calls by members
  uint64_t bytes;          ///< that members have put in
  uint64_t ns;             ///< that members were in these calls, as sampled
  // When members were given the first and the last handle, and freed one; 0: never.
  uint64_t first_made_ns, last_made_ns, first_freed_ns, last_freed_ns;
  uint64_t lived_ns;    ///< sum over the handles that were freed
  int64_t map_bytes;    ///< of the last one's map, in this process
  int32_t least, most;  ///< sizes
  uint16_t call;        ///< that made it
  uint16_t parent;      ///< family
  uint32_t inter;
  Part first_collective;  ///< CollectiveRecord
  char model[24], encoding[40];
  /// By the process, of each algorithm among processes (base/algorithms.def).
  uint32_t runs[counters::kAlgorithms];
};
inline constexpr int kFamilies = 64;  ///< the last one is for all further ones
inline constexpr uint16_t kWorldFamily = 0, kSelfFamily = 1;

/// Calls of one collective by members of a family.
struct CollectiveRecord {
  uint32_t call;
  Part next;  ///< of the family
  uint64_t count, bytes, ns;
};
inline constexpr int kCollectivesOfFamily = 128;  ///< more than there are collectives

/// One-sided operations of ranks of the process, by the ranks that the bytes go from and to, or
/// 2^Header::remote_shift of each.
struct RemoteRecord {
  uint32_t from, to;
  uint64_t operations, bytes;
};
inline constexpr uint32_t kRemotes = 1536, kRemotesInPart = 64;

/// Time in calls from one place, of all ranks of the process.
struct SiteRecord {
  uint64_t site;
  uint64_t ns;
  uint32_t call;
  uint32_t unused;
};
inline constexpr uint32_t kSites = 512, kSitesInPart = 16;

/// A stretch of time of the process. Shares are in 1/255 of the time; the rest it was idle.
struct Column {
  uint16_t rss;          ///< packed KiB
  uint8_t program, mpi;  ///< of the process's thread
};
/// KiB in 16 bits, rounded up to 11 significant ones.
inline uint16_t pack_kib(uint64_t kib) {
  const int shift = std::max(static_cast<int>(std::bit_width(kib)) - 11, 0);
  const uint64_t rounded = (kib + (uint64_t{1} << shift) - 1) >> shift;
  // Rounding may have made it one bit longer: of those only the first is set.
  const bool longer = rounded >> 11;
  return static_cast<uint16_t>((rounded >> longer) | static_cast<uint64_t>(shift + longer) << 11);
}
inline uint64_t unpack_kib(uint16_t packed) { return uint64_t{packed & 0x7ffu} << (packed >> 11); }

inline constexpr int kColumns = 512;  ///< when they are full, two become one
/// Ranks of the job in the timeline: for each column what it did (Doing), in 4 bits.
inline constexpr int kRowsInAll = 64;
inline constexpr int kRowBytes = kColumns / 2;
static_assert(static_cast<int>(Doing::kCount) <= 16);
inline uint8_t doing_in(const uint8_t* row, uint32_t column) {
  return row[column / 2] >> (column % 2 * 4) & 0xf;
}
/// Ranks of the job whose memory is kept over time, at least one a process: for each column packed
/// KiB.
inline constexpr int kMemoryRowsInAll = 8;

/// A loaded file of code. Its path follows.
struct ModuleRecord {
  uint64_t low, high, base;  ///< of the code, and what places in the file are relative to
  Part next;
  uint32_t path_bytes;
};

enum HeaderFlag : uint32_t {
  kDeadlock = 1,
  kError = 2,     ///< an error of MPI ended the job; its text is in Header::error
  kFinished = 4,  ///< all ranks have come to MPI_Finalize
};

struct Header {
  uint64_t magic;
  uint32_t pid, flags;
  int32_t first_rank, ranks, world_size, process, processes;
  uint32_t calls, algorithms;  ///< in the lists of these: a reader with other lists refuses
  uint64_t real_ns;            ///< since 1970, when the file was made
  uint64_t start_ns;           ///< when the library was loaded
  uint64_t init_ns;            ///< when the file was made, in the first MPI_Init
  uint64_t last_ns;            ///< the last sample
  uint64_t samples, sampling_ns;
  uint64_t slice_looks;  ///< at slices of kSliceRanks ranks, of which a sample looks at some
  uint64_t program_ns, mpi_ns, idle_ns;  ///< of the process's thread
  uint64_t program_cpu_ns;               ///< processor time in the program's own code
  uint64_t cpu_ns;                       ///< processor time of the process
  uint64_t rss, rss_most;                ///< bytes
  uint64_t rss_first;                    ///< when the first rank came back from MPI_Init
  uint64_t unexpected_most;              ///< bytes of messages that had come before their receives
  // The longest time that a rank ran without a call of MPI while others of the process could have
  // run.
  uint64_t stretch_ns, stretch_site;
  int32_t stretch_rank;
  uint32_t stretch_ready;
  uint64_t starved_ns;  ///< sum of such stretches longer than kStretch
  /// Images of the program: each rank but the first has one of its own (privatize/images.h).
  uint64_t image_region, image_stride, image_count, program_base;
  uint64_t column_ns;      ///< of one
  uint32_t columns, rows;  ///< in use; rows of kColumns each
  uint32_t memory_rows;
  uint32_t sites, remotes, remote_shift;  ///< records in use
  uint16_t slots[kCallCells];             ///< number of the call of each CallCell, and 1
  uint64_t parts_at, size;
  uint32_t parts_used;  ///< bytes
  Part modules;         ///< the first ModuleRecord
  Part timeline;        ///< columns, rows, rows of memory
  Part looked;          ///< when each slice was looked at last: 64 bits for each
  Part site_parts[kSites / kSitesInPart], remote_parts[kRemotes / kRemotesInPart];
  Part families[kFamilies];
  char host[64];
  char error[256];
};
inline constexpr size_t kHeaderBytes = 2048;
static_assert(sizeof(Header) <= kHeaderBytes);
inline constexpr uint64_t kStretch = 100'000'000;
inline constexpr int32_t kSliceRanks = 256;
inline int32_t slices_of(int32_t ranks) { return (ranks + kSliceRanks - 1) / kSliceRanks; }

/// Where the parts of the file of a process may be: behind its ranks.
inline void lay_out(Header* h) {
  h->parts_at = kHeaderBytes + sizeof(RankRecord) * static_cast<size_t>(h->ranks);
  h->size = h->parts_at + kPartsBytes;
}

/// Header::timeline: kColumns columns, then the rows, then those of memory.
inline size_t rows_in_timeline() { return sizeof(Column) * kColumns; }
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

/// The local index of the rank that a row of memory is of: the middle one of its share, so that it
/// is not always the first, whose image is the program itself.
inline int32_t rank_of_memory_row(int32_t row, int32_t rows, int32_t ranks) {
  return static_cast<int32_t>((2 * int64_t{row} + 1) * ranks / (2 * rows));
}

}  // namespace fgmpi::report
