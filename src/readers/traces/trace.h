// A trace's folder as a reader sees it: its files, mapped, by job and rank. Reads what any end of a
// job left behind.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "track/format.h"

namespace fgmpi::track {

/// One process's file. Errors of the format name the file and what is wrong; a file cut anywhere is
/// no error.
struct TraceFile {
  std::string path;
  const char* bytes = nullptr;
  size_t size = 0;
  const FileHeader& header() const { return *reinterpret_cast<const FileHeader*>(bytes); }
  /// Ticks to nanoseconds of the monotonic clock of the host.
  double ns_per_tick = 1;
  uint64_t time_of(uint64_t ticks) const;
  ~TraceFile();
};

struct RankTrace {
  int32_t rank = 0;  ///< in its job
  int32_t job = 0;   ///< index into Trace::jobs
  const TraceFile* file = nullptr;
  std::vector<CommRecord> comms;
  std::vector<std::span<const Event>> events;
  std::vector<uint32_t> mapping;  ///< global ids, when the job unified its definitions
  std::map<uint32_t, std::string> names;
  std::vector<std::pair<uint32_t, std::span<const char>>> groups;  ///< encoded maps by local id
  size_t event_count() const;
};

struct Module {
  uint64_t base, size;
  std::string path;
};

struct Job {
  uint64_t key = 0;
  int32_t size = 0;               ///< ranks
  int32_t first_index = 0;        ///< of its rank 0 in Trace::ranks
  std::span<const char> unified;  ///< the job's own definitions (definitions.h), or nothing
};

struct Trace {
  std::vector<std::unique_ptr<TraceFile>> files;
  std::vector<Job> jobs;  ///< the first one started first
  /// By job, then world rank: the place here is the rank's global index.
  std::vector<RankTrace> ranks;
  std::map<const TraceFile*, std::vector<Module>> modules;

  /// Reads all files of the folder. Errors: none there, or one that is not of this version.
  Status read(const std::string& folder);
};

}  // namespace fgmpi::track
