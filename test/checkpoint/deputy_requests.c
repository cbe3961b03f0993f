/* Waits and tests for requests of both kinds: those that a rank's deputy has made, and its own. */
#include "checkpoint.h"

enum { kRounds = 12 };

static void** mine;

static int query(void* state, MPI_Status* status) {
  (void)state;
  CHECK(MPIX_Tool_word() == mine);
  MPI_Status_set_elements(status, MPI_INT, 3);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 17;
  status->MPI_TAG = 18;
  return MPI_SUCCESS;
}
static int free_state(void* state) {
  CHECK(MPIX_Tool_word() == mine);
  ++*(int*)state;
  return MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}

enum { kReceive, kBarrier, kSend, kSum, kGeneralized, kBcast, kPersistent, kNull, kRequests };

struct Begun {
  MPI_Request requests[kRequests];
  int got, sent, sum, value, root, persistent, freed;
};

static void begin(struct Begun* b, int round) {
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  b->got = -1, b->sent = rank + round, b->sum = 0, b->value = rank,
  b->root = rank == 0 ? round : -1, b->persistent = -1, b->freed = 0;
  MPI_Irecv(&b->got, 1, MPI_INT, from, 3, MPI_COMM_WORLD, &b->requests[kReceive]);
  MPI_Ibarrier(MPI_COMM_WORLD, &b->requests[kBarrier]);
  MPI_Isend(&b->sent, 1, MPI_INT, to, 3, MPI_COMM_WORLD, &b->requests[kSend]);
  MPI_Iallreduce(&b->value, &b->sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &b->requests[kSum]);
  MPI_Grequest_start(query, free_state, cancel, &b->freed, &b->requests[kGeneralized]);
  MPI_Bcast_init(&b->root, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &b->requests[kBcast]);
  MPI_Start(&b->requests[kBcast]);
  MPI_Recv_init(&b->persistent, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &b->requests[kPersistent]);
  MPI_Start(&b->requests[kPersistent]);
  b->requests[kNull] = MPI_REQUEST_NULL;
  MPI_Send(&round, 1, MPI_INT, rank, 4, MPI_COMM_WORLD);
  MPI_Grequest_complete(b->requests[kGeneralized]);
}

static void end(struct Begun* b, int round) {
  const int from = (rank + size - 1) % size;
  int i;
  for (i = 0; i < kRequests; ++i)
    CHECK((b->requests[i] == MPI_REQUEST_NULL) == (i != kBcast && i != kPersistent));
  CHECK(b->got == from + round && b->sum == size * (size - 1) / 2);
  CHECK(b->root == round && b->persistent == round && b->freed == 1);
  MPI_Request_free(&b->requests[kBcast]);
  MPI_Request_free(&b->requests[kPersistent]);
  CHECK(b->requests[kBcast] == MPI_REQUEST_NULL);
}

static void check_status(int i, const MPI_Status* status) {
  const int from = (rank + size - 1) % size;
  if (i == kReceive) CHECK(status->MPI_SOURCE == from && status->MPI_TAG == 3);
  if (i == kPersistent) CHECK(status->MPI_SOURCE == rank && status->MPI_TAG == 4);
  if (i == kGeneralized) CHECK(status->MPI_SOURCE == 17 && status->MPI_TAG == 18);
}

static void both_kinds(int round) {
  struct Begun b;
  MPI_Status statuses[kRequests], status;
  int done = 0, flag = 0, index, n, indices[kRequests], i;
  begin(&b, round);
  switch (round % 6) {
    case 0:
      MPI_Waitall(kRequests, b.requests, statuses);
      for (i = 0; i < kRequests; ++i) check_status(i, &statuses[i]);
      break;
    case 1:
      while (!flag) MPI_Testall(kRequests, b.requests, &flag, statuses);
      for (i = 0; i < kRequests; ++i) check_status(i, &statuses[i]);
      break;
    case 2:
      for (; done < kNull; ++done) {
        MPI_Waitany(kRequests, b.requests, &index, &status);
        CHECK(index >= 0 && index < kNull);
        check_status(index, &status);
      }
      MPI_Waitany(kRequests, b.requests, &index, &status);
      CHECK(index == MPI_UNDEFINED);
      break;
    case 3:
      while (done < kNull) {
        MPI_Testany(kRequests, b.requests, &index, &flag, &status);
        if (!flag) continue;
        check_status(index, &status);
        ++done;
      }
      MPI_Testany(kRequests, b.requests, &index, &flag, &status);
      CHECK(flag && index == MPI_UNDEFINED);
      break;
    case 4:
      while (done < kNull) {
        MPI_Waitsome(kRequests, b.requests, &n, indices, statuses);
        CHECK(n > 0 && n <= kNull - done);
        for (i = 0; i < n; ++i) check_status(indices[i], &statuses[i]);
        done += n;
      }
      MPI_Waitsome(kRequests, b.requests, &n, indices, statuses);
      CHECK(n == MPI_UNDEFINED);
      break;
    default:
      for (i = 0; i < kNull; ++i) {
        for (flag = 0; !flag;) MPI_Request_get_status(b.requests[i], &flag, &status);
        check_status(i, &status);
      }
      while (done < kNull) {
        MPI_Testsome(kRequests, b.requests, &n, indices, statuses);
        for (i = 0; i < n; ++i) check_status(indices[i], &statuses[i]);
        done += n;
      }
  }
  end(&b, round);
}

/* A wait for either kind ends by whichever comes first; the other stays. */
static void first_of_two(void) {
  MPI_Request requests[2];
  int got = -1, index = -1, token = 5;
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  MPI_Irecv(&got, 1, MPI_INT, from, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Ibarrier(MPI_COMM_SELF, &requests[1]);
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  CHECK(index == 1 && got == -1);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&token, 1, MPI_INT, to, 6, MPI_COMM_WORLD);
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  CHECK(index == 0 && got == 5);

  if (size < 2) return;
  MPI_Irecv(&got, 1, MPI_INT, from, 7, MPI_COMM_WORLD, &requests[0]);
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
  if (rank == 0) { /* a message goes around, while the barrier may end at any time */
    MPI_Send(&token, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else {
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    if (index == 0) MPI_Send(&token, 1, MPI_INT, to, 7, MPI_COMM_WORLD);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    if (index == 0) MPI_Send(&token, 1, MPI_INT, to, 7, MPI_COMM_WORLD);
  }
  CHECK(got == 5);
}

int main(int argc, char** argv) {
  int round;
  start(&argc, &argv);
  mine = MPIX_Tool_word();
  for (round = 0; round < kRounds; ++round) both_kinds(round);
  first_of_two();
  return finish();
}
