// An exploration in progress: executions, starting points, connections. Its functions are in
// several files: explorer.cc (executions, ends, the loop), words.cc (connections and words),
// shrink.cc (witnesses), saved.cc (the file). Thread rule: one thread.
#pragma once

#include <signal.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

#include "readers/exploration/explorer.h"
#include "readers/exploration/findings.h"
#include "readers/exploration/fuzz.h"
#include "readers/exploration/picture.h"
#include "readers/exploration/tree.h"

namespace fgmpi::explore {

inline constexpr int64_t kSecond = 1'000'000'000;
/// Set by Ctrl-C or another signal that asks the explorer to end.
extern volatile sig_atomic_t g_interrupted;

/// A connection to an explored process.
struct ExploredProcess {
  int fd = -1;
  pid_t pid = 0;
  Bytes in;                 ///< received bytes of the next words
  Outputs outputs{-1, -1};  ///< descriptors of the process's outputs
  bool gone = false;
  bool starts = false;  ///< it is a starting point
  NodeRef node;         ///< its point in the tree; nullptr: before the program
  /// Starting points except the first: the starting point that forked it.
  std::shared_ptr<ExploredProcess> forked_by;
  std::vector<pid_t> lineage;  ///< the processes that its executions were before
  int64_t used = 0;            ///< time when an execution last began there
  ~ExploredProcess() {
    if (fd >= 0) close(fd);
    close_outputs(&outputs);
  }
};
using PeerRef = std::shared_ptr<ExploredProcess>;

using Pick = std::function<size_t(uint32_t point, const std::vector<Choice>&)>;

struct Execution {
  uint32_t number = 0;
  Path path;             ///< to the point behind the last decided event
  size_t at = 0;         ///< index in `path` of the point of its next question
  bool resumes = false;  ///< it was forked at a point whose question is answered already
  bool redundant = false, ended = false, stuck = false, cut = false;
  Pick pick;              ///< decides in place of the tree
  bool is_trial = false;  ///< runs a witness; traced, too
  bool keeping = false;   ///< the explorer has asked it to become a starting point
  PeerRef peer, parent;
  std::vector<pid_t> lineage;
  int64_t since = 0;  ///< time of its starting point
  int64_t heard = 0;
};
using ExecutionRef = std::shared_ptr<Execution>;

class Explorer {
 public:
  Explorer(const ExploredProgram& program, const ExplorationBounds& bounds, std::string folder)
      : program_(program),
        bounds_(bounds),
        folder_(std::move(folder)),
        findings_(folder_, program.files) {}
  ~Explorer();
  Status run(int* exit_status);

 private:
  Status listen();
  Status start_program();
  void hand_out();
  void begin(const NodeRef& target, bool is_trial = false);
  void begin_alone(Pick pick, bool is_trial);
  void begin_next();
  bool has_next();
  bool shows(const Example& example, const std::map<uint32_t, Choice>& forced);
  void record_match(int32_t sender, const Choice& match);
  void record_choice(const std::vector<Choice>& choices, size_t taken);
  void shrink(Example* example);
  void draw(Example* example, size_t number);
  void shrink_all();
  PeerRef starting_point(const NodeRef& target);
  void wait_for_words();
  void accept_peer();
  void read_from(const PeerRef& peer);
  bool take_word(const PeerRef& peer, const uint8_t* bytes, size_t size);
  void on_hello(const PeerRef& peer, uint32_t execution, pid_t pid);
  void on_question(Execution& e, std::vector<Choice> choices);
  void answer(Execution& e);
  bool worth_keeping(const Execution& e, const ChoiceNode& node) const;
  void keep(Execution& e);
  void kept(Execution* e);
  void not_kept(Execution* e);
  void forget_starting_point(const PeerRef& peer);
  void reap_orphans();
  void on_gone(const PeerRef& peer);
  void ask_for_end(const PeerRef& parent, pid_t pid);
  void on_end(pid_t pid, int status);
  Status resume();
  void save() const;
  void record_covered(const Execution& e);
  void record_order(const Execution& e);
  void stop_stuck();
  void show_progress(bool last);
  bool in_bounds() const;
  void give_up(const std::string& why);
  Execution* execution_of(const PeerRef& peer);
  std::string last_words();

  const ExploredProgram& program_;
  const ExplorationBounds bounds_;
  const std::string folder_;
  ChoiceTree tree_;
  Findings findings_;
  int listener_ = -1;
  pid_t first_ = 0;  ///< the first process, which leads the process group of all
  PeerRef root_;
  std::list<PeerRef> peers_;
  std::map<uint32_t, ExecutionRef> running_;
  std::set<pid_t> forgotten_;  ///< ended starting points that their parent must reap
  /// Ended starting points that this process must reap, because their parent has ended.
  std::set<pid_t> orphans_;
  uint32_t begun_ = 0;
  uint64_t redundant_ = 0, deepest_ = 0;
  double covered_ = 0;    ///< covered part of the tree, by the branches known when executions ended
  uint64_t resumed_ = 0;  ///< executions counted in the file that is continued
  uint64_t length_ = 0;   ///< -fuzz: of the first execution
  uint64_t seeds_ = 0;    ///< -fuzz: seeds begun
  std::set<uint64_t> orders_;  ///< -fuzz: different orders seen
  Shown trial_;
  std::map<uint32_t, Choice> trial_forced_;
  std::vector<ExecutionStep> trial_steps_;
  int64_t started_ = 0, shown_ = 0;
  std::string failure_;  ///< the reason why exploration cannot continue
  bool diverged_ = false;
  Limit limit_ = Limit::kNone;  ///< the reason that leaves out the most
  /// Executions have threads, so none becomes a starting point and each begins in
  /// the first process.
  bool unable_ = false;
};

}  // namespace fgmpi::explore
