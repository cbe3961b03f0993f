// Mappings, and calls of the kernel.

#include "check/memory/own_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/recorded_memory.h"
#include "rewind/hooks.h"

#pragma weak fgmpi_rewind_hooks

namespace fgmpi::check {
namespace {

uintptr_t g_next_mapping = kOwnLow;

long call_kernel(long number, long a, long b, long c, long d = 0, long e = 0, long f = 0) {
  const rewind::RewindHooks* hooks = &fgmpi_rewind_hooks ? fgmpi_rewind_hooks() : nullptr;
  return hooks ? hooks->direct_call(number, a, b, c, d, e, f) : syscall(number, a, b, c, d, e, f);
}

}  // namespace

void* map_memory(size_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (!is_recorded_run()) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    return at == MAP_FAILED ? nullptr : at;
  }
  const size_t size = (bytes + kOwnAlignment - 1) / kOwnAlignment * kOwnAlignment;
  if (size > kOwnHigh - g_next_mapping) return nullptr;
  const long at = call_kernel(SYS_mmap, static_cast<long>(g_next_mapping), static_cast<long>(size),
                              PROT_READ | PROT_WRITE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
  if (at != static_cast<long>(g_next_mapping)) return nullptr;
  g_next_mapping += size;
  return reinterpret_cast<void*>(at);
}

void discard_memory(void* pages, size_t bytes) {
  call_kernel(SYS_madvise, reinterpret_cast<long>(pages), static_cast<long>(bytes), MADV_DONTNEED);
}

pid_t process_number() {
  return is_recorded_run() ? static_cast<pid_t>(call_kernel(SYS_getpid, 0, 0, 0)) : getpid();
}

long read_link_past_recording(const char* path, char* to, size_t size) {
  return call_kernel(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>(path),
                     reinterpret_cast<long>(to), static_cast<long>(size));
}

long write_past_recording(int fd, const void* bytes, size_t size) {
  return call_kernel(SYS_write, fd, reinterpret_cast<long>(bytes), static_cast<long>(size));
}

}  // namespace fgmpi::check
