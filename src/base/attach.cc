// The permission for other processes to read this one's memory, where the kernel (Yama)
// requires one.

#include "base/attach.h"

#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/file_text.h"
#include "base/strings.h"

namespace fgmpi {

void AttachPermission::allow(pid_t peer) {
  constexpr int kAncestorsAndNamed = 1;
  if (scope_ != kAncestorsAndNamed) return;
  const pid_t tracer = launcher_ > 0 ? launcher_ : peer;
  if (tracer == named_) return;
  named_ = tracer;
  name_tracer_(tracer);
}

AttachPermission& attach_permission() {
  static AttachPermission* permission = [] {
    const std::string scope = first_word_of_file("/proc/sys/kernel/yama/ptrace_scope");
    auto name_tracer = [](pid_t tracer) {
#ifdef PR_SET_PTRACER
      prctl(PR_SET_PTRACER, static_cast<unsigned long>(tracer), 0, 0, 0);
#endif
    };
    return new AttachPermission(static_cast<int>(parse_int(scope).value_or(0)), name_tracer);
  }();
  return *permission;
}

pid_t maker_of_socket(int fd) {
  ucred maker{};
  socklen_t size = sizeof maker;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &maker, &size)) return 0;
  return maker.pid;
}

}  // namespace fgmpi
