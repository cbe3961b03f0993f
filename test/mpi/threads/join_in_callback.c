/* A thread is joined in a callback of an MPI call, on the stack that is inside of the library: the
 * delete function of an attribute, as tools use it for what is to be done in MPI_Finalize. */
#include "threads.h"

static int joined;

static void* compute(void* argument) {
  *(int*)argument = 1;
  return NULL;
}

static int join(MPI_Comm comm, int keyval, void* value, void* extra) {
  pthread_t thread;
  (void)comm, (void)keyval, (void)extra;
  CHECK(pthread_create(&thread, NULL, compute, value) == 0 && pthread_join(thread, NULL) == 0);
  ++joined;
  return MPI_SUCCESS;
}

static void send_to_self(int thread) {
  int out = thread, in = -1;
  OK(MPI_Sendrecv(&out, 1, MPI_INT, 0, thread, &in, 1, MPI_INT, 0, thread, MPI_COMM_SELF,
                  MPI_STATUS_IGNORE));
  CHECK(in == thread);
}

int main(int argc, char** argv) {
  int provided, keyval, ran = 0;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK(provided == MPI_THREAD_MULTIPLE);
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, join, &keyval, NULL));
  for (int i = 0; i < 3; i++) {
    ran = 0;
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &ran));
    run_threads(2, send_to_self); /* from then on the lock has two sides */
    OK(MPI_Comm_delete_attr(MPI_COMM_SELF, keyval));
    CHECK(ran == 1 && joined == i + 1);
  }
  OK(MPI_Comm_free_keyval(&keyval));
  return finish();
}
