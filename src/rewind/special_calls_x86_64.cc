// Special answers: mappings, vectors of buffers, waits, ends; and words for what is refused.

#include "rewind/special_calls.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>

#include "base/hash.h"
#include "rewind/descriptors.h"
#include "rewind/ends.h"
#include "rewind/events.h"
#include "rewind/format.h"
#include "rewind/inputs.h"
#include "rewind/kept_files.h"
#include "rewind/recording.h"
#include "rewind/separation.h"

namespace fgmpi::rewind {
namespace {

template <class T>
T* pointer(long argument) {
  return reinterpret_cast<T*>(argument);
}

long map(const TrappedCall& call) {
  const long flags = call.arguments[3], fd = call.arguments[4];
  if (!(flags & MAP_ANONYMOUS) && kind_of(fd) == FileKind::kGivenFile && is_recorded())
    refuse_run("it maps a file that it writes, or a device, into its memory");
  const uint32_t kept = flags & MAP_ANONYMOUS ? 0 : kept_file_of(fd);
  if (kept && !keep_bytes(fd, kept, static_cast<uint64_t>(call.arguments[5]),
                          static_cast<uint64_t>(call.arguments[1])))
    refuse_run("it maps a file that is changed meanwhile into its memory");
  if ((flags & MAP_TYPE) != MAP_PRIVATE) note_shared_mapping();
  return answer_placed(call, "a hash of the address of a mapping");
}

/// Calls part(address, bytes) for the buffers up to `left` bytes in all.
template <class Part>
void for_parts(const iovec* parts, size_t count, size_t left, Part part) {
  for (size_t i = 0; i < count && left > 0; ++i) {
    const size_t n = std::min(parts[i].iov_len, left);
    part(parts[i].iov_base, n);
    left -= n;
  }
}

long read_parts(const TrappedCall& call) {
  FileKind kind;
  const int64_t result = begin_with_result(call, &kind);
  const auto* parts = pointer<const iovec>(call.arguments[1]);
  const auto count = static_cast<size_t>(call.arguments[2]);
  if (kind == FileKind::kInput || kind == FileKind::kMemory) {
    if (is_repeated()) compare_result(call, make_call(call), result);
    uint64_t sum = 0;
    if (result > 0)
      for_parts(parts, count, static_cast<size_t>(result),
                [&](void* at, size_t n) { sum = hash_bytes(at, n, sum); });
    if (kind == FileKind::kInput && result > 0) compare_input(call.arguments[0], sum);
  } else if (result > 0) {
    for_parts(parts, count, static_cast<size_t>(result), pass_bytes);
  }
  end_input();
  return result;
}

/// Writes all bytes to standard output or error of mpiexec.
void show(FileKind kind, const void* bytes, size_t size) {
  const int fd = kind == FileKind::kShownErr ? kStderrFd : kStdoutFd;
  if (!g_shows_output) return;
  const auto* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const long n = direct_call(SYS_write, fd, at, size);
    if (n < 0 && n != -EINTR && n != -EAGAIN) return;
    if (n > 0) at += n, size -= static_cast<size_t>(n);
  }
}

long write_bytes(const TrappedCall& call) {
  const bool in_parts = call.number == SYS_writev;
  FileKind kind;
  const int64_t result = begin_with_result(call, &kind);
  end_input();
  if (is_recorded()) return result;
  const bool shown = kind == FileKind::kShownOut || kind == FileKind::kShownErr;
  if (kind == FileKind::kMemory) compare_result(call, make_call(call), result);
  if (!shown || result <= 0) return result;
  if (!in_parts) {
    show(kind, pointer<void>(call.arguments[1]), static_cast<size_t>(result));
    return result;
  }
  for_parts(pointer<const iovec>(call.arguments[1]), static_cast<size_t>(call.arguments[2]),
            static_cast<size_t>(result), [=](void* at, size_t n) { show(kind, at, n); });
  return result;
}

long receive_message(const TrappedCall& call) {
  auto* message = pointer<msghdr>(call.arguments[1]);
  const int64_t result = begin_with_result(call);
  if (result >= 0) {
    int64_t name = message->msg_namelen, control = static_cast<int64_t>(message->msg_controllen),
            flags = message->msg_flags;
    pass(&name);
    pass(&control);
    pass(&flags);
    if (message->msg_name) pass_bytes(message->msg_name, static_cast<size_t>(name));
    if (message->msg_control) pass_bytes(message->msg_control, static_cast<size_t>(control));
    message->msg_namelen = static_cast<socklen_t>(name);
    message->msg_controllen = static_cast<size_t>(control);
    message->msg_flags = static_cast<int>(flags);
    for_parts(message->msg_iov, message->msg_iovlen, static_cast<size_t>(result), pass_bytes);
  }
  end_input();
  return result;
}

/// poll, ppoll, select, pselect6: the arrays that they fill.
long wait_for_files(const TrappedCall& call) {
  const int64_t result = begin_with_result(call);
  if (result >= 0) {
    if (call.number == SYS_poll || call.number == SYS_ppoll) {
      auto* files = pointer<pollfd>(call.arguments[0]);
      for (long i = 0; i < call.arguments[1]; ++i) pass_bytes(&files[i].revents, 2);
    } else {
      const size_t bytes = (static_cast<size_t>(call.arguments[0]) + 63) / 64 * 8;
      for (int i = 1; i <= 3; ++i)
        if (call.arguments[i]) pass_bytes(pointer<void>(call.arguments[i]), bytes);
      if (call.arguments[4]) pass_bytes(pointer<void>(call.arguments[4]), 16);
    }
  }
  end_input();
  return result;
}

/// Copies memory of the process itself, where it may be missing or read-only: loading a library
/// does.
long copy_own_memory(const TrappedCall& call) {
  if (call.arguments[0] != g_recorded_pid) refuse_call(call);
  TrappedCall own = call;
  own.arguments[0] = direct_call(SYS_getpid);
  return make_call(own);
}

long limits(const TrappedCall& call) {
  const bool sets = call.arguments[2] != 0;
  int64_t result = is_recorded() || sets ? make_call(call) : 0;
  begin_call_input(call);
  pass(&result);
  if (result >= 0 && call.arguments[3]) pass_bytes(pointer<void>(call.arguments[3]), 16);
  end_input();
  return result;
}

[[noreturn]] void end_of_process(const TrappedCall& call) {
  if (is_recorded()) {
    header().status = static_cast<int32_t>(call.arguments[0]);
    header().ended = 1;
  } else if (header().ended && header().events != fgmpi_rewind_events) {
    report_difference("it ends behind %llu MPI calls, the recorded one behind %llu",
                      static_cast<unsigned long long>(fgmpi_rewind_events),
                      static_cast<unsigned long long>(header().events));
  }
  at_end_of_run();
  for (;;) direct_call(SYS_exit_group, call.arguments[0]);
}

}  // namespace

long answer_special(const TrappedCall& call) {
  switch (call.number) {
    case SYS_mmap:
      return map(call);
    case SYS_readv:
    case SYS_preadv:
      return read_parts(call);
    case SYS_write:
    case SYS_writev:
      return write_bytes(call);
    case SYS_recvmsg:
      return receive_message(call);
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
      return wait_for_files(call);
    case SYS_prlimit64:
      return limits(call);
    case SYS_process_vm_readv:
    case SYS_process_vm_writev:
      return copy_own_memory(call);
    case SYS_clock_gettime:
      return answer_clock(static_cast<clockid_t>(call.arguments[0]),
                          pointer<timespec>(call.arguments[1]));
    case SYS_exit_group:
      end_of_process(call);
    case SYS_exit:
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigaction:
    case SYS_rt_sigprocmask:
    case SYS_rt_sigreturn:
    case SYS_sigaltstack:
      return answer_signal_call(call);
    default:
      return answer_descriptor_call(call);
  }
}

void refuse_call(const TrappedCall& call) {
  switch (call.number) {
    case SYS_clone3:
    case SYS_clone:
    case SYS_fork:
    case SYS_vfork: {
      const uint64_t flags = call.number == SYS_clone3  ? *pointer<uint64_t>(call.arguments[0])
                             : call.number == SYS_clone ? static_cast<uint64_t>(call.arguments[0])
                                                        : 0;
      if (flags & CLONE_THREAD)
        refuse_run("it starts a thread, and nobody would know when which thread runs");
      refuse_run("it starts another process, whose doings are not recorded");
    }
    case SYS_execve:
    case SYS_execveat:
      refuse_run("it executes another program");
    case SYS_shmget:
    case SYS_shmat:
      refuse_run("it shares memory with other processes");
    case SYS_process_vm_readv:
    case SYS_process_vm_writev:
      refuse_run("it accesses memory of another process");
    default:
      refuse_run("it makes system call %ld", call.number);
  }
}

}  // namespace fgmpi::rewind
