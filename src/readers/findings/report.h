// The report of a job: the findings of all its processes, joined, with the lines of the program.
// Thread rule: one thread; used by mpiexec after the job.
#pragma once

#include <map>
#include <set>

#include "base/status.h"
#include "check/findings/finding.h"
#include "check/findings/unbuffered.h"
#include "readers/findings/files.h"
#include "readers/findings/null_ranks.h"

namespace fgmpi::findings {

/// A line of the program.
struct Line {
  std::string file;  ///< "" when there is no debug information
  int line = 0;
  std::string function;
};

/// A finding with all ranks that have it.
struct Joined {
  Finding finding;
  std::set<int64_t> ranks;
};

class Report {
 public:
  /// Adds all files of findings in the folder, and what follows from the steps in them. What cannot
  /// be read of them is left out.
  void read(const std::string& folder);
  /// Adds what one such file holds, but what it takes back.
  void read_text(std::string_view text);
  /// Adds what follows from the steps and the accesses of all that was read.
  void add_followed();
  /// Leaves out findings whose cause is known.
  void leave_out_consequences();
  /// Finds the lines of all sites, by libbacktrace, and joins findings that differ only in sites of
  /// the same lines: a compiler may make several calls of one, in loops that it unrolls or
  /// functions that it inlines.
  void resolve();

  /// Findings, notes aside.
  size_t count() const { return order_.size() - notes(); }
  size_t notes() const;
  /// Of the findings, in the order in which they came.
  const std::vector<uint64_t>& keys() const { return order_; }
  const Finding& finding(uint64_t key) const { return found_.at(key).finding; }
  std::string to_text() const;
  std::string to_json() const;
  std::string to_sarif() const;
  std::string to_html() const;
  /// The form that the end of the name says: .json, .sarif or .html.
  Status write(const std::string& path) const;
  static Status check_name(const std::string& path);

 private:
  std::set<uint64_t> withdrawn_in(std::string_view text) const;
  void read_record(std::string_view line, const std::set<uint64_t>& withdrawn);
  void read_finding(std::string_view line, bool note, const std::set<uint64_t>& withdrawn);
  void add(uint64_t key, Finding f);
  void join_lines();
  /// As key_of(), with lines in place of sites.
  uint64_t key_by_lines(const Finding& finding) const;
  std::string count_words() const;  ///< "2 findings, 1 note"
  std::string place_words(uint64_t site) const;
  /// Does no line of the program's own belong to it?
  bool is_foreign(uint64_t site) const;
  const Line* line_of(uint64_t site) const;
  friend struct Json;

  std::map<uint64_t, Site> sites_;
  std::map<uint64_t, Line> lines_;
  std::vector<uint64_t> order_;  ///< keys as they came
  std::map<uint64_t, Joined> found_;
  std::set<uint64_t> causes_;
  std::multimap<uint64_t, uint64_t> consequences_;  ///< keys by cause
  NamedCalls named_calls_;
  UnbufferedRun steps_;
  FileAccesses accesses_;
  NullRanks null_ranks_;
};

/// The headers of C++'s library and others that come with the system.
bool is_system_header(std::string_view file);
/// The line of a place, of its file's debug information. Where functions are inlined into each
/// other, the innermost one's that is not of the system's headers.
Line find_line(const Site& site);

}  // namespace fgmpi::findings
