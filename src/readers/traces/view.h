// A trace with its definitions, as the writers of files and texts need it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "readers/traces/trace.h"
#include "track/definitions.h"

namespace fgmpi::track {

/// A call, with its parts.
struct CallView {
  const CallEvent* call;
  /// The call itself comes first if it has data beyond the call.
  std::vector<const CallEvent*> parts;
  /// Nanoseconds since the trace's start; a call without a return ends with the trace.
  uint64_t begin, end;
  bool open;
};

class TraceView {
 public:
  /// Reads the folder, and unifies definitions that the job itself has not.
  Status open(const std::string& folder);

  const Trace& trace() const { return trace_; }
  const Definitions& definitions() const { return definitions_; }
  /// Has the job itself unified its definitions?
  bool unified_by_job() const { return by_job_; }
  /// Compares the job's own unification with one made here from the records. Returns false with the
  /// difference if they are unequal, true also if the job made none.
  bool check(std::string* difference) const;

  /// The global number of a rank's communicator, or kNoComm.
  uint32_t comm_of(const RankTrace& rank, uint32_t local) const;
  /// The world rank (global index) of an event's peer; negative special values are unchanged.
  int32_t world_of(const RankTrace& rank, const CallEvent& event) const;
  std::string comm_name(uint32_t comm) const;
  /// The calls of a rank's thread in the order of their begin.
  std::vector<CallView> calls(const RankTrace& rank, uint8_t thread = 0) const;
  /// The highest thread number in the rank's events.
  uint8_t last_thread(const RankTrace& rank) const;
  uint64_t length() const { return length_; }
  uint64_t real_start() const { return real_start_; }
  /// "file:line (function)" or "module+offset" of a site in a rank's program; "" for 0.
  std::string place_name(const RankTrace& rank, uint64_t place) const;

 private:
  static void unify(Trace* trace, Definitions* out, std::vector<std::vector<uint32_t>>* mapping);
  uint64_t time_of(const RankTrace& rank, uint64_t ticks) const;

  Trace trace_;
  Definitions definitions_;
  std::vector<std::vector<uint32_t>> mapping_;
  std::vector<std::string> names_;
  bool by_job_ = false;
  uint64_t length_ = 0, real_start_ = 0;
  std::map<const TraceFile*, int64_t> shift_;  ///< offset from a host's clock to the trace's
  mutable std::map<std::pair<std::string, uint64_t>, std::string> places_;
};

/// The writers: return the path of the written file, or an error.
Status write_otf2(const TraceView& view, const std::string& folder);
Status write_json(const TraceView& view, const std::string& path);

}  // namespace fgmpi::track
