/* Loops that poll: what they poll for comes from everywhere, for one thing or for many, and some end
 * for another reason: the program counts its polls, looks at the clock, or sees what another rank
 * has put into its memory. */
#include <stdlib.h>

#include "mpitest.h"

static int g_rank, g_size, g_left, g_right;
static MPI_Comm g_comm;

static void pass_token(int rounds) {
  for (int i = 0; i < rounds; i++) {
    int token = -1, flag = 0;
    MPI_Request request;
    if (g_rank == 0) OK(MPI_Send(&i, 1, MPI_INT, g_right, 1, g_comm));
    OK(MPI_Irecv(&token, 1, MPI_INT, g_left, 1, g_comm, &request));
    while (!flag) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(token == i);
    if (g_rank != 0) OK(MPI_Send(&token, 1, MPI_INT, g_right, 1, g_comm));
  }
}

/* Every loop tests each of its requests by a call of its own, a null request and a barrier, and
 * probes. */
static void poll_for_many(int count) {
  enum { kTimes = 3, kProbed = 5 };
  MPI_Request* requests = malloc((size_t)count * sizeof *requests);
  int* data = malloc((size_t)count * sizeof *data);
  int* times = calloc((size_t)count, sizeof *times);
  const int many = kTimes * count;
  MPI_Request barrier, null = MPI_REQUEST_NULL;
  OK(MPI_Ibarrier(g_comm, &barrier));
  for (int i = 0; i < count; i++)
    OK(MPI_Irecv(&data[i], 1, MPI_INT, MPI_ANY_SOURCE, 10 + i, g_comm, &requests[i]));
  int received = 0, probed = 0, sent = 0, entered = 0, flag;
  while (received < many || probed < kProbed || !entered || sent < many + kProbed) {
    for (int i = 0; i < count; i++) {
      if (times[i] == kTimes) continue;
      OK(MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE));
      if (!flag) continue;
      CHECK(data[i] == i);
      received++;
      if (++times[i] < kTimes)
        OK(MPI_Irecv(&data[i], 1, MPI_INT, MPI_ANY_SOURCE, 10 + i, g_comm, &requests[i]));
    }
    OK(MPI_Test(&null, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
    OK(MPI_Test(&barrier, &entered, MPI_STATUS_IGNORE));
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 2, g_comm, &flag, MPI_STATUS_IGNORE));
    if (flag) {
      int value;
      OK(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 2, g_comm, MPI_STATUS_IGNORE));
      CHECK(value == probed++);
    }
    if (sent < many) {
      const int which = sent % count;
      OK(MPI_Send(&which, 1, MPI_INT, g_right, 10 + which, g_comm));
      sent++;
    } else if (sent < many + kProbed) {
      const int value = sent - many;
      OK(MPI_Send(&value, 1, MPI_INT, g_right, 2, g_comm));
      sent++;
    }
  }
  OK(MPI_Barrier(g_comm));
  free(requests);
  free(data);
  free(times);
}

static void leave_by_count(void) {
  int flag, value = 0;
  MPI_Request never, request;
  OK(MPI_Irecv(&value, 1, MPI_INT, g_left, 3, g_comm, &never));
  for (int i = 0; i < 3000; i++) {
    OK(MPI_Test(&never, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
  }
  /* Only now can anything come. */
  OK(MPI_Barrier(g_comm));
  OK(MPI_Isend(&g_rank, 1, MPI_INT, g_right, 3, g_comm, &request));
  MPI_Status status;
  for (flag = 0; !flag;) OK(MPI_Testall(1, &never, &flag, &status));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(value == g_left);
}

static void leave_by_clock(void) {
  int flag;
  const double start = MPI_Wtime();
  while (MPI_Wtime() - start < 3e-3) {
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, g_comm, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
  }
  OK(MPI_Barrier(g_comm));
}

static void leave_by_memory(void) {
  volatile int* memory;
  MPI_Win window;
  int flag;
  OK(MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, g_comm, &memory, &window));
  *memory = 0;
  OK(MPI_Win_lock_all(0, window));
  OK(MPI_Barrier(g_comm));
  const int one = 1;
  if (g_rank == 0) {
    OK(MPI_Put(&one, 1, MPI_INT, g_right, 0, 1, MPI_INT, window));
    OK(MPI_Win_flush(g_right, window));
  }
  while (*memory == 0) {
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, g_comm, &flag, MPI_STATUS_IGNORE));
    OK(MPI_Win_sync(window));
  }
  if (g_rank != 0) {
    OK(MPI_Put(&one, 1, MPI_INT, g_right, 0, 1, MPI_INT, window));
    OK(MPI_Win_flush(g_right, window));
  }
  OK(MPI_Win_unlock_all(window));
  OK(MPI_Win_free(&window));
}

/* A request that was polled is freed, and completes afterwards. */
static void free_polled(void) {
  int value = -1, flag;
  MPI_Request request;
  OK(MPI_Irecv(&value, 1, MPI_INT, g_left, 4, g_comm, &request));
  for (int i = 0; i < 20; i++) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&request));
  OK(MPI_Barrier(g_comm));
  OK(MPI_Send(&g_rank, 1, MPI_INT, g_right, 4, g_comm));
  OK(MPI_Send(NULL, 0, MPI_INT, g_right, 5, g_comm));
  OK(MPI_Recv(NULL, 0, MPI_INT, g_left, 5, g_comm, MPI_STATUS_IGNORE));
  CHECK(value == g_left);
}

/* A persistent receive and a cancelled one, polled by every call of the kind. */
static void poll_by_each_call(void) {
  int values[3] = {-1, -1, -1}, flag, index, outcount, indices[2];
  MPI_Request list[2];
  MPI_Status statuses[2];
  OK(MPI_Recv_init(&values[0], 1, MPI_INT, g_left, 6, g_comm, &list[0]));
  OK(MPI_Irecv(&values[1], 1, MPI_INT, g_left, 7, g_comm, &list[1]));
  for (int i = 0; i < 12; i++) {
    OK(MPI_Start(&list[0]));
    OK(MPI_Testany(2, list, &index, &flag, MPI_STATUS_IGNORE));
    OK(MPI_Send(&i, 1, MPI_INT, g_right, 6, g_comm));
    while (!flag) {
      switch (i % 3) {
        case 0:
          OK(MPI_Testany(2, list, &index, &flag, MPI_STATUS_IGNORE));
          break;
        case 1:
          OK(MPI_Testsome(2, list, &outcount, indices, statuses));
          flag = outcount > 0;
          break;
        default:
          OK(MPI_Request_get_status(list[0], &flag, MPI_STATUS_IGNORE));
          if (flag) OK(MPI_Wait(&list[0], MPI_STATUS_IGNORE));
      }
    }
    CHECK(values[0] == i);
  }
  OK(MPI_Cancel(&list[1]));
  for (flag = 0; !flag;) OK(MPI_Test(&list[1], &flag, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&list[0]));
}

/* Lists of many requests, which are tested again and again while little of them comes. */
static void poll_lists(void) {
  enum { kMany = 20, kRounds = 3 };
  int a[kMany], b[kMany], c[kMany], indices[kMany], outcount, flag, index;
  MPI_Request some[kMany], all[kMany], any[kMany];
  MPI_Status statuses[kMany];
  for (int i = 0; i < kMany; i++) {
    OK(MPI_Irecv(&a[i], 1, MPI_INT, g_left, 100 + i, g_comm, &some[i]));
    OK(MPI_Recv_init(&b[i], 1, MPI_INT, g_left, 200 + i, g_comm, &all[i]));
    OK(MPI_Irecv(&c[i], 1, MPI_INT, g_left, 300 + i, g_comm, &any[i]));
  }
  int left_some = kMany, left_any = kMany, rounds = 0;
  OK(MPI_Startall(kMany, all));
  for (int loops = 0; left_some > 0 || left_any > 0 || rounds < kRounds || loops < 16 * 5 * kMany;
       loops++) {
    if (loops % 16 == 0 && loops / 16 < 5 * kMany) {
      const int n = loops / 16, tag = n < kMany       ? 100 + n
                                      : n < 2 * kMany ? 300 + n % kMany
                                                      : 200 + n % kMany;
      OK(MPI_Send(&n, 1, MPI_INT, g_right, tag, g_comm));
    }
    if (left_some > 0) {
      OK(MPI_Testsome(kMany, some, &outcount, indices, statuses));
      CHECK(outcount != MPI_UNDEFINED);
      for (int k = 0; k < outcount; k++)
        CHECK(a[indices[k]] == indices[k] && some[indices[k]] == MPI_REQUEST_NULL);
      left_some -= outcount;
    }
    OK(MPI_Testany(kMany, any, &index, &flag, &statuses[0]));
    CHECK(left_any > 0 || (flag && index == MPI_UNDEFINED));
    if (flag && index != MPI_UNDEFINED) {
      CHECK(c[index] == kMany + index);
      left_any--;
    }
    if (rounds == kRounds) continue;
    OK(MPI_Testall(kMany, all, &flag, statuses));
    if (!flag) continue;
    for (int i = 0; i < kMany; i++) CHECK(b[i] == (2 + rounds) * kMany + i);
    if (++rounds < kRounds) OK(MPI_Startall(kMany, all));
  }
  for (int i = 0; i < kMany; i++) OK(MPI_Request_free(&all[i]));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &g_comm));
  OK(MPI_Comm_rank(g_comm, &g_rank));
  OK(MPI_Comm_size(g_comm, &g_size));
  g_left = (g_rank + g_size - 1) % g_size;
  g_right = (g_rank + 1) % g_size;
  if (g_size > 1) {
    pass_token(20);
    leave_by_memory();
  }
  poll_for_many(1);
  poll_for_many(20);
  leave_by_count();
  leave_by_clock();
  free_polled();
  poll_by_each_call();
  poll_lists();
  poll_for_many(20);
  OK(MPI_Comm_free(&g_comm));
  return finish();
}
