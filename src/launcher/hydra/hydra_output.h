// Lines of output that stay whole between processes.
//
// Hydra passes on whatever it has read of a process's output, 64 KiB at most: the contents of a
// pipe at that moment, which may end within a line. Then it passes on another process's output.
// With this code the proxy of a host holds back an unfinished line until its rest has come, and
// hydra reads a long line to its end before it reads other output. Between hosts, mpiexec.hydra
// holds back the output of other hosts while one host is within a line.
//
//   process 0 --pipe--+
//   process 1 --pipe--+-- proxy of a host: OutputLines --+
//   process 2 --pipe--+                                  +-- mpiexec.hydra: OutputJoin
//                        proxy of another host ----------+            |
//                                                              standard output
//
// No text is held back for ever: a line is passed on unfinished when it has grown to kLongestLine,
// or when its process writes nothing more for a while. This time is short where a program seems to
// have stopped within a short line on purpose (a prompt).
//
// Thread rule: one thread, hydra's. This code is part of a library that is loaded into hydra, and
// uses only the C library.
#pragma once

#include <poll.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fgmpi::launcher {

/// The host whose line is unfinished. A source is a descriptor from which output is read.
class Speaker {
 public:
  static constexpr int kNobody = -1;
  int who() const { return who_; }
  bool waits_for_other(int source) const { return who_ != kNobody && who_ != source; }
  /// Records that the source has written `text`, which is passed on. REQUIRES:
  /// !waits_for_other(source), text is not empty.
  void record_text(int source, std::string_view text);
  /// Records that the speaker has written nothing for this time, in ns; may call yield_turn().
  void silent_for(int64_t duration);
  /// Time until the speaker gives way, in ns. REQUIRES: who() != kNobody.
  int64_t patience_left() const;
  /// Ends the wait for the speaker's line, until it begins another one.
  void yield_turn();
  void gone(int source);

 private:
  int who_ = kNobody;
  size_t length_ = 0;    ///< bytes of the speaker's line so far
  int64_t silence_ = 0;  ///< ns since the speaker has written
  int64_t silence_in_line_ = 0;
  int64_t patience_ = 0;
  std::set<int> gave_way_;  ///< sources within a line for whose end the others do not wait
};

/// In a proxy: what hydra reads of its processes' output.
class OutputLines {
 public:
  /// Limits, which the user guide names.
  static constexpr size_t kLongestLine = size_t{16} << 20, kMostKept = size_t{256} << 20;
  using Poll = int(pollfd*, nfds_t, int);
  /// Calls poll() by `real`. At most one pipe of a process is readable: the one from which hydra
  /// may read now.
  int poll(Poll* real, pollfd* fds, nfds_t count, int timeout);
  /// Record that hydra has created a pipe, for a process or another use, or has closed a
  /// descriptor.
  void pipe_made(const int ends[2]) { pipes_.insert(ends, ends + 2); }
  void closed(int fd);
  /// Reads what hydra may see of a pipe. False: no text of that descriptor is held here; the caller
  /// calls read().
  bool read(int fd, void* bytes, size_t count, ssize_t* got);

 private:
  struct OutputSource {
    std::string text;  ///< read from the pipe; hydra has read the first `taken` bytes
    size_t taken = 0;
    /// Bytes up to the last end of a line; all of `text` where no rest is expected.
    size_t whole = 0;
    bool ended = false;
    int64_t written_at = 0;
    int64_t patience = 0;
    bool has_complete_lines() const { return whole > taken; }
    bool is_ready() const { return has_complete_lines() || ended; }
    size_t kept() const { return text.size() - taken; }
  };
  bool is_output(const pollfd& fd) const {
    return fd.fd >= 0 && (fd.events & POLLIN) && pipes_.count(fd.fd);
  }
  /// Reads the contents of a pipe into `source`.
  void fill(int fd, OutputSource* source);
  void pass_on_unfinished(OutputSource* source) { source->whole = source->text.size(); }
  int64_t wait_for_silence(int64_t now);
  int wait(Poll* real, pollfd* fds, nfds_t count, int timeout);
  int pass_on_all(pollfd* fds, nfds_t count, int events);
  int next_source() const;
  std::set<int> pipes_;
  std::map<int, OutputSource> sources_;  ///< by descriptor
  size_t unfinished_bytes_ = 0;          ///< bytes in all sources
  bool has_several_ = false;             ///< there is more than one process
  bool job_is_aborted_ = false;
  bool has_filled_ = false;   ///< the last read of the pipes has found data
  int last_ = -1;             ///< the descriptor from which hydra has read last
  bool within_line_ = false;  ///< the text that hydra has read last does not end a line
};

/// In mpiexec.hydra: the order in which it writes the output that arrives over connections.
class OutputJoin {
 public:
  /// Writes to a descriptor; false where that failed.
  using Write = bool(int fd, std::string_view text);
  explicit OutputJoin(Write* write) : write_(write) {}
  void read_from(int source) { source_ = source; }
  void gone(int source);
  /// Called when hydra writes to its standard output or error the text that it has read last.
  bool write(int fd, std::string_view text);
  /// The time that poll() may wait, in ms, where hydra asks for `timeout`.
  int limit(int timeout) const;
  /// Called after time has passed: ends the wait for the speaker's line if that has taken too long.
  void look();
  /// Writes the text that is left.
  void finish();

 private:
  struct WaitingText {
    int source, fd;
    std::string bytes;
  };
  void write_waiting();
  Write* write_;
  Speaker speaker_;
  int source_ = Speaker::kNobody;
  int64_t last_text_at_ = 0;
  std::vector<WaitingText> waiting_;
  size_t waiting_bytes_ = 0;
};

}  // namespace fgmpi::launcher
