// Who may attach to this process: read its memory (process_vm_readv), duplicate its descriptors
// (pidfd_getfd), trace it.
//
// Yama, a security module of Linux, has a setting kernel.yama.ptrace_scope: with 0 every process of
// the same user may, with 1 only ancestors, and whom the process itself names (prctl
// PR_SET_PTRACER), with 2 and 3 nobody. Under 1 the processes of a job must name each other. One
// process can be named at a time, and its descendants are then allowed too. So a process names the
// one that its launcher has started it by: that allows the processes of the job on this host, and
// what they start, and nobody else. Where the launcher is not known, the one peer that asks.
//
// Thread rule: one thread. Makes system calls at the first use and when another process is named.
#pragma once

#include <sys/types.h>

#include <functional>

namespace fgmpi {

class AttachPermission {
 public:
  /// `name_tracer` is the system call, which names a process; `scope` is what ptrace_scope says (0
  /// without Yama).
  AttachPermission(int scope, std::function<void(pid_t)> name_tracer)
      : scope_(scope), name_tracer_(std::move(name_tracer)) {}

  /// All processes of the job on this host descend from `launcher`.
  void set_launcher(pid_t launcher) { launcher_ = launcher; }
  /// From now on process `peer`, of this job and this host, may attach.
  void allow(pid_t peer);

 private:
  int scope_;
  std::function<void(pid_t)> name_tracer_;
  pid_t launcher_ = 0;
  pid_t named_ = 0;
};

/// The permission that this process gives. Nobody is named before the first allow().
AttachPermission& attach_permission();

/// The process at the other end of a pair of sockets that it has made before it started this one; 0
/// when it is not known.
pid_t maker_of_socket(int fd);

}  // namespace fgmpi
