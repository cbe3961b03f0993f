/* A library in the style that MPI's attributes are for: on its first use of a communicator it
 * duplicates it and keeps the duplicate, with state, as an attribute; duplicates of the user's
 * share it, and the last one freed frees it. */
#include "mpitest.h"

typedef struct {
  MPI_Comm comm;
  int calls, users;
} State;

static int keyval = MPI_KEYVAL_INVALID, copies, deletes, made;

static int copy_state(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra;
  ++((State*)in)->users;
  *(void**)out = in;
  *flag = 1;
  ++copies;
  return MPI_SUCCESS;
}

static int delete_state(MPI_Comm comm, int key, void* value, void* extra) {
  State* state = value;
  (void)comm, (void)key, (void)extra;
  ++deletes;
  if (--state->users > 0) return MPI_SUCCESS;
  MPI_Comm_free(&state->comm);
  free(state);
  return MPI_SUCCESS;
}

static State* state_of(MPI_Comm comm) {
  State* state;
  int found;
  if (keyval == MPI_KEYVAL_INVALID)
    OK(MPI_Comm_create_keyval(copy_state, delete_state, &keyval, NULL));
  OK(MPI_Comm_get_attr(comm, keyval, &state, &found));
  if (found) return state;
  state = malloc(sizeof *state);
  state->calls = 0;
  state->users = 1;
  OK(MPI_Comm_dup(comm, &state->comm));
  OK(MPI_Comm_set_attr(comm, keyval, state));
  ++made;
  return state;
}

static int library_sum(MPI_Comm comm, int value) {
  State* state = state_of(comm);
  int sum;
  ++state->calls;
  OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, state->comm));
  return sum;
}

int main(int argc, char** argv) {
  int rank, size, half_size;
  MPI_Comm half, duplicate, node;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(library_sum(MPI_COMM_WORLD, 1) == size);
  CHECK(library_sum(MPI_COMM_WORLD, 2) == 2 * size);
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
  OK(MPI_Comm_size(half, &half_size));
  CHECK(library_sum(half, 1) == half_size);
  OK(MPI_Comm_dup(half, &duplicate));
  CHECK(library_sum(duplicate, 3) == 3 * half_size);
  CHECK(state_of(half) == state_of(duplicate) && state_of(half)->calls == 2);
  OK(MPI_Comm_free(&half));
  CHECK(library_sum(duplicate, 1) == half_size);
  OK(MPI_Comm_free(&duplicate));
  CHECK(made == 2 && copies == 1 && deletes == 2);
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  CHECK(library_sum(node, 1) > 0);
  OK(MPI_Comm_free(&node));
  CHECK(made == 3 && deletes == 3);
  return finish();
}
