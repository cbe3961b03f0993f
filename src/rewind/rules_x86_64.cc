// The table of system calls.

#include "rewind/rules.h"

#include <sys/syscall.h>

#include <array>
#include <cstddef>

namespace fgmpi::rewind {
namespace {

using enum CallAnswer;

constexpr WrittenMemory fixed(uint8_t argument, uint16_t bytes) {
  return {WrittenMemory::kFixed, argument, bytes};
}
constexpr WrittenMemory by_result(uint8_t argument) {
  return {WrittenMemory::kResult, argument, 0};
}
constexpr WrittenMemory records(uint8_t argument, uint16_t bytes) {
  return {WrittenMemory::kRecords, argument, bytes};
}
constexpr WrittenMemory pointed(uint8_t argument, uint16_t size) {
  return {WrittenMemory::kPointed, argument, size};
}

constexpr CallRule kRules[] = {
    // Memory, and the process itself
    {SYS_mmap, kSpecial},
    {SYS_brk, kPlaced},
    {SYS_mremap, kPlaced},
    {SYS_munmap, kMade},
    {SYS_mprotect, kMade},
    {SYS_madvise, kMade},
    {SYS_msync, kMade},
    {SYS_mlock, kMade},
    {SYS_mlock2, kMade},
    {SYS_munlock, kMade},
    {SYS_mlockall, kMade},
    {SYS_munlockall, kMade},
    {SYS_mbind, kMade},
    {SYS_set_mempolicy, kMade},
    {SYS_pkey_alloc, kMade},
    {SYS_pkey_free, kMade},
    {SYS_pkey_mprotect, kMade},
    {SYS_futex, kMade},
    {SYS_sched_yield, kMade},
    {SYS_set_robust_list, kMade},
    {SYS_get_robust_list, kMade},
    {SYS_rseq, kMade},
    {SYS_set_tid_address, kMade},
    {SYS_arch_prctl, kMade},
    {SYS_prctl, kMade},
    {SYS_membarrier, kMade},
    {SYS_setrlimit, kMade},
    {SYS_umask, kMade},
    {SYS_chdir, kSpecial},
    {SYS_fchdir, kSpecial},
    {SYS_sched_setaffinity, kMade},
    {SYS_setpriority, kMade},
    {SYS_exit, kSpecial},
    {SYS_exit_group, kSpecial},
    // Signals
    {SYS_rt_sigaction, kSpecial},
    {SYS_rt_sigprocmask, kSpecial},
    {SYS_rt_sigreturn, kSpecial},
    {SYS_sigaltstack, kSpecial},
    {SYS_process_vm_readv, kSpecial},
    {SYS_process_vm_writev, kSpecial},
    {SYS_kill, kSpecial},
    {SYS_tkill, kSpecial},
    {SYS_tgkill, kSpecial},
    {SYS_rt_sigpending, kGiven, {fixed(0, 8)}},
    {SYS_rt_sigtimedwait, kGiven, {fixed(1, 128)}},
    {SYS_pause, kGiven},
    {SYS_alarm, kGiven},
    {SYS_setitimer, kGiven, {fixed(2, 32)}},
    {SYS_timer_create, kGiven, {fixed(2, 4)}},
    {SYS_timer_settime, kGiven, {fixed(3, 32)}},
    {SYS_timer_gettime, kGiven, {fixed(1, 32)}},
    {SYS_timer_getoverrun, kGiven},
    {SYS_timer_delete, kGiven},
    {SYS_rt_sigsuspend, kGiven},
    // Who and where
    {SYS_getpid, kGiven},
    {SYS_getppid, kGiven},
    {SYS_gettid, kGiven},
    {SYS_getuid, kGiven},
    {SYS_geteuid, kGiven},
    {SYS_getgid, kGiven},
    {SYS_getegid, kGiven},
    {SYS_getpgrp, kGiven},
    {SYS_getpgid, kGiven},
    {SYS_getsid, kGiven},
    {SYS_getgroups, kGiven, {records(1, 4)}},
    {SYS_getpriority, kGiven},
    {SYS_uname, kGiven, {fixed(0, 390)}},
    {SYS_sysinfo, kGiven, {fixed(0, 112)}},
    {SYS_getrusage, kGiven, {fixed(1, 144)}},
    {SYS_getrlimit, kGiven, {fixed(1, 16)}},
    {SYS_prlimit64, kSpecial},
    {SYS_getcpu, kGiven, {fixed(0, 4), fixed(1, 4)}},
    {SYS_sched_getaffinity, kGiven, {by_result(2)}},
    {SYS_sched_getscheduler, kGiven},
    {SYS_sched_getparam, kGiven, {fixed(1, 4)}},
    {SYS_sched_get_priority_max, kGiven},
    {SYS_sched_get_priority_min, kGiven},
    {SYS_get_mempolicy, kGiven, {fixed(0, 4)}},
    // Time and chance
    {SYS_clock_gettime, kSpecial},
    {SYS_gettimeofday, kGiven, {fixed(0, 16)}},
    {SYS_time, kGiven, {fixed(0, 8)}},
    {SYS_times, kGiven, {fixed(0, 32)}},
    {SYS_clock_getres, kGiven, {fixed(1, 16)}},
    {SYS_nanosleep, kGiven},
    {SYS_clock_nanosleep, kGiven},
    {SYS_getrandom, kGiven, {by_result(0)}},
    {SYS_timerfd_create, kDescriptor},
    {SYS_timerfd_settime, kGiven, {fixed(3, 32)}},
    {SYS_timerfd_gettime, kGiven, {fixed(1, 32)}},
    {SYS_getitimer, kGiven, {fixed(1, 32)}},
    // Descriptors
    {SYS_open, kSpecial},
    {SYS_openat, kSpecial},
    {SYS_creat, kSpecial},
    {SYS_memfd_create, kSpecial},
    {SYS_close, kSpecial},
    {SYS_close_range, kSpecial},
    {SYS_dup, kSpecial},
    {SYS_dup2, kSpecial},
    {SYS_dup3, kSpecial},
    {SYS_fcntl, kSpecial},
    {SYS_ioctl, kSpecial},
    {SYS_pipe, kSpecial},
    {SYS_pipe2, kSpecial},
    {SYS_socketpair, kSpecial},
    {SYS_eventfd, kDescriptor},
    {SYS_eventfd2, kDescriptor},
    {SYS_epoll_create, kDescriptor},
    {SYS_epoll_create1, kDescriptor},
    {SYS_signalfd4, kDescriptor},
    {SYS_inotify_init1, kDescriptor},
    {SYS_socket, kDescriptor},
    {SYS_accept, kDescriptor, {pointed(1, 2)}},
    {SYS_accept4, kDescriptor, {pointed(1, 2)}},
    // Reading, writing, waiting
    {SYS_read, kOfFile, {by_result(1)}},
    {SYS_pread64, kOfFile, {by_result(1)}},
    {SYS_readv, kSpecial},
    {SYS_preadv, kSpecial},
    {SYS_write, kSpecial},
    {SYS_writev, kSpecial},
    {SYS_pwrite64, kOfFile},
    {SYS_pwritev, kOfFile},
    {SYS_lseek, kOfFile},
    {SYS_ftruncate, kOfFile},
    {SYS_fallocate, kOfFile},
    {SYS_fsync, kOfFile},
    {SYS_fdatasync, kOfFile},
    {SYS_fadvise64, kOfFile},
    {SYS_flock, kGiven},
    {SYS_poll, kSpecial},
    {SYS_ppoll, kSpecial},
    {SYS_select, kSpecial},
    {SYS_pselect6, kSpecial},
    {SYS_epoll_ctl, kGiven},
    {SYS_epoll_wait, kGiven, {records(1, 12)}},
    {SYS_epoll_pwait, kGiven, {records(1, 12)}},
    {SYS_inotify_add_watch, kGiven},
    {SYS_bind, kGiven},
    {SYS_listen, kGiven},
    {SYS_connect, kGiven},
    {SYS_shutdown, kGiven},
    {SYS_sendto, kGiven},
    {SYS_sendmsg, kGiven},
    {SYS_setsockopt, kGiven},
    {SYS_getsockopt, kGiven, {pointed(3, 4)}},
    {SYS_getsockname, kGiven, {pointed(1, 2)}},
    {SYS_getpeername, kGiven, {pointed(1, 2)}},
    {SYS_recvfrom, kGiven, {by_result(1), pointed(4, 5)}},
    {SYS_recvmsg, kSpecial},
    // Names of files
    {SYS_stat, kGiven, {fixed(1, 144)}},
    {SYS_lstat, kGiven, {fixed(1, 144)}},
    {SYS_fstat, kGiven, {fixed(1, 144)}},
    {SYS_newfstatat, kGiven, {fixed(2, 144)}},
    {SYS_statx, kGiven, {fixed(4, 256)}},
    {SYS_statfs, kGiven, {fixed(1, 120)}},
    {SYS_fstatfs, kGiven, {fixed(1, 120)}},
    {SYS_getdents64, kGiven, {by_result(1)}},
    {SYS_getcwd, kGiven, {by_result(0)}},
    {SYS_readlink, kGiven, {by_result(1)}},
    {SYS_readlinkat, kGiven, {by_result(2)}},
    {SYS_access, kGiven},
    {SYS_faccessat, kGiven},
    {SYS_faccessat2, kGiven},
    {SYS_mkdir, kGiven},
    {SYS_mkdirat, kGiven},
    {SYS_rmdir, kGiven},
    {SYS_unlink, kGiven},
    {SYS_unlinkat, kGiven},
    {SYS_rename, kGiven},
    {SYS_renameat, kGiven},
    {SYS_renameat2, kGiven},
    {SYS_link, kGiven},
    {SYS_linkat, kGiven},
    {SYS_symlink, kGiven},
    {SYS_symlinkat, kGiven},
    {SYS_mknod, kGiven},
    {SYS_mknodat, kGiven},
    {SYS_chmod, kGiven},
    {SYS_fchmod, kGiven},
    {SYS_fchmodat, kGiven},
    {SYS_chown, kGiven},
    {SYS_fchown, kGiven},
    {SYS_fchownat, kGiven},
    {SYS_utimensat, kGiven},
    {SYS_truncate, kGiven},
    {SYS_sync, kGiven},
    {SYS_getxattr, kGiven, {by_result(2)}},
    {SYS_lgetxattr, kGiven, {by_result(2)}},
    {SYS_fgetxattr, kGiven, {by_result(2)}},
    // Optional ones, without which the C library and this one go other ways
    {SYS_io_uring_setup, kMissing},
    {SYS_io_uring_register, kMissing},
    {SYS_perf_event_open, kMissing},
    {SYS_userfaultfd, kMissing},
    {SYS_copy_file_range, kMissing},
    {SYS_sendfile, kMissing},
};

constexpr size_t kMostCalls = 512;

constexpr std::array<uint8_t, kMostCalls> make_index() {
  std::array<uint8_t, kMostCalls> index{};
  for (size_t i = 0; i < std::size(kRules); ++i)
    index[kRules[i].number] = static_cast<uint8_t>(i + 1);
  return index;
}
static_assert(std::size(kRules) < 256);
constexpr std::array<uint8_t, kMostCalls> kIndex = make_index();
constexpr CallRule kUnknown{};

}  // namespace

const CallRule& rule_of(long number) {
  if (number < 0 || number >= static_cast<long>(kMostCalls)) return kUnknown;
  const uint8_t place = kIndex[static_cast<size_t>(number)];
  return place ? kRules[place - 1] : kUnknown;
}

bool is_placed_call(long number) {
  return number == SYS_mmap || rule_of(number).answer == CallAnswer::kPlaced;
}

}  // namespace fgmpi::rewind
