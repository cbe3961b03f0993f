// A trace with its definitions: what writers of files and texts ask.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "readers/traces/trace.h"
#include "track/definitions.h"

namespace fgmpi::track {

/// An event in its place: a call and the parts of it.
struct CallView {
  const Event* call;
  /// The call itself first where it says more than that it was called.
  std::vector<const Event*> parts;
  uint64_t begin, end;  ///< nanoseconds since the trace's start; an open call ends with the trace
  bool open;
};

class View {
 public:
  /// Reads the folder and unifies what the job itself did not.
  Status open(const std::string& folder);

  const Trace& trace() const { return trace_; }
  const Definitions& definitions() const { return definitions_; }
  /// Unified by the job itself?
  bool unified_by_job() const { return by_job_; }
  /// Compares the job's own unification with one made here from the records; on false, the
  /// difference. True also where the job made none.
  bool check(std::string* difference) const;

  /// Global number of a rank's communicator, or kNoComm.
  uint32_t comm_of(const RankTrace& rank, uint32_t local) const;
  /// World rank (global index) of a peer of an event; special values (negative) stay.
  int32_t world_of(const RankTrace& rank, const Event& event) const;
  std::string comm_name(uint32_t comm) const;
  /// The calls of a rank and thread in the order in which they began.
  std::vector<CallView> calls(const RankTrace& rank, uint8_t thread = 0) const;
  /// Highest thread number in the rank's events.
  uint8_t last_thread(const RankTrace& rank) const;
  uint64_t length() const { return length_; }
  uint64_t real_start() const { return real_start_; }
  /// "file:line (function)" or "module+offset" of a place in a rank's program; "" for 0.
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
  std::map<const TraceFile*, int64_t> shift_;  ///< a host's clock to the trace's
  mutable std::map<std::pair<std::string, uint64_t>, std::string> places_;
};

/// Writers: the path that was written, or an error.
Status write_otf2(const View& view, const std::string& folder);
Status write_json(const View& view, const std::string& path);

}  // namespace fgmpi::track
