/* Generalized requests: query, free and cancel are called when and as often as the standard says.
 */
#include "mpitest.h"

struct State {
  int queried, freed, cancelled, value, steps;
  MPI_Request request;
};

static int query(void* p, MPI_Status* s) {
  struct State* state = p;
  state->queried++;
  MPI_Status_set_elements(s, MPI_INT, state->value);
  MPI_Status_set_cancelled(s, state->cancelled > 0);
  s->MPI_SOURCE = 3;
  s->MPI_TAG = 4;
  return MPI_SUCCESS;
}
static int release(void* p) {
  ((struct State*)p)->freed++;
  return MPI_SUCCESS;
}
static int cancel(void* p, int complete) {
  struct State* state = p;
  state->cancelled += complete ? 100 : 1;
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  struct State a = {0}, b = {0};
  MPI_Status s, both[2];
  MPI_Request r[2];
  int flag, count;
  MPI_Init(&argc, &argv);
  a.value = 5;
  OK(MPI_Grequest_start(query, release, cancel, &a, &a.request));
  OK(MPI_Test(&a.request, &flag, &s));
  CHECK(!flag && a.queried == 0);
  OK(MPI_Grequest_complete(a.request));
  OK(MPI_Request_get_status(a.request, &flag, &s));
  CHECK(flag && a.queried == 1 && a.freed == 0);
  OK(MPI_Wait(&a.request, &s));
  OK(MPI_Get_count(&s, MPI_INT, &count));
  CHECK(count == 5 && s.MPI_SOURCE == 3 && s.MPI_TAG == 4);
  CHECK(a.queried == 2 && a.freed == 1 && a.request == MPI_REQUEST_NULL);

  b.value = 1;
  OK(MPI_Grequest_start(query, release, cancel, &a, &r[0]));
  OK(MPI_Grequest_start(query, release, cancel, &b, &r[1]));
  OK(MPI_Cancel(&r[1]));
  CHECK(b.cancelled == 1);
  OK(MPI_Grequest_complete(r[0]));
  OK(MPI_Grequest_complete(r[1]));
  OK(MPI_Waitall(2, r, both));
  OK(MPI_Test_cancelled(&both[1], &flag));
  CHECK(flag && a.freed == 2 && b.freed == 1);

  OK(MPI_Grequest_start(query, release, cancel, &b, &r[0]));
  r[1] = r[0];
  OK(MPI_Request_free(&r[0])); /* before it is complete: free_fn is called at completion */
  CHECK(b.freed == 1);
  OK(MPI_Grequest_complete(r[1]));
  CHECK(b.freed == 2);
  return finish();
}
