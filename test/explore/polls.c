/* Programs with calls that do not wait, or return some of several requests; the first argument says
   which (known_numbers.sh). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMost = 8 };
static int me, all, values[kMost];
static MPI_Request requests[kMost];
static MPI_Status statuses[kMost];

static void send_me(int to, int tag) { MPI_Send(&me, 1, MPI_INT, to, tag, MPI_COMM_WORLD); }
static void start(int i, int source) {
  MPI_Irecv(&values[i], 1, MPI_INT, source, 0, MPI_COMM_WORLD, &requests[i]);
}

/* One test: it finds the message or not. 2. */
static void once(void) {
  int flag;
  if (me == 1) send_me(0, 0);
  if (me > 0) return;
  start(0, 1);
  MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  printf("%d\n", flag);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

/* The same with MPI_Iprobe. 2. */
static void probe_once(void) {
  int flag, value;
  if (me == 1) send_me(0, 0);
  if (me > 0) return;
  MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  printf("%d\n", flag);
  MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A loop until the message is there, with naps: at once, or after a failure. 2. */
static void spin(void) {
  int flag = 0;
  if (me == 1) send_me(0, 0);
  if (me > 0) return;
  start(0, 1);
  while (!flag) {
    MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    if (!flag) usleep(10);
  }
}

/* Loops for messages from anybody: for each the source, and whether the first look finds it. (N-1)!
 * 2^(N-1). */
static void spin_any(void) {
  if (me > 0) return send_me(0, 0);
  for (int i = 1; i < all; ++i) {
    int flag = 0, value;
    MPI_Status status;
    while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, &status);
    MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/* The same with MPI_Improbe. */
static void spin_improbe(void) {
  if (me > 0) return send_me(0, 0);
  for (int i = 1; i < all; ++i) {
    int flag = 0, value;
    MPI_Message message;
    while (!flag)
      MPI_Improbe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  }
}

/* Three tries: found at the first, at a later one, never. 3. */
static void tries(void) {
  int flag = 0;
  if (me == 1) send_me(0, 0);
  if (me > 0) return;
  start(0, 1);
  for (int i = 0; i < 3 && !flag; ++i) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  printf("%d\n", flag);
  if (!flag) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

/* The error needs a failure of the second look only: rank 0 takes an answer that is there for a
 * question that is not. */
static void rare_failure(void) {
  int first, second;
  if (me == 1) send_me(0, 0);
  if (me == 2) send_me(0, 0);
  if (me > 0) return;
  start(0, 1);
  start(1, 2);
  MPI_Test(&requests[0], &first, MPI_STATUS_IGNORE);
  MPI_Test(&requests[1], &second, MPI_STATUS_IGNORE);
  if (first && !second) exit(3);
  MPI_Waitall(2, requests, statuses);
}

/* Two ranks wait in loops for each other's message, which comes after the loop. */
static void poll_for_ever(void) {
  int flag = 0, value;
  if (me > 1) return;
  while (!flag) MPI_Iprobe(1 - me, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  MPI_Recv(&value, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  send_me(1 - me, 0);
}

/* A loop that looks for two things; the second message is sent for the first. */
static void two_looks(void) {
  int first = 0, second = 0, value;
  if (me == 1) {
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    send_me(0, 0);
  }
  if (me == 2) send_me(0, 0);
  if (me > 0) return;
  start(0, 1);
  start(1, 2);
  while (!first || !second) {
    if (!first) MPI_Test(&requests[0], &first, MPI_STATUS_IGNORE);
    if (!second) {
      MPI_Test(&requests[1], &second, MPI_STATUS_IGNORE);
      if (second) send_me(1, 1);
    }
  }
}

/* A nonblocking barrier, and a loop until it is over. */
static void barrier(void) {
  int flag = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
  while (!flag) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
}

/* Requests one by one in any order: (N-1)!. */
static void waitany(void) {
  if (me > 0) return send_me(0, 0);
  for (int i = 1; i < all; ++i) start(i - 1, i);
  for (int i = 1; i < all; ++i) {
    int index;
    MPI_Waitany(all - 1, requests, &index, MPI_STATUS_IGNORE);
    printf("%d", index);
  }
  printf("\n");
}

/* In any order, several at once: 1, 3, 13, 75 (ordered set partitions). */
static void waitsome(void) {
  if (me > 0) return send_me(0, 0);
  for (int i = 1; i < all; ++i) start(i - 1, i);
  for (int done = 0; done < all - 1;) {
    int n, indices[kMost];
    MPI_Waitsome(all - 1, requests, &n, indices, statuses);
    for (int i = 0; i < n; ++i) printf("%d", indices[i]);
    printf(" ");
    done += n;
  }
  printf("\n");
}

/* As waitany; the second message is sent only when the first has come to somebody else. */
static void waitany_late(void) {
  int value, index;
  if (me == 1) MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (me == 3) send_me(1, 0);
  if (me == 1 || me == 2) send_me(0, 0);
  if (me > 0) return;
  start(0, 1);
  start(1, 2);
  for (int i = 0; i < 2; ++i) {
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    printf("%d", index);
  }
  printf("\n");
}

/* MPI_Testany and MPI_Testall once each over two messages. */
static void test_lists(void) {
  int index, any, every;
  if (me > 0) return send_me(0, 0);
  start(0, 1);
  start(1, 2);
  MPI_Testany(2, requests, &index, &any, MPI_STATUS_IGNORE);
  MPI_Testall(2, requests, &every, statuses);
  printf("%d %d\n", any ? index : -1, every);
  if (!every) MPI_Waitall(2, requests, statuses);
}

/* What MPI_Request_get_status has found the next test finds, too; in the next round of a persistent
   receive it may fail again. 3 a round. */
static void status_then_test(void) {
  int first, second;
  for (int round = 0; me == 1 && round < 2; ++round) send_me(0, 0);
  if (me > 0) return;
  MPI_Recv_init(values, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, requests);
  for (int round = 0; round < 2; ++round) {
    MPI_Start(requests);
    MPI_Request_get_status(requests[0], &first, MPI_STATUS_IGNORE);
    MPI_Test(requests, &second, MPI_STATUS_IGNORE);
    printf("%d%d ", first, second);
    if (!second) MPI_Wait(requests, MPI_STATUS_IGNORE);
  }
  printf("\n");
  MPI_Request_free(requests);
}

/* What MPI_Iprobe has seen MPI_Improbe sees, too. 3. */
static void probe_twice(void) {
  int first, second, value;
  MPI_Message message;
  if (me == 1) send_me(0, 0);
  if (me > 0) return;
  MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &first, MPI_STATUS_IGNORE);
  MPI_Improbe(1, 0, MPI_COMM_WORLD, &second, &message, MPI_STATUS_IGNORE);
  printf("%d%d\n", first, second);
  if (second)
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  else
    MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* MPI_Testsome once over two messages: none, one of them, both. 4. */
static void testsome(void) {
  int n, indices[kMost];
  if (me > 0) return send_me(0, 0);
  start(0, 1);
  start(1, 2);
  MPI_Testsome(2, requests, &n, indices, statuses);
  for (int i = 0; i < n; ++i) printf("%d", indices[i]);
  printf(".\n");
  MPI_Waitall(2, requests, statuses);
}

/* One test of a communicator in the making, and of a write to a file. 2 each. */
static void idup(void) {
  MPI_Comm made;
  int flag;
  MPI_Comm_idup(MPI_COMM_WORLD, &made, requests);
  if (me == 0) {
    MPI_Test(requests, &flag, MPI_STATUS_IGNORE);
    printf("%d\n", flag);
  }
  MPI_Wait(requests, MPI_STATUS_IGNORE);
  MPI_Comm_free(&made);
}

static void iwrite(void) {
  MPI_File file;
  int flag;
  if (me > 0) return;
  MPI_File_open(MPI_COMM_SELF, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_iwrite_at(file, 0, &me, 1, MPI_INT, requests);
  MPI_Test(requests, &flag, MPI_STATUS_IGNORE);
  printf("%d\n", flag);
  MPI_Wait(requests, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

static int query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
static int release(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}

/* What the program itself has completed a test finds. 1. */
static void generalized(void) {
  int flag;
  MPI_Grequest_start(query, release, cancel, NULL, requests);
  MPI_Grequest_complete(requests[0]);
  MPI_Test(requests, &flag, MPI_STATUS_IGNORE);
  if (!flag) exit(3);
}

/* Of a message and a request that is complete when it has been polled twice: either first, or the
 * message in a later look. 3. */
static int polls;
static int poll_twice(void* state, MPI_Status* status) {
  (void)status;
  if (++polls == 2) MPI_Grequest_complete(*(MPI_Request*)state);
  return MPI_SUCCESS;
}
static void polled(void) {
  int index;
  static MPI_Request own;
  if (me == 1) send_me(0, 0);
  if (me > 0) return;
  MPIX_Grequest_start(query, release, cancel, poll_twice, NULL, &own, &own);
  start(0, 1);
  requests[1] = own;
  for (int i = 0; i < 2; ++i) {
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    printf("%d", index);
  }
  printf("\n");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  static const struct {
    const char* name;
    void (*run)(void);
  } programs[] = {{"once", once},
                  {"probe_once", probe_once},
                  {"spin", spin},
                  {"spin_any", spin_any},
                  {"spin_improbe", spin_improbe},
                  {"tries", tries},
                  {"rare_failure", rare_failure},
                  {"poll_for_ever", poll_for_ever},
                  {"two_looks", two_looks},
                  {"barrier", barrier},
                  {"waitany", waitany},
                  {"waitsome", waitsome},
                  {"waitany_late", waitany_late},
                  {"test_lists", test_lists},
                  {"status_then_test", status_then_test},
                  {"probe_twice", probe_twice},
                  {"testsome", testsome},
                  {"idup", idup},
                  {"iwrite", iwrite},
                  {"generalized", generalized},
                  {"polled", polled}};
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; ++i)
    if (argc > 1 && !strcmp(argv[1], programs[i].name)) programs[i].run();
  MPI_Finalize();
  return 0;
}
