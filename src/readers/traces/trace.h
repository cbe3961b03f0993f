// A trace's folder as a reader sees it: mapped files, by job and rank. The reader handles files of
// processes that ended in any way.
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

/// The file of one process. Errors of the format name the file and the fault. A truncated
/// file is no error.
struct TraceFile {
  std::string path;
  const char* bytes = nullptr;
  size_t size = 0;
  const FileHeader& header() const { return *reinterpret_cast<const FileHeader*>(bytes); }
  /// Factor from ticks to nanoseconds of the host's monotonic clock.
  double ns_per_tick = 1;
  uint64_t time_of(uint64_t ticks) const;
  ~TraceFile();
};

struct RankTrace {
  int32_t rank = 0;  ///< in its job
  int32_t job = 0;   ///< index into Trace::jobs
  const TraceFile* file = nullptr;
  std::vector<CommRecord> comms;
  std::vector<std::span<const CallEvent>> events;
  std::vector<uint32_t> mapping;  ///< global ids, if the job unified its definitions
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
  int32_t size = 0;               ///< number of ranks
  int32_t first_index = 0;        ///< index of its rank 0 in Trace::ranks
  std::span<const char> unified;  ///< the job's own definitions (definitions.h), or empty
};

struct Trace {
  std::vector<std::unique_ptr<TraceFile>> files;
  std::vector<Job> jobs;  ///< in the order of their start
  /// By job, then world rank. The index here is the rank's global index.
  std::vector<RankTrace> ranks;
  std::map<const TraceFile*, std::vector<Module>> modules;

  /// Reads all files of the folder. Errors: there is no file, or one is of another version.
  Status read(const std::string& folder);
};

}  // namespace fgmpi::track
