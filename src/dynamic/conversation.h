// A conversation: whole messages over a stream between two processes that become connected.
//
//   | bytes 4 | message |
//
// A conversation reads no byte behind the message that it waits for, so that the descriptor of
// MPI_Comm_join can be used afterwards. Thread rule: one thread. send_message() never switches,
// receive_message() may.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "dynamic/deadline_waiter.h"
#include "dynamic/socket_stream.h"

namespace fgmpi::dynamic {

class Conversation final : public SocketStream {
 public:
  void send_message(const std::vector<uint8_t>& message);
  /// Waits for the next message until `deadline` (of now_ns(); INT64_MAX: for ever). Errors:
  /// MPI_ERR_PORT when the other side has closed or sent no message, or the time is over.
  /// May switch.
  Status receive_message(std::vector<uint8_t>* message, int64_t deadline, const char* call);
  /// Waits until all bytes of send_message() have been written; at most until `deadline`. May
  /// switch.
  void finish_sending(int64_t deadline, const char* call);
  /// True if the other side has closed, or never answered.
  bool ended() const { return ended_; }

 private:
  size_t on_bytes(const uint8_t* bytes, size_t count) override;
  size_t wanted() const override;
  void on_end(const std::string& why) override;
  void on_room() override;
  static constexpr size_t kLongest = size_t{1} << 30;
  std::vector<uint8_t> message_;
  uint8_t length_bytes_[4] = {};
  size_t received_ = 0;  ///< bytes of length and message so far
  bool whole_ = false, ended_ = false;
  std::string why_;
  DeadlineWaiter waiter_;
};

}  // namespace fgmpi::dynamic
