/* Generalized requests whose functions return errors: who returns which code (MPI-4.0 section
 * 13.2). */
#include "mpitest.h"

struct State {
  int query, free, cancel; /* what the functions return */
  int cancelled, complete;
};

static int query(void* p, MPI_Status* s) {
  MPI_Status_set_elements(s, MPI_BYTE, 0);
  MPI_Status_set_cancelled(s, 0);
  s->MPI_SOURCE = MPI_UNDEFINED;
  s->MPI_TAG = MPI_UNDEFINED;
  return ((struct State*)p)->query;
}
static int release(void* p) { return ((struct State*)p)->free; }
static int cancel(void* p, int complete) {
  struct State* state = p;
  state->cancelled++;
  state->complete = complete;
  return state->cancel;
}

static int handled; /* calls of the error handler */
static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  handled++;
}

static MPI_Request started(struct State* state, int complete) {
  MPI_Request r;
  OK(MPI_Grequest_start(query, release, cancel, state, &r));
  if (complete) OK(MPI_Grequest_complete(r));
  return r;
}

static int bad[3]; /* codes of our own */

/* MPI_Wait, MPI_Test, MPI_Waitany, MPI_Testany: the code itself. */
static void one_by_one(void) {
  struct State states[] = {{bad[0], 0, 0, 0, 0}, {0, bad[1], 0, 0, 0}, {bad[0], bad[1], 0, 0, 0}};
  int expected[] = {bad[0], bad[1], bad[1]}, flag, index;
  for (int i = 0; i < 3; i++) {
    MPI_Status s;
    int before = handled;
    MPI_Request r = started(&states[i], 1);
    CHECK(MPI_Wait(&r, &s) == expected[i] && r == MPI_REQUEST_NULL);
    r = started(&states[i], 1);
    CHECK(MPI_Test(&r, &flag, MPI_STATUS_IGNORE) == expected[i] && r == MPI_REQUEST_NULL);
    r = started(&states[i], 1);
    CHECK(MPI_Waitany(1, &r, &index, &s) == expected[i] && r == MPI_REQUEST_NULL && index == 0);
    r = started(&states[i], 1);
    CHECK(MPI_Testany(1, &r, &index, &flag, &s) == expected[i] && r == MPI_REQUEST_NULL);
    CHECK(handled == before + 4);
  }
}

/* The all and some forms: MPI_ERR_IN_STATUS, and the code in the status. */
static void many(void) {
  struct State states[] = {{0, 0, 0, 0, 0}, {0, bad[1], 0, 0, 0}, {bad[0], 0, 0, 0, 0}};
  int expected[] = {MPI_SUCCESS, bad[1], bad[0]};
  for (int form = 0; form < 4; form++) {
    MPI_Request r[3];
    MPI_Status s[3];
    int flag = 1, n = 3, indices[3], class, code = MPI_SUCCESS;
    for (int i = 0; i < 3; i++) r[i] = started(&states[i], 1);
    for (int i = 0; i < 3; i++) s[i].MPI_ERROR = 12345;
    if (form == 0) code = MPI_Waitall(3, r, s);
    if (form == 1) code = MPI_Testall(3, r, &flag, s);
    if (form == 2) code = MPI_Waitsome(3, r, &n, indices, s);
    if (form == 3) code = MPI_Testsome(3, r, &n, indices, s);
    OK(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_IN_STATUS && flag && n == 3);
    for (int i = 0; i < 3; i++) CHECK(s[i].MPI_ERROR == expected[i] && r[i] == MPI_REQUEST_NULL);
  }
  MPI_Request r = started(&states[1], 1);
  int class;
  OK(MPI_Error_class(MPI_Waitall(1, &r, MPI_STATUSES_IGNORE), &class));
  CHECK(class == MPI_ERR_IN_STATUS);
}

/* MPI_Cancel, MPI_Request_get_status, MPI_Request_free and MPI_Grequest_complete. */
static void others(void) {
  struct State c = {0, 0, bad[2], 0, 7}, q = {bad[0], 0, 0, 0, 0}, f = {0, bad[1], 0, 0, 0};
  MPI_Request r = started(&c, 0), copy;
  int flag;
  CHECK(MPI_Cancel(&r) == bad[2] && c.cancelled == 1 && c.complete == 0);
  OK(MPI_Grequest_complete(r));
  CHECK(MPI_Cancel(&r) == bad[2] && c.cancelled == 2 && c.complete);
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));

  r = started(&q, 1);
  CHECK(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE) == bad[0] && flag);
  OK(MPI_Request_free(&r));

  r = started(&f, 1);
  CHECK(MPI_Request_free(&r) == bad[1] && r == MPI_REQUEST_NULL);
  r = copy = started(&f, 0);
  OK(MPI_Request_free(&r)); /* not complete: the free function is called by MPI_Grequest_complete */
  CHECK(MPI_Grequest_complete(copy) == bad[1]);
}

int main(int argc, char** argv) {
  MPI_Errhandler ours;
  int class;
  MPI_Init(&argc, &argv);
  OK(MPI_Add_error_class(&class));
  for (int i = 0; i < 3; i++) OK(MPI_Add_error_code(class, &bad[i]));
  OK(MPI_Comm_create_errhandler(handler, &ours));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, ours));
  one_by_one();
  many();
  others();
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  OK(MPI_Errhandler_free(&ours));
  return finish();
}
