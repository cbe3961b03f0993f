/* Who answers for errors is the same behind MPIX_Checkpoint, and in another process: for objects
 * whose error handler was never set MPI_COMM_WORLD answers, with its handler at the time of the
 * error; for calls without an object MPI_COMM_SELF does, once its handler was set. */
#include "checkpoint.h"

static MPI_Comm untouched; /* these two have no error handler of their own to the end */
static MPI_Win untouched_win;

static int handled[2];
static MPI_Comm handled_comm;
static void handle_of_world(MPI_Comm* comm, int* code, ...) {
  (void)code;
  handled_comm = *comm;
  ++handled[0];
}
static void handle_of_self(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++handled[1];
}

/* Which of the two the call has led to: 0, 1; -1: none. */
static int answered_by(int code) {
  const int by = handled[0] == 1 && handled[1] == 0   ? 0
                 : handled[0] == 0 && handled[1] == 1 ? 1
                                                      : -1;
  handled[0] = handled[1] = 0;
  CHECK(code != MPI_SUCCESS);
  return by;
}
static int send_to_nobody(MPI_Comm comm) {
  int n;
  MPI_Comm_size(comm, &n);
  return MPI_Send(&n, 1, MPI_INT, n, 0, comm);
}
static int call_without_object(void) {
  int n;
  return MPI_Group_size(MPI_GROUP_NULL, &n);
}

static void never_set(void) {
  MPI_Comm copy, half, child;
  MPI_Win win;
  MPI_Errhandler handler, found;
  int memory = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
  MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, copy, &win);
  checkpoint();
  MPI_Comm_dup(copy, &child);
  MPI_Comm_get_errhandler(copy, &found);
  CHECK(found == MPI_ERRORS_ARE_FATAL);
  MPI_Win_get_errhandler(win, &found);
  CHECK(found == MPI_ERRORS_ARE_FATAL);
  MPI_Comm_create_errhandler(handle_of_world, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  for (int i = 0; i < 2; ++i) {
    CHECK(answered_by(send_to_nobody(copy)) == 0 && handled_comm == MPI_COMM_WORLD);
    CHECK(answered_by(send_to_nobody(child)) == 0);
    CHECK(answered_by(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win)) == 0);
    CHECK(answered_by(send_to_nobody(half)) == -1);
    CHECK(answered_by(call_without_object()) == 0);
    if (i == 0) checkpoint();
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(answered_by(send_to_nobody(copy)) == -1);
  MPI_Errhandler_free(&handler);
  MPI_Win_free(&win);
  MPI_Comm_free(&child);
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
}

/* A communicator of now has MPI_COMM_WORLD's handler, whatever MPI_COMM_WORLD gets later. */
static void inherited(void) {
  MPI_Comm copy;
  MPI_Errhandler of_world, of_self;
  MPI_Comm_create_errhandler(handle_of_world, &of_world);
  MPI_Comm_create_errhandler(handle_of_self, &of_self);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_world);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  checkpoint();
  CHECK(answered_by(send_to_nobody(copy)) == 0 && handled_comm == copy);
  CHECK(answered_by(send_to_nobody(MPI_COMM_WORLD)) == -1);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, of_self);
  checkpoint();
  CHECK(answered_by(call_without_object()) == 1);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_world);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  checkpoint();
  CHECK(answered_by(call_without_object()) == -1);
  CHECK(answered_by(send_to_nobody(MPI_COMM_WORLD)) == 0);
  CHECK(answered_by(send_to_nobody(copy)) == 0 && handled_comm == copy);
  CHECK(answered_by(send_to_nobody(untouched)) == 0 && handled_comm == MPI_COMM_WORLD);
  CHECK(answered_by(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, untouched_win)) == 0);
  MPI_Errhandler_free(&of_world);
  MPI_Errhandler_free(&of_self);
  MPI_Comm_free(&copy);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &untouched);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &untouched_win);
  never_set();
  inherited();
  MPI_Win_free(&untouched_win);
  MPI_Comm_free(&untouched);
  return finish();
}
