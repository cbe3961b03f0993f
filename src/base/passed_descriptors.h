// Messages over a socket of one host that carry descriptors: the receiver gets new descriptors for
// the same open files.
//
// Thread rule: one thread for each object. The object makes no call itself: sendmsg() and recvmsg()
// use header().
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstring>

namespace fgmpi {

/// A message of bytes with kCount descriptors, or room for them.
template <size_t kCount>
class DescriptorMessage {
 public:
  DescriptorMessage(const void* bytes, size_t size) : piece_{const_cast<void*>(bytes), size} {
    header_.msg_iov = &piece_;
    header_.msg_iovlen = 1;
    header_.msg_control = room_;
    header_.msg_controllen = sizeof room_;
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  msghdr* header() { return &header_; }

  /// Stores the descriptors, before the message is sent.
  void put(const int* descriptors) {
    cmsghdr* control = CMSG_FIRSTHDR(&header_);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(kBytes);
    std::memcpy(CMSG_DATA(control), descriptors, kBytes);
  }

  /// Returns the descriptors of a received message; false: none arrived, or another number.
  bool take(int* descriptors) const {
    const cmsghdr* control = CMSG_FIRSTHDR(&header_);
    if (!control || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS ||
        control->cmsg_len != CMSG_LEN(kBytes))
      return false;
    std::memcpy(descriptors, CMSG_DATA(control), kBytes);
    return true;
  }

 private:
  static constexpr size_t kBytes = kCount * sizeof(int);
  iovec piece_;
  alignas(cmsghdr) char room_[CMSG_SPACE(kBytes)] = {};
  msghdr header_{};
};

}  // namespace fgmpi
