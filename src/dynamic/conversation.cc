// Whole messages over a stream: sending, receiving, ending.

#include "dynamic/conversation.h"

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"

namespace fgmpi::dynamic {
namespace {

void describe_conversation(const sched::WaitSite*, std::string* out) {
  *out += "waiting for the other job to answer";
}

}  // namespace

void Conversation::send_message(const std::vector<uint8_t>& message) {
  const auto length = static_cast<uint32_t>(message.size());
  write(&length, sizeof length, message.data(), message.size());
}

size_t Conversation::wanted() const {
  if (received_ < sizeof length_bytes_) return sizeof length_bytes_ - received_;
  return message_.size() + sizeof length_bytes_ - received_;
}

size_t Conversation::on_bytes(const uint8_t* bytes, size_t count) {
  if (received_ < sizeof length_bytes_) {
    std::memcpy(length_bytes_ + received_, bytes, count);
    received_ += count;
    if (received_ < sizeof length_bytes_) return count;
    uint32_t length;
    std::memcpy(&length, length_bytes_, sizeof length);
    if (length > kLongest) {
      close();
      on_end("it says what no message begins with");
      return count;
    }
    message_.resize(length);
  } else {
    std::memcpy(message_.data() + (received_ - sizeof length_bytes_), bytes, count);
    received_ += count;
  }
  if (received_ == sizeof length_bytes_ + message_.size()) {
    whole_ = true;
    pause(true);
    waiter_.wake();
  }
  return count;
}

void Conversation::on_end(const std::string& why) {
  ended_ = true;
  why_ = why;
  waiter_.wake();
}

void Conversation::on_room() {
  if (unsent() == 0) waiter_.wake();
}

Status Conversation::receive_message(std::vector<uint8_t>* message, int64_t deadline,
                                     const char* call) {
  if (!whole_ && !ended_) pause(false);
  while (!whole_ && !ended_ && now_ns() < deadline)
    waiter_.wait(deadline, call, describe_conversation);
  if (!whole_) {
    if (ended_) return error(MPI_ERR_PORT, "the other job cannot be talked to: %s", why_.c_str());
    return error(MPI_ERR_PORT,
                 "the other job has not answered in time (MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT)");
  }
  *message = std::move(message_);
  message_.clear();
  received_ = 0;
  whole_ = false;
  return {};
}

void Conversation::finish_sending(int64_t deadline, const char* call) {
  while (unsent() > 0 && !ended_ && now_ns() < deadline)
    waiter_.wait(deadline, call, describe_conversation);
}

}  // namespace fgmpi::dynamic
