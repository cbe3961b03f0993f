/* What any thread may call at any granted level (MPI-4.0 sections 11.4.1 and 11.3.1): threads of
 * ranks that have been granted MPI_THREAD_SINGLE or MPI_THREAD_FUNNELED make info objects, error
 * handlers and sessions and ask for versions, classes and words of errors, while the ranks' main
 * threads send, make derived datatypes (which the hosted MPI keeps) and errors. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "threads.h"

enum { kRounds = 60, kShortLives = 20 };

static int rank, size, own_class, host_code, host_class;
static atomic_int running;
/* A handler runs in the thread that made the error. */
static _Thread_local int handled;

static void count_call(MPI_Session* session, int* code, ...) {
  (void)session;
  int class = -1;
  OK(MPI_Error_class(*code, &class));
  CHECK(class == MPI_ERR_OTHER);
  ++handled;
}

static void check_value(MPI_Info info, const char* key, const char* expected) {
  char value[64] = "";
  int flag = -1, length = -1, bytes = sizeof value;
  OK(MPI_Info_get(info, key, sizeof value - 1, value, &flag));
  CHECK(flag == (expected != NULL));
  CHECK(!expected || strcmp(value, expected) == 0);
  OK(MPI_Info_get_string(info, key, &bytes, value, &flag));
  CHECK(flag == (expected != NULL) && (!expected || bytes == (int)strlen(expected) + 1));
  OK(MPI_Info_get_valuelen(info, key, &length, &flag));
  CHECK(flag == (expected != NULL) && (!expected || length == (int)strlen(expected)));
}

static void use_infos(int number) {
  MPI_Info info, copy, environment;
  char key[32], value[32], nth[MPI_MAX_INFO_KEY + 1] = "";
  int keys = -1;
  snprintf(key, sizeof key, "key %d", number);
  snprintf(value, sizeof value, "value of %d", number);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "first", "1"));
  OK(MPI_Info_set(info, key, value));
  OK(MPI_Info_dup(info, &copy));
  OK(MPI_Info_delete(info, "first"));
  OK(MPI_Info_get_nkeys(info, &keys));
  CHECK(keys == 1);
  OK(MPI_Info_get_nthkey(info, 0, nth));
  CHECK(strcmp(nth, key) == 0);
  check_value(info, key, value);
  check_value(info, "first", NULL);
  check_value(copy, "first", "1");
  CHECK(MPI_Info_f2c(MPI_Info_c2f(copy)) == copy);
  OK(MPI_Info_create_env(0, NULL, &environment));
  CHECK(environment != info && environment != copy);
  OK(MPI_Info_free(&environment));
  OK(MPI_Info_free(&info));
  check_value(copy, key, value);
  OK(MPI_Info_free(&copy));
  CHECK(info == MPI_INFO_NULL && copy == MPI_INFO_NULL);
}

static int class_of(int code) {
  int class = -1, length = -1;
  char text[MPI_MAX_ERROR_STRING] = "";
  OK(MPI_Error_class(code, &class));
  OK(MPI_Error_string(code, text, &length));
  CHECK(length > 0 && (size_t)length == strlen(text));
  return class;
}

/* Errors without an object go to the handler of MPI_COMM_SELF, which returns. */
static void make_errors(void) {
  MPI_Info info, null = MPI_INFO_NULL;
  OK(MPI_Info_create(&info));
  CHECK(class_of(MPI_Info_delete(info, "absent")) == MPI_ERR_INFO_NOKEY);
  CHECK(class_of(MPI_Info_set(info, "", "x")) == MPI_ERR_INFO_KEY);
  CHECK(class_of(MPI_Info_free(&null)) == MPI_ERR_ARG);
  OK(MPI_Info_free(&info));
  CHECK(class_of(own_class) == own_class);
  CHECK(class_of(host_code) == host_class);
}

static void use_handlers(void) {
  MPI_Errhandler handler;
  MPI_Session session;
  const int before = handled;
  OK(MPI_Session_create_errhandler(count_call, &handler));
  CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(handler)) == handler);
  OK(MPI_Session_init(MPI_INFO_NULL, handler, &session));
  OK(MPI_Errhandler_free(&handler));
  CHECK(handler == MPI_ERRHANDLER_NULL);
  OK(MPI_Session_call_errhandler(session, MPI_ERR_OTHER));
  CHECK(handled == before + 1);
  OK(MPI_Session_finalize(&session));
  CHECK(session == MPI_SESSION_NULL);
}

static void ask(void) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int flag = -1, version = 0, subversion = -1, length = 0, provided = -1;
  OK(MPI_Initialized(&flag));
  CHECK(flag == 1);
  OK(MPI_Finalized(&flag));
  CHECK(flag == 0);
  OK(MPI_Is_thread_main(&flag));
  CHECK(flag == 0);
  OK(MPI_Query_thread(&provided));
  CHECK(provided < MPI_THREAD_SERIALIZED);
  OK(MPI_Get_version(&version, &subversion));
  CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
  OK(MPI_Get_library_version(text, &length));
  CHECK(length > 0);
}

static void work_shortly(int thread) {
  use_infos(thread);
  use_handlers();
}

static void* work(void* argument) {
  const int thread = *(int*)argument;
  for (int i = 0; i < kRounds; ++i) {
    use_infos(thread * kRounds + i);
    make_errors();
    use_handlers();
    ask();
  }
  atomic_fetch_sub(&running, 1);
  return NULL;
}

/* What a rank's main thread does beside its threads. */
static void communicate(int round) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  int sent = rank * 1000 + round, received = -1, sum = -1;
  MPI_Datatype type;
  MPI_Errhandler handler;
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Type_free(&type));
  CHECK(MPI_Type_contiguous(-1, MPI_INT, &type) != MPI_SUCCESS);
  OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &handler));
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Sendrecv(&sent, 1, MPI_INT, right, 1, &received, 1, MPI_INT, left, 1, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  CHECK(received == left * 1000 + round);
  use_infos(-round);
  use_handlers();
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == size * (size - 1) / 2);
}

int main(int argc, char** argv) {
  const int threads = threads_of_shape();
  int provided = -1, numbers[kMostThreads], all_done = 0;
  pthread_t handles[kMostThreads];
  MPI_Session first;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first));
  MPI_Group world;
  OK(MPI_Group_from_session_pset(first, "mpi://WORLD", &world));
  OK(MPI_Group_rank(world, &rank));
  OK(MPI_Group_free(&world));
  OK(MPI_Session_finalize(&first));
  OK(MPI_Init_thread(&argc, &argv, rank % 2 ? MPI_THREAD_SINGLE : MPI_THREAD_FUNNELED, &provided));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Add_error_class(&own_class));
  OK(MPI_Add_error_string(own_class, "an error of this test"));
  MPI_Datatype type;
  host_code = MPI_Type_contiguous(-1, MPI_INT, &type);
  CHECK(host_code != MPI_SUCCESS);
  host_class = class_of(host_code);

  for (int i = 0; i < kShortLives; ++i) {
    run_threads(1, work_shortly);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  running = threads;
  for (int t = 0; t < threads; ++t) {
    numbers[t] = t;
    CHECK(pthread_create(&handles[t], NULL, work, &numbers[t]) == 0);
  }
  for (int round = 0; !all_done; ++round) {
    communicate(round);
    const int done = running == 0;
    OK(MPI_Allreduce(&done, &all_done, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
  }
  for (int t = 0; t < threads; ++t) CHECK(pthread_join(handles[t], NULL) == 0);
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first));
  OK(MPI_Session_finalize(&first));
  return finish();
}
