// What executions have shown: findings of the checker, bad ends, and outputs that differ; a witness
// for each. Thread rule: one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/fields.h"
#include "explore/channel.h"
#include "explore/files.h"
#include "explore/witness.h"
#include "readers/findings/report.h"

namespace fgmpi::explore {

/// How an execution ended.
struct Ending {
  int status = 0;                     ///< as waitpid() gives it
  bool stuck = false;                 ///< it did nothing for so long that it was ended
  Outputs outputs{-1, -1};            ///< what it has written; -1: nothing
  std::vector<pid_t> lineage;         ///< the processes that it was, the last one at its end
  std::map<uint32_t, Choice> forced;  ///< its choices that were not the first there was
};

/// What an execution has shown.
struct Shown {
  uint64_t finding = 0;  ///< a key; 0: nothing
  bool note = false;     ///< the finding is one that leaves the exit status as it is
  uint64_t output = 0;   ///< a digest; 0: it did not end well
  std::string output_text, errors;
  std::vector<FileLeft> files;               ///< that are compared, with the ends of their texts
  std::shared_ptr<findings::Report> report;  ///< nullptr: the checker has found nothing
  std::vector<uint64_t> keys;                ///< of the checker's findings, notes aside
};

/// A finding, or one of several outputs, with the execution that is to show it.
struct Example {
  Shown shown;
  std::string text;  ///< its first line is the witness's
  uint64_t executions = 0;
  std::map<uint32_t, Choice> forced;
  std::string picture;  ///< its file; empty: none
};

class Findings {
 public:
  Findings(std::string folder, Patterns files)
      : folder_(std::move(folder)), files_(std::move(files)) {}
  /// Reads what the execution has left, and removes it.
  void take(const Ending& ending);
  /// The same without counting it.
  Shown look(const Ending& ending);
  /// Of an execution that was cut as equivalent to others, which may have shown less: a rank that
  /// ended the program early in them may have done so before another rank came to its error.
  /// Removes what the execution has left.
  void take_cut(const Ending& ending);
  /// Has an execution that was cut shown what no other one has?
  bool has_hidden();
  /// The forced choices of such an execution. REQUIRES: has_hidden().
  std::map<uint32_t, Choice> next_hidden();
  /// Removes what a process has left.
  void forget(pid_t pid);
  /// Findings and outputs that differ, as mpiexec counts them: notes aside.
  size_t count() const;
  uint64_t executions() const { return executions_; }
  /// What is to be reported, at most so many, to be shrunk.
  std::vector<Example*> examples(size_t most);
  /// Writes a witness for each, PREFIX-N.witness. The text for standard errors.
  std::string report(const std::string& prefix, const Witness& program) const;
  /// For a file, and back. False: that is no such thing.
  void save(Bytes* out) const;
  bool load(FieldReader* in);
  /// What the first execution has written.
  const std::string& first_output() const { return first_output_; }
  const std::string& first_errors() const { return first_errors_; }

 private:
  /// True: it is the first of this key, or simpler than those before.
  static bool add(std::map<uint64_t, Example>* to, uint64_t key, const Ending& ending,
                  const Shown& shown);

  void take_output(const Ending& ending, const Shown& shown);
  std::shared_ptr<findings::Report> report_of(const Ending& ending) const;
  /// Were all of these found in executions that came to their end?
  bool has_seen(const std::vector<uint64_t>& keys) const;

  /// An execution that was cut.
  struct Cut {
    std::vector<uint64_t> keys;         ///< of the checker's findings
    std::map<uint32_t, Choice> forced;  ///< that lead to them
    bool repeated = false;
  };

  std::string folder_;
  Patterns files_;
  uint64_t executions_ = 0;
  std::map<uint64_t, Example> shown_;  ///< by key
  std::vector<uint64_t> order_;
  std::map<uint64_t, Example> outputs_;  ///< by digest: the first of those that differ
  std::set<uint64_t> more_outputs_;      ///< digests of the rest, of which nothing else is kept
  std::string first_output_, first_errors_;
  /// Keys of the checker's findings in executions that came to their end.
  std::set<uint64_t> seen_;
  std::map<uint64_t, Cut> cut_;  ///< those that showed others, by all of their keys
};

/// The lines of a text in an order that depends on nothing but the lines: MPI does not order the
/// output of ranks.
std::vector<std::string> sorted_lines(const std::string& text);

}  // namespace fgmpi::explore
