// The report of a job: the findings of all its processes, joined, with lines of the program. Thread
// rule: one thread; mpiexec uses it after the job.
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
struct SourceLine {
  std::string file;  ///< "" without debug information
  int line = 0;
  std::string function;
};

/// A finding, with all ranks that have it.
struct Joined {
  Finding finding;
  std::set<int64_t> ranks;
};

class FindingReport {
 public:
  /// Adds all spools in the folder, and the findings that follow from their steps. Unreadable
  /// records are ignored.
  void read(const std::string& folder);
  /// Adds the findings of one spool that are not withdrawn there.
  void read_text(std::string_view text);
  /// Adds the findings that follow from the steps, accesses and given ranks of all spools.
  void add_followed();
  /// Removes findings whose cause is known.
  void leave_out_consequences();
  /// Finds the lines of all sites, by libbacktrace. Joins findings that differ only in sites of the
  /// same lines: a compiler may copy a call, in loops that it unrolls or functions that it inlines.
  void resolve();

  /// The number of findings without notes. What several ranks wait for in a deadlock is one.
  size_t count() const;
  size_t notes() const;
  /// The keys of the findings, in the order of arrival.
  const std::vector<uint64_t>& keys() const { return order_; }
  const Finding& finding(uint64_t key) const { return found_.at(key).finding; }
  std::string to_text() const;
  std::string to_json() const;
  std::string to_sarif() const;
  std::string to_html() const;
  /// Writes the report in the format of the name's suffix: .json, .sarif or .html.
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
  /// Does the finding belong to the one before it, as a waiting call of the same deadlock?
  bool goes_on(size_t position) const;
  std::string count_words() const;  ///< "2 findings, 1 note"
  std::string place_words(uint64_t site) const;
  /// Does the site have no line of the program's own?
  bool is_foreign(uint64_t site) const;
  const SourceLine* line_of(uint64_t site) const;
  friend struct Json;

  std::map<uint64_t, Site> sites_;
  std::map<uint64_t, SourceLine> lines_;
  std::vector<uint64_t> order_;  ///< keys in the order of arrival
  std::map<uint64_t, Joined> found_;
  std::set<uint64_t> causes_;
  std::multimap<uint64_t, uint64_t> consequences_;  ///< keys by cause
  NamedCalls named_calls_;
  UnbufferedRun steps_;
  FileAccesses accesses_;
  NullRanks null_ranks_;
};

/// Is it a header of C++'s library or another one of the system?
bool is_system_header(std::string_view file);
/// The line of a site, from its file's debug information. Where functions are inlined into each
/// other, the innermost one that is not in a header of the system.
SourceLine find_line(const Site& site);

}  // namespace fgmpi::findings
