// What kind of file a descriptor refers to, where that decides whether a call may wait. The kernel
// is asked once; the answer is stored until the program calls a function of the C library that
// closes the descriptor.
//
// Some functions of the C library close descriptors without calling close(). Where such a function
// is interposed (fclose), the stored answer is dropped. Where it is not, a descriptor that has
// changed from a file to a pipe still counts as a file: a call on it then blocks the process.
//
// Thread rule: any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace fgmpi::privatize {

enum class DescriptorKind : uint8_t {
  kUnknown,
  kNeverWaits,  ///< regular files, folders, /dev/null and its like, numbers that are no descriptor
  kPipe,
  kSocket,
  kDevice,  ///< terminals and other devices, eventfd: poll() shows whether a call would wait
  kEvents,  ///< timerfd, signalfd, inotify, fanotify: as kDevice, but they can only be read
};

namespace detail {
constexpr int kKnownDescriptors = 65536;
/// Each byte stands for itself, so it needs no order. A thread that uses a descriptor which another
/// one has closed or opened has learnt of that by an order of the program's own.
[[gnu::visibility("hidden")]] extern std::atomic<uint8_t> g_descriptor_kinds[kKnownDescriptors];
DescriptorKind query_descriptor_kind(int fd);
}  // namespace detail

/// True where a stored answer shows that no call on the descriptor waits. Calls on files ask this
/// first, and pay for nothing else of this library.
inline bool can_never_wait(int fd) {
  return static_cast<unsigned>(fd) < detail::kKnownDescriptors &&
         detail::g_descriptor_kinds[fd].load(std::memory_order_relaxed) ==
             static_cast<uint8_t>(DescriptorKind::kNeverWaits);
}

/// The kind of the descriptor. Leaves errno unchanged.
inline DescriptorKind kind_of_descriptor(int fd) {
  if (static_cast<unsigned>(fd) < detail::kKnownDescriptors) {
    const auto kind =
        static_cast<DescriptorKind>(detail::g_descriptor_kinds[fd].load(std::memory_order_relaxed));
    if (__builtin_expect(kind != DescriptorKind::kUnknown, 1)) return kind;
  }
  return detail::query_descriptor_kind(fd);
}

inline void forget_kind_of_descriptor(int fd) {
  if (static_cast<unsigned>(fd) < detail::kKnownDescriptors)
    detail::g_descriptor_kinds[fd].store(0, std::memory_order_relaxed);
}

/// True where a call that reads (O_RDONLY) or writes (O_WRONLY) this descriptor waits while nothing
/// is ready: the kind may wait and the flags lack O_NONBLOCK. Otherwise the call returns at once.
/// Leaves errno unchanged.
bool waits_when_not_ready(int fd, int access);

}  // namespace fgmpi::privatize
