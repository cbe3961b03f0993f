/* withhold ERRNO CALL,CALL,... COMMAND...: runs the command under a filter of system calls that
 * refuses these, as filters of containers do. Ends with 77 where filters cannot be installed. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL(name) \
  { #name, SYS_##name }
static const struct {
  const char* name;
  unsigned number;
} kKnown[] = {CALL(epoll_pwait2),
              CALL(close_range),
              CALL(pidfd_open),
              CALL(pidfd_getfd),
              CALL(io_uring_setup),
              CALL(io_uring_enter),
              CALL(io_uring_register),
              CALL(process_vm_readv),
              CALL(process_vm_writev),
              CALL(personality),
              CALL(ptrace),
              CALL(kcmp),
              CALL(move_pages),
              CALL(mbind),
              CALL(set_mempolicy),
              CALL(get_mempolicy),
              CALL(perf_event_open),
              CALL(userfaultfd)};
enum { kCount = sizeof kKnown / sizeof kKnown[0] };

int main(int argc, char** argv) {
  struct sock_filter code[2 + 2 * kCount], *c = code;
  if (argc < 4) return 2;
  *c++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (char* name = strtok(argv[2], ","); name; name = strtok(NULL, ",")) {
    int k = 0;
    while (k < kCount && strcmp(kKnown[k].name, name) != 0) ++k;
    if (k == kCount || c - code > 2 * kCount) {
      fprintf(stderr, "withhold: %s: not one of the calls that are known\n", name);
      return 2;
    }
    *c++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kKnown[k].number, 0, 1);
    *c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | atoi(argv[1]));
  }
  *c++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {(unsigned short)(c - code), code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
    perror("withhold");
    return 77;
  }
  execvp(argv[3], argv + 3);
  perror(argv[3]);
  return 127;
}
