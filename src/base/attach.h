// Who may attach to this process: read its memory (process_vm_readv), duplicate its descriptors
// (pidfd_getfd), trace it.
//
// Yama, a security module of Linux, has a setting kernel.yama.ptrace_scope: with 0 every process of
// the same user may attach; with 1 only ancestors, and the process that this one names (prctl
// PR_SET_PTRACER); with 2 and 3 no process may. Under 1 the processes of a job must name each
// other. A process can name one other process at a time, and that one's descendants are then
// allowed too. So a process names the one that its launcher has started it by. That allows the
// processes of the job on this host, and what they start, and no others. Where the launcher is
// unknown, a process names the one peer that asks.
//
// Thread rule: one thread. Makes system calls at the first use and when another process is named.
#pragma once

#include <sys/types.h>

#include <functional>

namespace fgmpi {

class AttachPermission {
 public:
  /// `name_tracer` is the system call that names a process; `scope` is the value of ptrace_scope (0
  /// without Yama).
  AttachPermission(int scope, std::function<void(pid_t)> name_tracer)
      : scope_(scope), name_tracer_(std::move(name_tracer)) {}

  /// Sets the process from which all processes of the job on this host descend.
  void set_launcher(pid_t launcher) { launcher_ = launcher; }
  /// From now on process `peer`, of this job and this host, may attach.
  void allow(pid_t peer);

 private:
  int scope_;
  std::function<void(pid_t)> name_tracer_;
  pid_t launcher_ = 0;
  pid_t named_ = 0;
};

/// The permission that this process gives. It names no process before the first allow().
AttachPermission& attach_permission();

/// The process at the other end of a pair of sockets, where that process made the pair before it
/// started this one; 0 when unknown.
pid_t maker_of_socket(int fd);

}  // namespace fgmpi
