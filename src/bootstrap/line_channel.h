// LineChannel: lines of text over a socket or pipe that somebody else opened. Blocking; any line
// length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fgmpi::bootstrap {

/// From now on the launcher may close the connection: the end has been agreed with it, or somebody has said that the
/// connection broke. Any thread.
void expect_end_of_launcher();
bool end_of_launcher_expected();

/// Owns the descriptor. A channel that breaks ends the process with one line: without its launcher
/// a process of a job can do nothing sensible, and its peers are being ended too.
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
  /// Will read_line() return at once, now or within `wait_ns`? Also true when the channel has broken.
  bool has_more(int64_t wait_ns);
  int fd() const { return fd_; }

 private:
  int fd_;
  std::string received_;  ///< bytes that were read and not yet returned
  size_t searched_ = 0;   ///< received_[0..searched_) holds no newline
};

}  // namespace fgmpi::bootstrap
