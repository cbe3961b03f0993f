/* What the report speaks of, each in a program that has it and in a twin that has not: findings
 * KIND bad|good. How long ranks compute is counted in processor time, and twins are right by the
 * order of their calls: what else the machine does changes nothing. */
#include <fgmpi.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kRounds = 25, kWait = 30000 };
static int rank, size, bad;

static void compute_until(double seconds, int lets_others_run) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  const double begin = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
  double now = begin, yielded = begin;
  while (now - begin < seconds) {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    now = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
    if (lets_others_run && now - yielded > 2e-3) MPIX_Yield(), yielded = now;
  }
}
static void compute(double seconds) { compute_until(seconds, 0); }

/* Rank 1 works before it sends, or after. */
static void late_sender(void) {
  int value = 0;
  for (int round = 0; round < kRounds && !bad && rank == 1; ++round)
    for (int to = 0; to < size; ++to)
      if (to != 1) MPI_Send(&value, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
  for (int round = 0; round < kRounds; ++round) {
    if (rank == 1 || !bad) usleep(kWait);
    if (rank != 1) MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int to = 0; bad && rank == 1 && to < size; ++to)
      if (to != 1) MPI_Send(&value, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
  }
}

/* The same with MPI_Waitall for messages of two ranks, or MPI_Wait for one, of which only rank 1 is
 * late. */
static void late_sender_of_requests(void) {
  int value = 0, other = 0;
  MPI_Comm copy;
  MPI_Status statuses[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Request requests[2];
    if (rank <= 1 && bad) {
      if (rank == 1) usleep(kWait);
      for (int to = 2; to < size; ++to) MPI_Send(&value, 1, MPI_INT, to, 0, copy);
    } else if (bad) {
      MPI_Irecv(&value, 1, MPI_INT, 0, 0, copy, &requests[0]);
      MPI_Irecv(&other, 1, MPI_INT, 1, 0, copy, &requests[1]);
      if (rank == 2) MPI_Waitall(2, requests, statuses);
      for (int i = 0; rank != 2 && i < 2; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    } else {
      usleep(kWait);
    }
  }
  MPI_Comm_free(&copy);
}

/* Rank 1 takes what others send only after a while, or has posted its receives. */
static void late_receiver(void) {
  int value = 0;
  MPI_Request requests[kRounds];
  MPI_Status statuses[kRounds];
  for (int round = 0; round < kRounds && !bad && rank == 1; ++round)
    MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &requests[round]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < kRounds; ++round) {
    if (rank == 0) MPI_Ssend(&round, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) usleep(kWait);
    if (rank == 1 && bad) MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (!bad && rank == 1) MPI_Waitall(kRounds, requests, statuses);
}

/* Rank 1 is slow; rank 0 takes its message first, or all as they come. */
static void serialised(void) {
  int* values = calloc((size_t)size, sizeof *values);
  MPI_Request* requests = calloc((size_t)size, sizeof *requests);
  for (int round = 0; round < kRounds; ++round) {
    if (rank == 1) usleep(kWait);
    if (rank != 0) MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    for (int from = 1; rank == 0 && from < size; ++from) {
      if (bad) MPI_Recv(&values[from], 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (!bad) MPI_Irecv(&values[from], 1, MPI_INT, from, 0, MPI_COMM_WORLD, &requests[from]);
    }
    for (int i = 1; !bad && rank == 0 && i < size; ++i) {
      int which;
      MPI_Waitany(size - 1, requests + 1, &which, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(values);
  free(requests);
}

/* A hundred numbers to the next rank, one by one or together. */
static void small(void) {
  int values[100] = {0}, right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; bad && i < 100; ++i) MPI_Send(&values[i], 1, MPI_INT, right, 1, MPI_COMM_WORLD);
    if (!bad) MPI_Send(values, 100, MPI_INT, right, 1, MPI_COMM_WORLD);
    for (int i = 0; bad && i < 100; ++i)
      MPI_Recv(&values[i], 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!bad) MPI_Recv(values, 100, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void imbalance(void) {
  const double share = 0.8 / size / kRounds;
  for (int round = 0; round < kRounds; ++round) {
    compute(!bad ? share : rank == 0 ? share * size * 0.7 : share * 0.3);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* Rank 0 takes from any rank, from each by its name, or from any rank what only one can send. */
static void wildcard(int by_tag) {
  int value = 0;
  for (int from = 1; rank == 0 && from < size; ++from)
    MPI_Recv(&value, 1, MPI_INT, bad || by_tag ? MPI_ANY_SOURCE : from, by_tag ? from : 0,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank != 0) MPI_Send(&value, 1, MPI_INT, 0, by_tag ? rank : 0, MPI_COMM_WORLD);
}
static void wildcards(void) { wildcard(0); }
static void wildcards_by_tag(void) { wildcard(1); }
static void wildcards_later(void) {
  int value = 0;
  MPI_Request request;
  for (int from = 1; rank == 0 && from < size; ++from) {
    MPI_Irecv(&value, 1, MPI_INT, bad ? MPI_ANY_SOURCE : from, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (rank != 0) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
}

static void communicators(void) {
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm made;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &made);
    if (!bad) MPI_Comm_free(&made);
  }
}

/* Others could go on while rank 1 computes. */
static void starves(void) {
  int value = 0, other = 0;
  if (rank == 1) compute_until(0.4, !bad);
  for (int i = 0; rank != 1 && i < 100; ++i) {
    MPI_Sendrecv(&value, 1, MPI_INT, rank, 0, &other, 1, MPI_INT, rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPIX_Yield();
  }
}

static const struct {
  const char* name;
  void (*run)(void);
} kKinds[] = {{"late_sender", late_sender},
              {"late_sender_of_requests", late_sender_of_requests},
              {"late_receiver", late_receiver},
              {"serialised", serialised},
              {"small", small},
              {"imbalance", imbalance},
              {"wildcards", wildcards},
              {"wildcards_by_tag", wildcards_by_tag},
              {"wildcards_later", wildcards_later},
              {"communicators", communicators},
              {"starves", starves}};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bad = strcmp(argv[2], "bad") == 0;
  for (size_t i = 0; i < sizeof kKinds / sizeof kKinds[0]; ++i)
    if (strcmp(argv[1], kKinds[i].name) == 0) kKinds[i].run();
  return MPI_Finalize();
}
