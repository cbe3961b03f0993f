/* Some processes may not read the memory of others: a seccomp filter refuses process_vm_readv.
 * Messages of all sizes go both ways between a process that may and one that may not, and between
 * two that may not.
 *   NO_READS=none|even|all       whose reads are refused: nobody's, of processes with even numbers,
 *                                everybody's
 *   NO_READS_HOW=EPERM|ENOSYS
 * Run with FGMPI_SHM_READ_MIN=0, so that every large message would be read. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "mpitest.h"

static int refuse_reads(int code) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)code),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static unsigned char value_at(size_t i, int from, int round) {
  return (unsigned char)(i * 7 + i / 251 + from * 31 + round);
}

int main(int argc, char** argv) {
  const char* who = getenv("NO_READS");
  const char* how = getenv("NO_READS_HOW");
  const char* index = getenv("PMI_RANK");
  int code = how && !strcmp(how, "ENOSYS") ? ENOSYS : EPERM, rank, size;
  int process = index ? atoi(index) : 0;
  int refused = who && (!strcmp(who, "all") || (!strcmp(who, "even") && process % 2 == 0));
  if (refused && refuse_reads(code)) {
    printf("no seccomp filters here: skipped\n");
    refused = 0;
  }
  if (refused) {
    char from = 1, to = 0;
    struct iovec local = {&to, 1}, remote = {&from, 1};
    CHECK(process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == -1 && errno == code);
  }
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  static const int sizes[] = {0, 1, 1000, 65536, 65537, 100000, 1 << 20, (4 << 20) + 3, 9000001};
  enum { kMost = 9000001 };
  unsigned char* out = malloc(kMost);
  unsigned char* in = malloc(kMost);
  for (int round = 0; round < (int)(sizeof sizes / sizeof *sizes); ++round) {
    int n = sizes[round];
    for (int shift = 1; shift < size; ++shift) {
      int to = (rank + shift) % size, from = (rank + size - shift) % size;
      for (int i = 0; i < n; ++i) out[i] = value_at(i, rank, round);
      memset(in, 0, n);
      MPI_Request request;
      OK(MPI_Isend(out, n, MPI_BYTE, to, round, MPI_COMM_WORLD, &request));
      OK(MPI_Recv(in, n, MPI_BYTE, from, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      for (int i = 0; i < n; ++i) {
        if (in[i] == value_at(i, from, round)) continue;
        printf("rank %d: byte %d of %d from rank %d is wrong\n", rank, i, n, from);
        MPI_Abort(MPI_COMM_WORLD, 3);
      }
    }
  }
  free(out);
  free(in);
  OK(MPI_Finalize());
  return 0;
}
