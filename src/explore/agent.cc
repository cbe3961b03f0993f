// The explored process's side: forking executions, and asking the explorer at each choice point.

#include "explore/agent.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/descriptor.h"
#include "base/environment.h"
#include "base/fields.h"
#include "base/strings.h"
#include "explore/channel.h"
#include "explore/files.h"
#include "explore/matcher.h"
#include "explore/witness.h"
#include "privatize/privatize.h"

namespace fgmpi::explore {
namespace {

[[noreturn]] void end_quietly(int status) {
  for (;;) syscall(SYS_exit_group, status);
}

/// The explorer is gone, so this process is no longer needed.
[[noreturn]] void end_without_explorer() { end_quietly(1); }

/// Replaces `fd` by a file of this execution's own, which begins with the contents of the file
/// before. It is a file in memory without a name: in a folder, processes would wait for one another
/// when they create and remove such files.
void own_output(int fd) {
  const int file = static_cast<int>(syscall(SYS_memfd_create, "fgmpi-output", MFD_CLOEXEC));
  if (file < 0 || fcntl(file, F_SETFL, O_APPEND) != 0) end_without_explorer();
  char piece[8192];
  off_t at = 0;
  for (ssize_t n; (n = pread(fd, piece, sizeof piece, at)) > 0; at += n)
    if (syscall(SYS_write, file, piece, n) != n) end_without_explorer();
  dup2(file, fd);
  close(file);
}

bool has_threads() {
  std::error_code failed;
  const std::filesystem::directory_iterator tasks("/proc/self/task", failed);
  return std::distance(begin(tasks), end(tasks)) > 1;
}

class Agent final : public Chooser {
 public:
  Agent(std::string folder, Patterns files)
      : folder_(std::move(folder)), files_(std::move(files)) {}

  /// Serves as the first starting point. Returns in executions.
  void begin() {
    if (!files_.empty()) make_surroundings(folder_);
    open_channel(0);
    serve();
  }

  void report_past(const EventSet& past) override {
    Bytes word = begin_word(ChannelWord::kPast);
    append(&word, past);
    add_frame(&unsent_, word);  // only needed together with the next word
  }

  void report_race(const Race& race) override {
    Bytes word = begin_word(ChannelWord::kRace);
    fgmpi::append(&word, race.event);
    fgmpi::append(&word, static_cast<uint8_t>(race.early));
    fgmpi::append(&word, race.by);
    append(&word, race.sender_past);
    append(&word, race.without);
    send(word);
  }

  void report_match(int32_t sender, const Choice& match) override {
    if (!traced_) return;
    Bytes word = begin_word(ChannelWord::kMatch);
    fgmpi::append(&word, sender);
    fgmpi::append(&word, match);
    send(word);  // it may be the last word, so it is sent at once
  }

  void report_limit(Limit limit) override {
    if (std::exchange(limit_reported_, limit) == limit) return;
    Bytes word = begin_word(ChannelWord::kLimit);
    fgmpi::append(&word, static_cast<uint8_t>(limit));
    send(word);  // it may be the last word, so it is sent at once
  }

  void end_redundant() override {
    send(begin_word(ChannelWord::kRedundant));
    Bytes bytes;
    receive(&bytes);  // kStop
    end_quietly(0);
  }

  size_t choose(const std::vector<Choice>& choices) override {
    Bytes bytes = begin_word(ChannelWord::kQuestion);
    append(&bytes, choices);
    send(bytes);
    for (;;) {
      FieldReader in = receive(&bytes);
      switch (static_cast<ChannelWord>(in.get<uint8_t>())) {
        case ChannelWord::kTake:
          return in.get<uint32_t>();
        case ChannelWord::kKeep:
          if (has_threads() || !files_.empty()) {
            send(begin_word(ChannelWord::kUnable));
            break;
          }
          if (!fork_execution(execution_)) serve();
          break;
        case ChannelWord::kStop:
          end_quietly(0);
        default:
          end_without_explorer();
      }
    }
  }

 private:
  void open_channel(uint32_t execution) {
    execution_ = execution;
    if (fd_ >= 0) syscall(SYS_close, fd_);
    fd_ = move_descriptor_up(connect_to(folder_));
    Bytes bytes = begin_word(ChannelWord::kHello);
    fgmpi::append(&bytes, execution);
    fgmpi::append(&bytes, static_cast<uint32_t>(getpid()));
    if (fd_ < 0 || !send_hello(fd_, bytes, {STDOUT_FILENO, STDERR_FILENO})) end_without_explorer();
  }

  void send(const Bytes& word) {
    add_frame(&unsent_, word);
    if (!send_bytes(fd_, unsent_)) end_without_explorer();
    unsent_.clear();
  }

  FieldReader receive(Bytes* bytes) {
    if (!receive_word(fd_, bytes)) end_without_explorer();
    return {bytes->data(), bytes->size()};
  }

  /// Returns true in the new process, which runs the execution.
  bool fork_execution(uint32_t execution) {
    // Without the program's handlers: this is no fork of the program's own.
    const pid_t pid = _Fork();
    if (pid < 0) {
      std::fprintf(stderr, "fgmpi: explore: fork: %s\n", std::strerror(errno));
      end_quietly(1);
    }
    if (pid > 0) return false;
    privatize::restore_after_fork();
    own_output(STDOUT_FILENO);
    own_output(STDERR_FILENO);
    if (!files_.empty()) move_to_private_folder();
    open_channel(execution);
    return true;
  }

  void move_to_private_folder() {
    const std::filesystem::path own = private_folder(folder_, getpid());
    std::error_code failed;
    if (make_private(std::filesystem::current_path(failed), own, files_) && chdir(own.c_str()) == 0)
      return;
    std::fprintf(stderr, "fgmpi: explore: %s: %s\n", own.c_str(), std::strerror(errno));
    end_quietly(1);
  }

  /// The loop of a starting point. Returns in executions.
  void serve() {
    Bytes bytes;
    for (;;) {
      FieldReader in = receive(&bytes);
      const ChannelWord word = static_cast<ChannelWord>(in.get<uint8_t>());
      const auto number = in.get<uint32_t>();
      if (word == ChannelWord::kRun) {
        const bool traced = in.get<uint8_t>() != 0;
        if (fork_execution(number)) {
          traced_ = traced;
          return;
        }
      } else if (word == ChannelWord::kReap) {
        int status = 0;
        while (waitpid(static_cast<pid_t>(number), &status, 0) < 0 && errno == EINTR) {
        }
        bytes = begin_word(ChannelWord::kReaped);
        fgmpi::append(&bytes, number);
        fgmpi::append(&bytes, status);
        if (!send_word(fd_, bytes)) end_without_explorer();
      } else {
        end_without_explorer();
      }
    }
  }

  const std::string folder_;
  /// The patterns of files that each execution has copies of. Such executions are forked before the
  /// program begins.
  const Patterns files_;
  int fd_ = -1;
  uint32_t execution_ = 0;
  Limit limit_reported_ = Limit::kNone;
  bool traced_ = false;
  Bytes unsent_;  ///< framed words that have not been sent
};

/// Repeats the execution of a witness.
class Replayer final : public Chooser {
 public:
  explicit Replayer(Witness witness) : witness_(std::move(witness)) {}

  size_t choose(const std::vector<Choice>& choices) override {
    bool missing = false;
    const uint32_t point = point_++;
    const size_t index = index_of_forced(witness_.choices, point, choices, &missing);
    if (missing)
      std::fprintf(stderr,
                   "fgmpi: replay: choice %u of the witness (%s) is not possible here: the program "
                   "or its input is another one\n",
                   point, words_of(witness_.choices.at(point)).c_str());
    return index;
  }
  void report_past(const EventSet&) override {}
  void report_race(const Race&) override {}
  void report_match(int32_t, const Choice&) override {}
  void report_limit(Limit) override {}
  void end_redundant() override {
    std::fprintf(stderr,
                 "fgmpi: replay: a loop of calls that do not wait is not left: the program or its "
                 "input is another one than the witness's\n");
    end_quietly(1);
  }

 private:
  const Witness witness_;
  uint32_t point_ = 0;
};

Chooser* g_chooser = nullptr;

void begin_replay(const char* path) {
  Witness witness;
  if (const Status status = Witness::read(path, &witness); !status.ok()) {
    std::fprintf(stderr, "fgmpi: replay: %s\n", status.what().c_str());
    end_quietly(1);
  }
  g_chooser = new Replayer(std::move(witness));
}

}  // namespace

bool is_active() { return g_chooser; }

void begin() {
  if (const char* witness = environment::text(environment::kWitness)) begin_replay(witness);
  if (const char* folder = environment::text(environment::kExploreFolder)) {
    const char* files = environment::text(environment::kExploreFiles);
    auto* agent = new Agent(folder, read_patterns(files ? files : ""));
    g_chooser = agent;
    agent->begin();
  }
  // Programs that this one executes do not take part in the exploration.
  environment::unset(environment::kWitness);
  environment::unset(environment::kExploreFolder);
  environment::unset(environment::kExploreFiles);
}

void register_deciders(unsigned ranks) {
  if (!g_chooser) return;
  auto* matcher = new Matcher(ranks, g_chooser);
  pt2pt::g_message_decider = matcher;
  comm::g_meeting_decider = matcher;
  coll::g_early_exit_decider = matcher;
  rma::g_access_decider = matcher;
  dynamic::g_connection_decider = matcher;
}

}  // namespace fgmpi::explore
