/* More messages between two jobs than any buffer between them holds, of lengths around what one
 * frame carries, to a side that looks seldom and sleeps in between; both ways at once, and each way
 * alone. The children are started by the command `torrent COMMAND...`, if there is one, with the
 * program behind it. */
#include <string.h>
#include <unistd.h>

#include "spawning.h"

enum { kMessages = 3000, kLongest = 200000, kSleeps = 12 };

static int length_of(int i) {
  static const int lengths[] = {0, 1, 8, 9, 64, 1000, 4096, 20000, 65535, 65536, 65537, kLongest};
  return i % 50 == 0 ? lengths[i / 50 % 12] : lengths[i % 6];
}

static void fill(char* bytes, int n, int i) {
  for (int k = 0; k < n; k += 97) bytes[k] = (char)(i + k);
}

static void check(const char* bytes, int n, int i) {
  for (int k = 0; k < n; k += 97) CHECK(bytes[k] == (char)(i + k));
}

static void send_all(MPI_Comm comm, int to) {
  char* bytes = malloc(kLongest);
  for (int i = 0; i < kMessages; ++i) {
    fill(bytes, length_of(i), i);
    OK(MPI_Send(bytes, length_of(i), MPI_BYTE, to, i % 7, comm));
  }
  free(bytes);
}

static void receive_all(MPI_Comm comm, int from) {
  char* bytes = malloc(kLongest);
  MPI_Status status;
  int count;
  for (int i = 0; i < kMessages; ++i) {
    if (i % (kMessages / kSleeps) == 0) usleep(20000);
    OK(MPI_Recv(bytes, kLongest, MPI_BYTE, from, i % 7, comm, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == length_of(i));
    check(bytes, count, i);
  }
  free(bytes);
}

/* All sends are begun before anything is received. */
static void both_ways(MPI_Comm comm, int other) {
  enum { kPending = 1500 };
  char *out = malloc(kLongest + kPending), *in = malloc((size_t)kPending * 1000);
  MPI_Request* r = malloc(sizeof(MPI_Request) * 2 * kPending);
  memset(out, 7, kLongest + kPending);
  for (int i = 0; i < kPending; ++i)
    OK(MPI_Isend(out + i, length_of(i) > 1000 ? kLongest : length_of(i), MPI_BYTE, other, 9, comm,
                 &r[i]));
  char* longest = malloc((size_t)kLongest * (kPending / 50 + 1));
  for (int i = 0, longs = 0; i < kPending; ++i) {
    const int is_long = length_of(i) > 1000;
    OK(MPI_Irecv(is_long ? longest + (size_t)kLongest * (size_t)longs++ : in + i * 1000,
                 is_long ? kLongest : 1000, MPI_BYTE, other, 9, comm, &r[kPending + i]));
  }
  OK(MPI_Waitall(2 * kPending, r, MPI_STATUSES_IGNORE));
  for (int i = 0; i < kLongest; i += 89) CHECK(longest[i] == 7);
  free(longest);
  free(r);
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  MPI_Comm between;
  char* program = argv[0];
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_get_parent(&between));
  const int child = between != MPI_COMM_NULL;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (!child) {
    for (int i = 1; i < argc; ++i) argv[i - 1] = argv[i];
    if (argc > 1) argv[argc - 1] = program;
    MPI_Info infos[2];
    OK(MPI_Info_create(&infos[0]));
    OK(MPI_Info_set(infos[0], "nfg", size % 2 == 0 ? "2" : "1"));
    spawn_commands(MPI_COMM_WORLD, 0, argv[0], argv + 1, size, 0, infos, &between);
    OK(MPI_Info_free(&infos[0]));
  }
  if (rank < 4) {
    if (child)
      send_all(between, rank);
    else
      receive_all(between, rank);
    if (child)
      receive_all(between, rank);
    else
      send_all(between, rank);
    both_ways(between, rank);
  }
  OK(MPI_Comm_disconnect(&between));
  if (!child && rank == 0) printf(" No Errors\n");
  OK(MPI_Finalize());
  return 0;
}
