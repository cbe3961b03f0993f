// Lines of output that stay whole between processes.
//
// Hydra passes on whatever it has read of a process's output, 64 KiB at most: what a pipe held at
// that moment, which may end within a line. Then it passes on what another process has written.
// Here the proxy of a host keeps what does not end a line until the rest has come, and hydra reads
// a long line to its end before it reads anything else. Between hosts, mpiexec.hydra keeps back the
// output of others while a host is within a line.
//
//   process 0 --pipe--+
//   process 1 --pipe--+-- proxy of a host: OutputLines --+
//   process 2 --pipe--+                                  +-- mpiexec.hydra: OutputJoin -- standard output
//                        proxy of another host ----------+
//
// Nothing is kept for ever: a line that has grown to kLongestLine, or whose process writes nothing
// more for a while, is passed on as far as it has come. That is soon where a program seems to have
// stopped within a short line on purpose (a prompt).
//
// Thread rule: one thread, hydra's. Runs in a library that is loaded into it: nothing but the C
// library is needed.
#pragma once

#include <poll.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fgmpi::launcher {

/// The host whose line is unfinished. A source is a descriptor that output is read from.
class Speaker {
 public:
  static constexpr int kNobody = -1;
  int who() const { return who_; }
  bool waits_for_other(int source) const { return who_ != kNobody && who_ != source; }
  /// The source has written `text`, which is passed on. REQUIRES: !waits_for_other(source), text is
  /// not empty.
  void heard(int source, std::string_view text);
  /// Nothing has come from the speaker for so long, in ns; it may have given way afterwards.
  void silent_for(int64_t duration);
  /// How long until it gives way, in ns. REQUIRES: who() != kNobody.
  int64_t patience_left() const;
  /// Its line is not waited for any more, until it begins another one.
  void give_way();
  void gone(int source);

 private:
  int who_ = kNobody;
  size_t length_ = 0;    ///< of its line, so far
  int64_t silence_ = 0;  ///< since it has written
  int64_t silence_in_line_ = 0;
  int64_t patience_ = 0;
  std::set<int> gave_way_;  ///< sources within a line that is not waited for
};

/// In a proxy: what hydra reads of the output of its processes.
class OutputLines {
 public:
  /// The user guide names these.
  static constexpr size_t kLongestLine = size_t{16} << 20, kMostKept = size_t{256} << 20;
  using Poll = int(pollfd*, nfds_t, int);
  /// poll() by `real`. At most one pipe of a process is readable: one that hydra may read from now.
  int poll(Poll* real, pollfd* fds, nfds_t count, int timeout);
  /// Hydra creates pipes, for processes among others, and closes descriptors.
  void pipe_made(const int ends[2]) { pipes_.insert(ends, ends + 2); }
  void closed(int fd);
  /// What hydra reads of a pipe; false: nothing is kept of that descriptor, read() has to be
  /// called.
  bool read(int fd, void* bytes, size_t count, ssize_t* got);

 private:
  struct Source {
    std::string text;  ///< has been read of the pipe, but for the first `taken` bytes not by hydra
    size_t taken = 0;
    size_t whole = 0;  ///< up to the last end of a line; all of it where no more is waited for
    bool ended = false;
    int64_t written_at = 0;
    int64_t patience = 0;
    bool has_whole() const { return whole > taken; }
    bool is_ready() const { return has_whole() || ended; }
    size_t kept() const { return text.size() - taken; }
  };
  bool is_output(const pollfd& fd) const {
    return fd.fd >= 0 && (fd.events & POLLIN) && pipes_.count(fd.fd);
  }
  /// Reads what a pipe holds.
  void fill(int fd, Source* source);
  void pass_on_unfinished(Source* source) { source->whole = source->text.size(); }
  int64_t wait_for_silence(int64_t now);
  int wait(Poll* real, pollfd* fds, nfds_t count, int timeout);
  int pass_on_all(pollfd* fds, nfds_t count, int events);
  int next_source() const;
  std::set<int> pipes_;
  std::map<int, Source> sources_;  ///< by descriptor
  size_t kept_ = 0;                ///< bytes of all sources
  bool keeps_ = false;             ///< there is more than one process
  bool job_is_aborted_ = false;
  bool has_filled_ = false;   ///< the last look at the pipes has found something
  int last_ = -1;             ///< hydra has read from it last
  bool within_line_ = false;  ///< and what it has read does not end a line
};

/// In mpiexec.hydra: in which order it writes what has come over connections.
class OutputJoin {
 public:
  /// Writes to a descriptor; false: failed.
  using Write = bool(int fd, std::string_view text);
  explicit OutputJoin(Write* write) : write_(write) {}
  void read_from(int source) { source_ = source; }
  void gone(int source);
  /// Hydra writes to its standard output or error what it has read last.
  bool write(int fd, std::string_view text);
  /// The time that poll() may take, in ms, where hydra asks for `timeout`.
  int limit(int timeout) const;
  /// Time has passed: the speaker may give way.
  void look();
  /// Writes what is left.
  void finish();

 private:
  struct Text {
    int source, fd;
    std::string bytes;
  };
  void write_waiting();
  Write* write_;
  Speaker speaker_;
  int source_ = Speaker::kNobody;
  int64_t heard_at_ = 0;
  std::vector<Text> waiting_;
  size_t waiting_bytes_ = 0;
};

}  // namespace fgmpi::launcher
