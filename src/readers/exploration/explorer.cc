// The explorer's loop: starting executions, answering their questions, handling their ends.

#include "readers/exploration/explorer.h"

#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/environment.h"
#include "base/hash.h"
#include "base/strings.h"
#include "check/findings/finding.h"
#include "explore/channel.h"
#include "readers/exploration/session.h"

namespace fgmpi::explore {

volatile sig_atomic_t g_interrupted = 0;

namespace {

/// An execution that has run this long since its starting point becomes a starting point: a fork
/// costs about as much.
constexpr int64_t kWorthKeeping = 2'000'000;
constexpr size_t kMostStartingPoints = 32;  ///< each is a process with the program's memory
constexpr int64_t kStuck = 60 * kSecond;    ///< time without a word
constexpr int64_t kProgress = kSecond, kProgressToFile = 10 * kSecond;

}  // namespace

Explorer::~Explorer() {
  if (first_ > 0) kill(-first_, SIGKILL);
  peers_.clear();
  running_.clear();
  root_.reset();
  if (listener_ >= 0) close(listener_);
  while (waitpid(-1, nullptr, 0) > 0) {  // waits for all of them: this process is their reaper
  }
}

Status Explorer::listen() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = socket_path(folder_);
  if (path.size() >= sizeof address.sun_path)
    return error(MPI_ERR_ARG,
                 "-explore: %s is too long for a socket; allowed are %zu characters (TMPDIR)",
                 path.c_str(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0 ||
      bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 64) != 0)
    return error(MPI_ERR_OTHER, "-explore: no socket at %s: %s", path.c_str(),
                 std::strerror(errno));
  return {};
}

Status Explorer::start_program() {
  std::vector<char*> words;
  for (const std::string& word : program_.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  first_ = fork();
  if (first_ < 0) return error(MPI_ERR_OTHER, "-explore: fork: %s", std::strerror(errno));
  if (first_ > 0) return {};
  setpgid(0, 0);
  for (const auto& [name, value] : program_.variables)
    environment::set(name.c_str(), value.c_str());
  if (!program_.files.empty())
    environment::set(environment::kExploreFiles, text_of(program_.files).c_str());
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  const int output = open((folder_ + "/first").c_str(), O_RDWR | O_CREAT | O_APPEND, 0600);
  dup2(output, STDOUT_FILENO);
  execvp(words[0], words.data());
  std::fprintf(stderr, "mpiexec: %s: %s\n", words[0], std::strerror(errno));
  _exit(127);
}

Execution* Explorer::execution_of(const PeerRef& peer) {
  for (auto& [number, e] : running_)
    if (e->peer == peer) return e.get();
  return nullptr;
}

bool Explorer::in_bounds() const {
  if (g_interrupted || !failure_.empty()) return false;
  if (bounds_.executions &&
      findings_.executions() + redundant_ - resumed_ + running_.size() >= bounds_.executions)
    return false;
  return !bounds_.seconds || now_ns() - started_ < bounds_.seconds * kSecond;
}

void Explorer::give_up(const std::string& why) {
  if (failure_.empty()) failure_ = why;
}

// ---- Executions ---------------------------------------------------------------------------------

void Explorer::hand_out() {
  while (root_ && running_.size() < bounds_.jobs && has_next() && in_bounds()) begin_next();
}

bool Explorer::has_next() {
  if (bounds_.fuzz == 0) return tree_.has_next() || (running_.empty() && findings_.has_hidden());
  // The first execution shows how long executions are, which the schedulers of the others need.
  return seeds_ < bounds_.fuzz && (seeds_ != 1 || running_.empty());
}

void Explorer::begin_next() {
  if (bounds_.fuzz == 0 && tree_.has_next()) return begin(tree_.next());
  if (bounds_.fuzz == 0)
    return begin_alone(
        [forced = findings_.next_hidden()](uint32_t point, const std::vector<Choice>& choices) {
          return index_of_forced(forced, point, choices);
        },
        false);
  auto scheduler = std::make_shared<PriorityScheduler>(seeds_++, length_);
  begin_alone([scheduler](uint32_t, const std::vector<Choice>& c) { return scheduler->pick(c); },
              false);
}

/// Begins an execution in the first process, decided by `pick`.
void Explorer::begin_alone(Pick pick, bool is_trial) {
  begin(std::make_shared<ChoiceNode>(), is_trial);
  running_.at(begun_)->pick = std::move(pick);
}

/// The starting point that is nearest to the point.
PeerRef Explorer::starting_point(const NodeRef& target) {
  for (ChoiceNode* n = target->parent.get(); n; n = n->parent.get())
    for (const PeerRef& peer : peers_)
      if (peer->starts && peer->node.get() == n) return peer;
  return root_;
}

void Explorer::begin(const NodeRef& target, bool is_trial) {
  auto e = std::make_shared<Execution>();
  e->is_trial = is_trial;
  e->number = ++begun_;
  e->path = path_to(target);
  e->parent = starting_point(target);
  e->at = e->parent->node ? e->parent->node->depth : 0;
  e->resumes = e->parent->node != nullptr;
  e->lineage = e->parent->lineage;
  e->since = e->heard = e->parent->used = now_ns();
  Bytes word = begin_word(ChannelWord::kRun);
  fgmpi::append(&word, e->number);
  fgmpi::append(&word, static_cast<uint8_t>(e->is_trial));
  running_[e->number] = e;
  if (!send_word(e->parent->fd, word)) give_up("a starting point is gone");
}

void Explorer::on_hello(const PeerRef& peer, uint32_t number, pid_t pid) {
  peer->pid = pid;
  if (number == 0) {
    root_ = peer;
    peer->starts = true;
    return;
  }
  auto found = running_.find(number);
  if (found == running_.end()) return;
  Execution& e = *found->second;
  if (e.keeping) kept(&e);
  e.peer = peer;
  e.lineage.push_back(pid);
  if (!std::exchange(e.resumes, false)) return;
  answer(e);
}

/// Sends the choice that happens at the execution's present point, as its path has it.
void Explorer::answer(Execution& e) {
  const NodeRef& next = e.path.at(++e.at);
  Bytes word = begin_word(ChannelWord::kTake);
  fgmpi::append(&word, static_cast<uint32_t>(next->via));
  send_word(e.peer->fd, word);  // if the process is gone, its end will be handled
}

void Explorer::on_question(Execution& e, std::vector<Choice> choices) {
  const NodeRef node = e.path.at(e.at);
  if (e.pick) {
    auto next = std::make_shared<ChoiceNode>();
    next->parent = node;
    next->depth = node->depth + 1;
    next->via = e.pick(node->depth, choices);
    if (e.is_trial) record_choice(choices, next->via);
    node->choices = std::move(choices);
    e.path.push_back(std::move(next));
    return answer(e);
  }
  if (e.at + 1 < e.path.size()) {
    if (choices == node->choices) return answer(e);
    diverged_ = e.cut = true;
  } else if (const NodeRef next = tree_.reach(node, std::move(choices))) {
    e.path.push_back(next);
    deepest_ = std::max<uint64_t>(deepest_, e.path.size() - 1);
    return worth_keeping(e, *node) ? keep(e) : answer(e);
  }
  e.redundant = !e.cut;
  send_word(e.peer->fd, begin_word(ChannelWord::kStop));
}

// ---- Starting points ----------------------------------------------------------------------------

bool Explorer::worth_keeping(const Execution& e, const ChoiceNode& node) const {
  return !unable_ && std::count(node.states.begin(), node.states.end(), ChoiceNode::kPlanned) > 0 &&
         now_ns() - e.since > kWorthKeeping;
}

void Explorer::keep(Execution& e) {
  size_t kept = 0;
  PeerRef oldest;
  for (const PeerRef& peer : peers_) {
    if (!peer->starts || !peer->node) continue;
    ++kept;
    const bool in_use = std::any_of(running_.begin(), running_.end(),
                                    [&](const auto& r) { return r.second->parent == peer; });
    if (!in_use && (!oldest || peer->used < oldest->used)) oldest = peer;
  }
  if (kept >= kMostStartingPoints) {
    if (!oldest) return answer(e);
    forget_starting_point(oldest);
  }
  e.keeping = true;
  send_word(e.peer->fd, begin_word(ChannelWord::kKeep));
}

/// The execution has become a starting point: a fork of it continues the execution.
void Explorer::kept(Execution* e) {
  const PeerRef peer = e->peer;
  peer->starts = true;
  close_outputs(&peer->outputs);
  peer->node = e->path.at(e->at);
  peer->lineage = e->lineage;
  peer->used = e->since = now_ns();
  peer->forked_by = e->parent;
  e->parent = peer;
  e->keeping = false;
  e->resumes = true;
}

void Explorer::not_kept(Execution* e) {
  unable_ = true;
  e->keeping = false;
  answer(*e);
}

void Explorer::forget_starting_point(const PeerRef& peer) {
  shutdown(peer->fd, SHUT_RDWR);  // so the process ends
  peer->gone = true;
  peer->starts = false;
  const PeerRef parent = std::exchange(peer->forked_by, nullptr);
  if (!parent || parent->gone) {
    orphans_.insert(peer->pid);
  } else {
    forgotten_.insert(peer->pid);
    ask_for_end(parent, peer->pid);
  }
  reap_orphans();
}

/// Reaps the starting points that have become children of this process.
void Explorer::reap_orphans() {
  std::erase_if(orphans_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) == pid; });
}

/// Asks the parent to reap a process; the answer is kReaped.
void Explorer::ask_for_end(const PeerRef& parent, pid_t pid) {
  Bytes word = begin_word(ChannelWord::kReap);
  fgmpi::append(&word, static_cast<uint32_t>(pid));
  send_word(parent->fd, word);
}

// ---- Ends ---------------------------------------------------------------------------------------

void Explorer::on_gone(const PeerRef& peer) {
  peer->gone = true;
  if (peer == root_) return give_up("the first process is gone");
  Execution* e = execution_of(peer);
  if (!e) return;
  if (e->parent->gone) {
    int status = 0;
    while (waitpid(peer->pid, &status, 0) < 0 && errno == EINTR) {
    }
    return on_end(peer->pid, status);
  }
  ask_for_end(e->parent, peer->pid);
}

void Explorer::on_end(pid_t pid, int status) {
  if (forgotten_.erase(pid) > 0) return;
  auto found = std::find_if(running_.begin(), running_.end(), [&](const auto& r) {
    return !r.second->lineage.empty() && r.second->lineage.back() == pid;
  });
  if (found == running_.end()) return;
  const ExecutionRef e = found->second;
  running_.erase(found);
  if (e->cut) return;
  if (!e->pick) record_covered(*e);
  Ending ending{status, e->stuck, e->peer ? e->peer->outputs : Outputs{-1, -1}, e->lineage, {}};
  for (size_t k = 0; k + 1 < e->path.size() && k < e->at; ++k)
    if (e->path[k + 1]->via != 0) ending.forced[static_cast<uint32_t>(k)] = e->path[k + 1]->event();
  if (e->redundant && !e->is_trial) {
    ++redundant_;
    return findings_.record_cut_short(ending);
  }
  if (e->is_trial) {
    trial_ = findings_.look(ending);
    trial_forced_ = std::move(ending.forced);
    return findings_.forget(pid);
  }
  if (e->pick)
    record_order(*e);
  else
    tree_.end(e->path, status != 0 || e->stuck);
  findings_.take(ending);
}

/// Adds the part of the tree that an execution represents: at each point one of the branches that
/// are known there.
void Explorer::record_covered(const Execution& e) {
  double part = 1;
  for (size_t k = 0; k + 1 < e.path.size(); ++k) {
    const auto& states = e.path[k]->states;
    const auto branches =
        std::count_if(states.begin(), states.end(), [](ChoiceNode::ChoiceState s) {
          return s == ChoiceNode::kPlanned || s == ChoiceNode::kTaken;
        });
    part /= static_cast<double>(std::max<ptrdiff_t>(branches, 1));
  }
  covered_ += part;
}

/// Counts the order of an execution of -fuzz, which another seed may have led to as well.
void Explorer::record_order(const Execution& e) {
  uint64_t order = 0;
  for (size_t k = 1; k < e.path.size(); ++k)
    order = mix(order, hash_text(words_of(e.path[k]->event())));
  orders_.insert(order);
  deepest_ = std::max<uint64_t>(deepest_, e.path.size() - 1);
  if (length_ == 0) length_ = e.path.size();
}

void Explorer::stop_stuck() {
  for (auto& [number, e] : running_) {
    if (now_ns() - e->heard < kStuck || e->stuck || !e->peer) continue;
    e->stuck = true;
    kill(e->peer->pid, SIGKILL);
  }
}

// ---- What is shown ------------------------------------------------------------------------------

void Explorer::show_progress(bool last) {
  const bool terminal = isatty(STDERR_FILENO);
  const int64_t now = now_ns();
  if (last) {
    if (terminal && shown_ > started_) std::fputs("\r\033[K", stderr);
    return;
  }
  if (now - shown_ < (terminal ? kProgress : kProgressToFile)) return;
  shown_ = now;
  const double done = static_cast<double>(findings_.executions() + redundant_);
  const double left = covered_ > 0 ? done * std::max(1 / std::min(covered_, 1.0) - 1, 0.0) : 0;
  std::string line = format(
      "fgmpi: explore: %llu executions, %llu cut as equivalent, %llu choices deep, %zu finding%s",
      static_cast<unsigned long long>(findings_.executions()),
      static_cast<unsigned long long>(redundant_), static_cast<unsigned long long>(deepest_),
      findings_.count(), findings_.count() == 1 ? "" : "s");
  if (bounds_.fuzz > 0)
    line += format(", %zu different orders", orders_.size());
  else
    line += format(", %zu branches known to be left, about %.0f executions", tree_.planned(),
                   std::max(left, static_cast<double>(tree_.planned())));
  std::fprintf(stderr, "%s%s%s", terminal ? "\r\033[K" : "", line.c_str(), terminal ? "" : "\n");
}

/// The reason why there may be more than what was explored.
static const char* words_of(Limit limit) {
  switch (limit) {
    case Limit::kSets:
      return "an MPI_Waitsome or MPI_Testsome had more than 8 complete requests, which it returned "
             "together";
    default:
      return "other processes and jobs have no part in it";
  }
}

std::string Explorer::last_words() {
  const uint64_t n = findings_.executions();
  std::string text = format("fgmpi: explore: %llu execution%s", static_cast<unsigned long long>(n),
                            n == 1 ? "" : "s");
  if (redundant_)
    text += format(" (and %llu cut that were equivalent to others)",
                   static_cast<unsigned long long>(redundant_));
  text += format(", %zu finding%s: ", findings_.count(), findings_.count() == 1 ? "" : "s");
  if (bounds_.fuzz > 0 && failure_.empty())
    return text + format("%zu different orders by %llu seeds%s: not all executions explored",
                         orders_.size(), static_cast<unsigned long long>(seeds_ - running_.size()),
                         seeds_ < bounds_.fuzz ? ", ended early" : "");
  const size_t left = tree_.planned() + running_.size() + !tree_.started() + findings_.has_hidden();
  if (!failure_.empty()) return text + "not all executions explored: " + failure_;
  if (left == 0 && limit_ != Limit::kNone)
    return text + "not all executions explored: " + words_of(limit_);
  if (diverged_)
    return text +
           "not all executions explored: the program did something else when it was run again "
           "with the same choices (time, random numbers, files?)";
  if (left == 0) return text + "all executions explored";
  return text + format("not all executions explored: %s with %zu branches known to be left",
                       g_interrupted ? "interrupted" : "ended by its bound", left);
}

Status Explorer::run(int* exit_status) {
  FGMPI_TRY(resume());
  FGMPI_TRY(listen());
  FGMPI_TRY(start_program());
  started_ = shown_ = now_ns();
  int ended = 0;
  while (failure_.empty()) {
    hand_out();
    if (root_ && running_.empty()) break;
    if (g_interrupted ||
        (!in_bounds() && bounds_.seconds && now_ns() - started_ >= bounds_.seconds * kSecond))
      break;
    wait_for_words();
    stop_stuck();
    show_progress(false);
    if (!root_ && waitpid(first_, &ended, WNOHANG) == first_) {
      first_ = 0;
      return error(MPI_ERR_OTHER,
                   "-explore: %s ended before its main began; allowed are programs linked with "
                   "mpicc, mpicxx or mpifort",
                   program_.words[0].c_str());
    }
  }
  const std::string last = last_words();
  const bool goes_on =
      failure_.empty() && !diverged_ && bounds_.fuzz == 0 && (has_next() || !running_.empty());
  if (goes_on) save();
  for (auto& [number, e] : running_)
    if (e->peer) kill(e->peer->pid, SIGKILL), e->cut = true;
  running_.clear();
  shrink_all();
  show_progress(true);
  std::fwrite(findings_.first_output().data(), 1, findings_.first_output().size(), stdout);
  std::fflush(stdout);
  Witness witness;
  witness.ranks = program_.ranks;
  witness.words = program_.words;
  const std::string& name = program_.words[0];
  std::fputs(findings_.report(name.substr(name.rfind('/') + 1), witness).c_str(), stderr);
  std::fprintf(stderr, "%s\n", last.c_str());
  *exit_status = findings_.count() > 0 ? findings::kStatusWithFindings : failure_.empty() ? 0 : 1;
  return {};
}

Status explore(const ExploredProgram& program, const ExplorationBounds& bounds,
               const std::string& folder, int* exit_status) {
  struct sigaction stops {};
  stops.sa_handler = [](int) { g_interrupted = 1; };
  for (int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &stops, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return Explorer(program, bounds, folder).run(exit_status);
}

}  // namespace fgmpi::explore
