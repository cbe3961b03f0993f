/* For reports.sh: whether the process has a ring and other threads once it has read and written.
 * "refused": the kernel allows no io_uring, as in many containers. */
#include <dirent.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "filetest.h"

static void refuse_uring(void) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static int entries(const char* folder) {
  int n = 0;
  DIR* list = opendir(folder);
  CHECK(list);
  for (struct dirent* entry; (entry = readdir(list));) n += entry->d_name[0] != '.';
  closedir(list);
  return n;
}

static int rings(void) {
  char path[300], link[100];
  int n = 0;
  DIR* list = opendir("/proc/self/fd");
  CHECK(list);
  for (struct dirent* entry; (entry = readdir(list));) {
    snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
    ssize_t length = readlink(path, link, sizeof link - 1);
    link[length > 0 ? length : 0] = 0;
    n += strstr(link, "io_uring") != NULL;
  }
  closedir(list);
  return n;
}

/* Asked without the library. */
static int probe(void) {
  char space[256] = {0};
  if (syscall(SYS_io_uring_setup, 4, space) >= 0) printf("io_uring is allowed\n");
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "probe")) return probe();
  MPI_File f;
  MPI_Datatype every;
  static int out[5000], in[5000];
  start(&argc, &argv, "engines");
  if (argc > 1 && !strcmp(argv[1], "refused")) refuse_uring();
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f));
  /* Rows with gaps: several system calls each way, and reads through a buffer. */
  OK(MPI_Type_vector(5, 1000, 1000 * size, MPI_INT, &every));
  OK(MPI_Type_commit(&every));
  OK(MPI_File_set_view(f, 4000L * rank, MPI_INT, every, "native", MPI_INFO_NULL));
  for (int i = 0; i < 5000; i++) out[i] = 10000 * rank + i;
  OK(MPI_File_write_at(f, 0, out, 5000, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at(f, 0, in, 5000, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(!memcmp(in, out, sizeof in));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Type_free(&every));
  OK(MPI_File_close(&f));
  if (rank == 0) {
    printf("rings %d, threads %d\n", rings(), entries("/proc/self/task"));
    OK(MPI_File_delete(name, MPI_INFO_NULL));
  }
  return finish();
}
