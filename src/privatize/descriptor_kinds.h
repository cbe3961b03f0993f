// What kind of file a descriptor is of, where that decides whether a call may wait for others:
// asked of the kernel once, then kept until a function of the C library that closes it is called.
//
// The C library's own closes (of what fopen() has opened, say) are seen where its function is
// interposed (fclose). Where one is not, a descriptor of a file that has become one of a pipe is
// still taken for a file: the call then blocks the process.
//
// Thread rule: any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace fgmpi::privatize {

enum class DescriptorKind : uint8_t {
  kUnknown,
  kNeverWaits,  ///< regular files, folders, /dev/null and its like, what is no descriptor, ...
  kPipe,
  kSocket,
  kDevice,  ///< terminals and other devices, eventfd: poll() says whether a call would wait
  kEvents,  ///< timerfd, signalfd, inotify, fanotify: so it does, but they are only read
};

namespace detail {
constexpr int kKnownDescriptors = 65536;
[[gnu::visibility("hidden")]] extern std::atomic<uint8_t> g_descriptor_kinds[kKnownDescriptors];
DescriptorKind ask_kind_of_descriptor(int fd);
}  // namespace detail

/// Calls of files ask this first: it is all that they cost.
inline bool is_known_never_to_wait(int fd) {
  return static_cast<unsigned>(fd) < detail::kKnownDescriptors &&
         detail::g_descriptor_kinds[fd].load(std::memory_order_relaxed) ==
             static_cast<uint8_t>(DescriptorKind::kNeverWaits);
}

/// Keeps errno.
inline DescriptorKind kind_of_descriptor(int fd) {
  if (static_cast<unsigned>(fd) < detail::kKnownDescriptors) {
    const auto kind =
        static_cast<DescriptorKind>(detail::g_descriptor_kinds[fd].load(std::memory_order_relaxed));
    if (__builtin_expect(kind != DescriptorKind::kUnknown, 1)) return kind;
  }
  return detail::ask_kind_of_descriptor(fd);
}

inline void forget_kind_of_descriptor(int fd) {
  if (static_cast<unsigned>(fd) < detail::kKnownDescriptors)
    detail::g_descriptor_kinds[fd].store(0, std::memory_order_relaxed);
}

/// Whether a call that reads (O_RDONLY) or writes (O_WRONLY) this descriptor waits where nothing is
/// ready: it may do that, and its flags have no O_NONBLOCK. Else the call returns at once. Keeps
/// errno.
bool waits_when_not_ready(int fd, int access);

}  // namespace fgmpi::privatize
