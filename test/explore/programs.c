/* Programs whose number of executions is known; the first argument says which
 * (known_numbers.sh). */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int me, all;

static int receive_any(int tag) {
  int value;
  MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return value;
}

static void send_me(int to, int tag) { MPI_Send(&me, 1, MPI_INT, to, tag, MPI_COMM_WORLD); }

/* N senders, one receiver: N! orders, each with an output of its own. */
static void senders(void) {
  if (me > 0) return send_me(0, 0);
  for (int i = 1; i < all; ++i) printf("%d", receive_any(0));
  printf("\n");
}

/* Waits for ever in the one order in which all senders come in reverse. */
static void rare_deadlock(void) {
  if (me > 0) return send_me(0, 0);
  int reverse = 1;
  for (int i = 1; i < all; ++i) reverse &= receive_any(0) == all - i;
  if (reverse) receive_any(1);
}

/* Rank 1 sends to rank 0 only after its own wildcard receive: rank 0's first receive may wait for
 * that. */
static void late_message(void) {
  if (me == 0) {
    int first = receive_any(0);
    printf("%d%d\n", first, receive_any(0));
  }
  if (me == 1) receive_any(0);
  if (me == 1 || me == 2) send_me(0, 0);
  if (me == 3) send_me(1, 0);
}

/* Pairs that know nothing of each other: one class of executions. */
static void pairs(void) {
  for (int i = 0; i < 3; ++i) {
    if (me % 2)
      send_me(me - 1, 0);
    else
      receive_any(0);
  }
}

/* Three rounds of 2 senders: (2!)^3. */
static void rounds(void) {
  for (int i = 0; i < 3; ++i) {
    if (me > 0) send_me(0, 0);
    for (int k = 1; me == 0 && k < all; ++k) receive_any(0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* As senders, but each message is probed for first, and taken by its source. */
static void probes(void) {
  if (me > 0) return send_me(0, 0);
  for (int i = 1; i < all; ++i) {
    MPI_Status status;
    int value;
    MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
    MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/* Two nonblocking wildcard receives with tags of their own do not compete: one class. */
static void two_tags(void) {
  if (me == 1 || me == 2) return send_me(0, me);
  if (me > 0) return;
  int values[2];
  MPI_Request requests[2];
  for (int i = 0; i < 2; ++i)
    MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, i + 1, MPI_COMM_WORLD, &requests[i]);
  MPI_Status statuses[2];
  MPI_Waitall(2, requests, statuses);
}

/* A master hands out 4 rows of a matrix product to whoever is ready, then the end: of w workers w^4
 * w! orders. */
static void matrix(void) {
  enum { kRows = 4, kStop = 1 };
  if (me > 0) {
    for (;;) {
      int row;
      MPI_Status status;
      send_me(0, 0);
      MPI_Recv(&row, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      if (status.MPI_TAG == kStop) return;
    }
  }
  for (int row = 0; row < kRows + all - 1; ++row) {
    int worker = receive_any(0);
    MPI_Send(&row, 1, MPI_INT, worker, row < kRows ? 0 : kStop, MPI_COMM_WORLD);
  }
}

/* The first half of the ranks are philosophers, the others forks. Each takes the fork of its
   number, then the next one. A fork serves two, in any order: with n philosophers 2^n ways, of
   which one cannot be (each second fork first) and one is a deadlock (each first fork first).
   `ordered`: the last takes its forks the other way round, and the deadlock cannot be either. */
static void philosophers(int ordered) {
  const int n = all / 2;
  int value;
  if (me < n) {
    const int turned = ordered && me == n - 1;
    const int forks[2] = {n + (me + turned) % n, n + (me + !turned) % n};
    for (int i = 0; i < 2; ++i) {
      send_me(forks[i], 0);
      MPI_Recv(&value, 1, MPI_INT, forks[i], 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 2; ++i) send_me(forks[i], 1);
    return;
  }
  for (int i = 0; i < 2; ++i) {
    const int philosopher = receive_any(0);
    send_me(philosopher, 0);
    MPI_Recv(&value, 1, MPI_INT, philosopher, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/* Members join a ring in the order in which rank 0 hears of them, (n - 1)! rings. Then each hands a
   token to the next one and takes one from the last one; who has a higher rank after it takes
   first, but rank 0 always hands first. If the members have come in reverse, all hand first, and
   wait for ever. */
static void token_ring(void) {
  enum { kMost = 32, kToken = 2 };
  int last, next, members[kMost + 1] = {0};
  if (all > kMost) return;
  if (me == 0) {
    for (int i = 1; i < all; ++i) members[i] = receive_any(0);
    for (int i = 1; i < all; ++i) {
      const int beside[2] = {members[i - 1], members[(i + 1) % all]};
      MPI_Send(beside, 2, MPI_INT, members[i], 1, MPI_COMM_WORLD);
    }
    last = members[all - 1];
    next = members[1];
  } else {
    send_me(0, 0);
    int beside[2];
    MPI_Recv(beside, 2, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    last = beside[0];
    next = beside[1];
  }
  const int take_first = me > 0 && next > me;
  int token = me;
  if (!take_first) MPI_Ssend(&me, 1, MPI_INT, next, kToken, MPI_COMM_WORLD);
  MPI_Recv(&token, 1, MPI_INT, last, kToken, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (take_first) MPI_Ssend(&me, 1, MPI_INT, next, kToken, MPI_COMM_WORLD);
}

/* Ends with status 3 if rank 2's message is first. */
static int bad_end(void) {
  if (me > 0) return send_me(0, 0), 0;
  int status = receive_any(0) == 2 ? 3 : 0;
  for (int i = 2; i < all; ++i) receive_any(0);
  return status;
}

int main(int argc, char** argv) {
  int status = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  const char* which = argc > 1 ? argv[1] : "senders";
  if (!strcmp(which, "senders")) senders();
  if (!strcmp(which, "rare_deadlock")) rare_deadlock();
  if (!strcmp(which, "late_message")) late_message();
  if (!strcmp(which, "pairs")) pairs();
  if (!strcmp(which, "rounds")) rounds();
  if (!strcmp(which, "probes")) probes();
  if (!strcmp(which, "two_tags")) two_tags();
  if (!strcmp(which, "matrix")) matrix();
  if (!strcmp(which, "philosophers")) philosophers(0);
  if (!strcmp(which, "ordered_philosophers")) philosophers(1);
  if (!strcmp(which, "token_ring")) token_ring();
  if (!strcmp(which, "bad_end")) status = bad_end();
  MPI_Finalize();
  return status;
}
