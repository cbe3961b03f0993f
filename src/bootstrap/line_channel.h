// LineChannel: lines of text, and pieces of a given length, over a connected socket or pipe.
// Blocking; lines of any length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace fgmpi::bootstrap {

/// From now on a connection closed by the launcher is no error: either the session has been
/// finalized, or the broken connection has been reported already. Any thread.
void expect_end_of_launcher();
bool end_of_launcher_expected();

/// Owns the descriptor. When the connection breaks, the process ends with one line: the launcher
/// has ended, and it ends all processes of the job.
class LineChannel {
 public:
  explicit LineChannel(int fd);
  ~LineChannel();
  LineChannel(const LineChannel&) = delete;
  LineChannel& operator=(const LineChannel&) = delete;

  /// Sends the text, which ends with its own newline(s).
  void write(std::string_view text);
  /// The next line without its newline.
  std::string read_line();
  /// The next `count` bytes, of any content.
  std::string read_exactly(size_t count);
  /// Hands the descriptor over to the caller.
  int release() { return std::exchange(fd_, -1); }
  /// Waits at most `wait_ns` ns. True if a read would not block, also because the
  /// connection is broken.
  bool has_more(int64_t wait_ns);
  int fd() const { return fd_; }

 private:
  /// Reads more bytes into received_.
  void receive();

  int fd_;
  std::string received_;  ///< bytes that were read and not yet returned
  size_t searched_ = 0;   ///< received_[0..searched_) holds no newline
};

}  // namespace fgmpi::bootstrap
