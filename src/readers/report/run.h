// A run, read from the files of its processes (format.h): for mpiexec -report and -summary, and for
// fgmpi-info of a job that is still running.
//
// Thread rule: one thread. The reader trusts nothing in a file: a file whose header is wrong is
// refused with a reason, an invalid part of another file is ignored.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "profile/format.h"
#include "profile/profile_calls.h"
#include "readers/findings/report.h"

namespace fgmpi::report {

/// The most ranks of a process: each needs some KiB of memory to run.
inline constexpr int32_t kMostRanks = 1 << 22;
/// A world may have this many ranks without a file, and kMostUnseenShare times the ranks that have
/// one. The sums need memory for each rank of the world, so a damaged number must not decide alone.
inline constexpr int64_t kMostUnseen = 1 << 20, kMostUnseenShare = 16;

inline double to_seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

/// A copy of the file of a process, so that what was checked stays as it was.
class ProcessFile {
 public:
  ProcessFile() = default;
  ProcessFile(ProcessFile&& other) noexcept;
  ProcessFile& operator=(ProcessFile&&) = delete;
  ~ProcessFile();
  /// Returns "", or the reason why it is not the file of a process: "it ends after 12 bytes, ...".
  std::string open(const std::string& path);

  const ProfileHeader& header() const { return *header_; }
  const RankRecord& rank(int32_t local) const {
    return reinterpret_cast<const RankRecord*>(reinterpret_cast<const char*>(header_) +
                                               kHeaderBytes)[local];
  }
  /// The family with this number; nullptr: there is none. REQUIRES: i < kFamilies.
  const FamilyRecord* family(int i) const { return in_part<FamilyRecord>(header_->families[i]); }
  std::vector<CollectiveRecord> collectives_of(const FamilyRecord& family) const;
  std::vector<ArrivalRecord> moves() const;
  std::vector<RemoteRecord> remotes() const;
  std::vector<SiteRecord> sites() const;
  /// REQUIRES: the index is below header().columns, rows or memory_rows. A file without columns has
  /// no timeline.
  TimeColumn column(uint32_t i) const { return timeline<TimeColumn>(0)[i]; }
  uint8_t doing(uint32_t row, uint32_t column) const {
    return doing_in(timeline<uint8_t>(rows_in_timeline()) + row * kRowBytes, column);
  }
  /// The memory of a rank in bytes.
  uint64_t memory(uint32_t row, uint32_t column) const {
    return unpack_kib(
               timeline<uint16_t>(memory_in_timeline(header_->rows))[row * kColumns + column])
           << 10;
  }
  /// The time from the last look at a rank that is still running to the last look at
  /// its process, in ns.
  uint64_t unseen(int32_t local) const;
  /// The file that contains an address of the process, and the offset in it.
  findings::Site place(uint64_t address) const;
  /// The site of a rank's last call, which may be in one of many images.
  findings::Site place_of_last_call(const RankRecord& rank) const;

 private:
  /// A part as T; nullptr where it was not made or lies outside of the file.
  template <class T>
  const T* in_part(Part part, size_t bytes = sizeof(T)) const {
    const uint64_t at = header_->parts_at + part;
    if (part == 0 || part % kPartUnit != 0 || at + bytes > bytes_) return nullptr;
    return reinterpret_cast<const T*>(reinterpret_cast<const char*>(header_) + at);
  }
  /// The records of a table (parts.h).
  template <class Record>
  std::vector<Record> records(const Part* parts, uint32_t in_part_each, uint32_t used,
                              uint32_t most) const;
  /// Copies the data of the file behind the header; holes cost nothing. Returns "" or the reason.
  std::string copy_data(int fd);
  template <class T>
  const T* timeline(size_t at) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const char*>(header_) + header_->parts_at +
                                      header_->timeline + at);
  }
  const ProfileHeader* header_ = nullptr;
  size_t bytes_ = 0;
};

/// With fewer looks than this, times are not meaningful: a share of a third then has an error of
/// about a quarter of itself.
inline constexpr uint64_t kFewSamples = 30;

/// How the job was started and how it ended, as mpiexec knows it.
struct JobEnd {
  std::string command;
  int status = 0;
  bool launcher_killed = false;
  int launcher_signal = 0;  ///< the signal by which mpiexec was asked to end the job; 0: none
  /// Signals by which the launcher has seen processes end; JobRun::read adds them.
  std::set<int> signals;
  std::string version;                ///< of the library
  std::vector<std::string> settings;  ///< NAME=VALUE of settings that differ from their defaults
};

/// The machine whose times a run of mpiexec -predict has.
struct PredictedOn {
  std::string machine;
  std::vector<uint32_t> nodes;  ///< of each rank; empty: the times are those of this machine
  explicit operator bool() const { return !nodes.empty(); }
  uint32_t node_of(uint64_t rank) const { return rank < nodes.size() ? nodes[rank] : UINT32_MAX; }
  uint32_t count() const;
};

struct CallTotals {
  uint64_t count = 0, bytes = 0, ns = 0;
};

/// A site in the program, the same in all processes.
struct CallSite {
  std::string path;
  uint64_t offset = 0;
  bool operator<(const CallSite& o) const {
    return path != o.path ? path < o.path : offset < o.offset;
  }
};
struct PlaceTime {
  uint16_t call = 0;
  uint64_t ns = 0;
};

/// The messages of a rank by their ways.
void ways_of(const RankRecord& rank, WayCell (*ways)[kWays]);

/// The report's data about one rank.
struct RankSum {
  float program = 0, turn = 0, mpi = 0, collective = 0;  ///< seconds
  float cpu = 0;  ///< processor time in the program's own code, in seconds
  /// Seconds for which it waited for a named rank's message while messages of others were there.
  float behind = 0;
  uint64_t sent = 0, sent_bytes = 0, repeated = 0;
  /// Messages received by receives that could have matched those of several ranks.
  uint64_t any_received = 0;
  uint64_t stack = 0;  ///< bytes
  uint32_t now = 0;    ///< RankRecord::now, unless the rank has ended
  bool started = false, ended = false;
  uint32_t process = 0;  ///< index of its file
};

/// Messages from one block of ranks to another, by their way.
struct FlowKey {
  static constexpr int kOneSided = kWays;  ///< follows the ways of messages
  uint32_t from, to;
  int way;
  auto operator<=>(const FlowKey&) const = default;
};
struct Flow {
  uint64_t messages = 0, bytes = 0;
};

struct Family {
  std::string call, model, encoding;
  CallSite place;
  int parent = 0;
  bool inter = false;
  uint64_t made = 0, members_made = 0, members_freed = 0, collectives = 0, bytes = 0, ns = 0;
  int64_t map_bytes = 0;
  int32_t least = 0, most = 0;
  /// Seconds since the job's first MPI_Init on that host, when handles were made and freed, first
  /// and last; negative: never.
  double first_made = -1, last_made = -1, first_freed = -1, last_freed = -1;
  double lived = 0;                           ///< seconds, summed over the freed handles
  std::map<uint16_t, CallTotals> by_call;     ///< collectives, by number of the call
  uint64_t runs[counters::kAlgorithms] = {};  ///< how often all processes ran each algorithm
};

/// A rank has gone from one process to another.
struct RankMove {
  double seconds = 0;  ///< since the job's first MPI_Init on that host
  int32_t rank = 0, from = 0, to = 0;
};

/// What moves of ranks have gained (mpiexec -balance), in processor time.
struct BalanceGain {
  uint64_t moves = 0;        ///< all that were made
  uint64_t homecomings = 0;  ///< of those in JobRun::moves
  double busiest = 0;        ///< seconds for which the busiest process has run its program
  double at_home = 0;        ///< and that one whose own ranks have run longest, wherever they were
};

class JobRun {
 public:
  /// Adds all files in the folder.
  void read(const std::string& folder);
  /// Adds a file to `processes`, or its name and the reason to `refused`.
  void add_file(const std::string& path);
  /// Sums up the files of `processes`; those of a world that is too large for them become
  /// `refused`.
  void sum_up();
  /// "stencil.c:42 (main)", or the object file and the offset.
  std::string words_of(const CallSite& place) const;

  JobEnd end;
  PredictedOn predicted;
  std::vector<ProcessFile> processes;  ///< by first rank
  std::vector<std::string> refused;    ///< "report-host-12: it ends after 12 bytes, ..."

  // Filled by sum_up():
  int32_t world_size = 0;
  uint64_t samples = 0;         ///< the largest number of any process
  uint64_t looks = 0;           ///< at each rank; the smallest number of any process
  double seconds = 0;           ///< from the first MPI_Init to the last sample
  bool ranks_move = false;      ///< mpiexec -balance
  std::vector<RankMove> moves;  ///< by time, without those that no process had room for
  BalanceGain gain;
  double init_seconds = 0;  ///< the slowest process, from its start to the return of MPI_Init
  std::vector<RankSum> ranks;
  CallTotals calls[kCallCount];
  Flow ways[kWays];
  Flow one_sided;  ///< operations
  uint64_t one_sided_ns = 0, file_ns = 0, file_read = 0, file_written = 0;
  uint64_t program_ns = 0, turn_ns = 0, mpi_ns = 0;  ///< sums over all ranks
  uint64_t rss = 0, rss_first = 0, rss_most = 0, unexpected_most = 0, cpu_ns = 0;
  std::map<CallSite, PlaceTime> places;
  std::vector<Family> families;
  int matrix_shift = 0;  ///< a block is 2^shift ranks
  std::map<FlowKey, Flow> matrix;
  /// Seconds for which others waited for this rank: for its messages, or for it to receive theirs.
  std::map<int32_t, double> waited_for, waited_for_target;

 private:
  void refuse_large_worlds();
  void sum_up_process(uint32_t number);
  void sum_up_rank(uint32_t number, int32_t local);
  void add_flows(const ProcessFile& file, int32_t local);
  void add_moves(const ProcessFile& file);
  void add_families(const ProcessFile& file);
  /// The time of the first MPI_Init on the file's host.
  uint64_t start_on_host(const ProcessFile& file) const;
  void add_remotes(const ProcessFile& file);
  void sum_up_calls();
  void coarsen_matrix();
  /// The way of messages of a process's rank to another one, derived from their processes and the
  /// ways that the sender has used; from their nodes where the run is predicted.
  int way_between(const ProcessFile& from, int32_t local, uint64_t to) const;
  mutable std::map<CallSite, std::string> words_;
};

/// The place in words, by the debug information of its file.
std::string words_of_place(const CallSite& place);

/// An observation about the run, in words.
struct Observation {
  double seconds = 0;  ///< the time of ranks that it has cost; 0: unknown
  double weight = 0;   ///< sorting key
  std::string title, detail, advice;
};
/// The observations about the run, the most important first.
std::vector<Observation> observe(const JobRun& run);

/// The site where the rank spent the most time in calls: "MPI_Recv at a.c:12 (main)", or "".
std::string costliest_place(const JobRun& run, int32_t rank);

/// Empty, or the reason why times are unreliable.
std::string words_of_looks(const JobRun& run);

/// Empty where ranks stay in their processes; else how often they have moved, and what it gained.
std::string words_of_moves(const JobRun& run);

/// Empty, or how many files were refused, and why the first one was.
std::string words_of_refused(const JobRun& run);

/// The common words of text and page: how the run ended, and where ranks that have not ended
/// were, in groups.
std::string words_of_end(const JobRun& run);
struct UnfinishedRanks {
  std::string what;  ///< "MPI_Recv at a.c:12 (main)"
  std::vector<int32_t> ranks;
};
std::vector<UnfinishedRanks> not_ended(const JobRun& run);

/// The name in base/algorithms.def of a call's collective: "allgather" for MPI_Iallgatherv_c.
std::string collective_of(std::string call);
/// "ring 12, bruck 3": the algorithms of a collective that the family's processes have run; for
/// "" those of all collectives. Skips algorithms that are marked in `told`, and marks those
/// that it returns.
std::string algorithms_of(const Family& family, const std::string& collective,
                          bool (&told)[counters::kAlgorithms]);

/// -summary: the first page as text.
std::string to_text(const JobRun& run);
/// False in a build without D3, whose page would have no charts.
bool has_charts();
/// -report: the page, and the data in it, which is JSON.
std::string to_html(const JobRun& run);
std::string page_data(const JobRun& run);

/// "1.5 s", "3.2 GiB", "1,234".
std::string seconds_words(double seconds);
std::string bytes_words(double bytes);
std::string number_words(uint64_t number);
/// "0-3, 7, 12-900" with at most `most` parts.
std::string ranks_words(const std::vector<int32_t>& ranks, size_t most = 6);

}  // namespace fgmpi::report
