// The results of executions: findings of the checker, bad ends, and outputs that differ, each with
// a witness. Thread rule: one thread.
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

/// The end of an execution.
struct Ending {
  int status = 0;              ///< as waitpid() returns it
  bool stuck = false;          ///< it was ended because it did nothing for too long
  Outputs outputs{-1, -1};     ///< descriptors of its outputs; -1: none
  std::vector<pid_t> lineage;  ///< the processes that it was, in order; the last one has ended
  std::map<uint32_t, Choice> forced;  ///< its choices that were not the first one possible
};

/// The result of an execution.
struct Shown {
  uint64_t finding = 0;  ///< a key; 0: none
  bool note = false;     ///< the finding does not change the exit status
  uint64_t output = 0;   ///< a digest; 0: the execution ended badly
  std::string output_text, errors;
  std::vector<FileLeft> files;  ///< compared files, with the ends of their texts
  std::shared_ptr<findings::FindingReport> report;  ///< nullptr: the checker has found nothing
  std::vector<uint64_t> keys;                       ///< of the checker's findings, without notes
};

/// A finding, or one of several outputs, with the execution that is its witness.
struct Example {
  Shown shown;
  std::string text;  ///< the first line is the witness's, too
  uint64_t executions = 0;
  std::map<uint32_t, Choice> forced;
  std::string picture;  ///< file with the picture; empty: none
};

class Findings {
 public:
  Findings(std::string folder, Patterns files)
      : folder_(std::move(folder)), files_(std::move(files)) {}
  /// Reads the files of an ended execution, joins its result, and removes the files.
  void take(const Ending& ending);
  /// As take(), without counting the execution.
  Shown look(const Ending& ending);
  /// Handles an execution that was cut as equivalent to others. These may have shown less: if a
  /// rank ended the program early in them, another rank may not have reached its error. Removes the
  /// execution's files.
  void record_cut_short(const Ending& ending);
  /// Has a cut execution shown a finding that no other execution has?
  bool has_hidden();
  /// The forced choices of such an execution. REQUIRES: has_hidden().
  std::map<uint32_t, Choice> next_hidden();
  /// Removes the files of a process.
  void forget(pid_t pid);
  /// The number of findings and differing outputs as mpiexec counts them, without notes.
  size_t count() const;
  uint64_t executions() const { return executions_; }
  /// The results to report, at most `most`, whose witnesses are to be shrunk.
  std::vector<Example*> examples(size_t most);
  /// Writes a witness PREFIX-N.witness for each result. Returns the text for standard error.
  std::string report(const std::string& prefix, const Witness& program) const;
  /// Writes the results for a file, and reads them back. Returns false where the bytes are invalid.
  void save(Bytes* out) const;
  bool load(FieldReader* in);
  /// The output of the first execution.
  const std::string& first_output() const { return first_output_; }
  const std::string& first_errors() const { return first_errors_; }

 private:
  /// Adds a result. Returns whether it is the first of this key, or has fewer forced choices than
  /// those before.
  static bool add(std::map<uint64_t, Example>* to, uint64_t key, const Ending& ending,
                  const Shown& shown);

  void record_output(const Ending& ending, const Shown& shown);
  std::shared_ptr<findings::FindingReport> report_of(const Ending& ending) const;
  /// Have executions that reached their end shown all of these findings?
  bool has_seen(const std::vector<uint64_t>& keys) const;

  /// The result of an execution that was cut.
  struct Cut {
    std::vector<uint64_t> keys;         ///< of the checker's findings
    std::map<uint32_t, Choice> forced;  ///< the forced choices that lead to them
    bool repeated = false;
  };

  std::string folder_;
  Patterns files_;
  uint64_t executions_ = 0;
  std::map<uint64_t, Example> shown_;  ///< by key
  std::vector<uint64_t> order_;
  std::map<uint64_t, Example> outputs_;  ///< by digest: the first ones that differ
  std::set<uint64_t> more_outputs_;      ///< digests of further outputs, which are only counted
  std::string first_output_, first_errors_;
  /// Keys of the checker's findings in executions that reached their end.
  std::set<uint64_t> seen_;
  /// Cut executions that showed other findings, by all of their keys.
  std::map<uint64_t, Cut> cut_;
};

/// The lines of a text in an order that depends only on the lines, because MPI does not order the
/// output of ranks.
std::vector<std::string> sorted_lines(const std::string& text);

}  // namespace fgmpi::explore
