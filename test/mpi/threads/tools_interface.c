/* MPI_T_init_thread(MPI_THREAD_MULTIPLE) grants it, before MPI_Init too and whatever MPI_Init
 * grants later: threads look through variables, read them through handles of their own and register
 * for events, before MPI_Init, while it runs and after it, and main sends meanwhile.
 * MPI_Query_thread tells what MPI_Init granted. */
#include <stdatomic.h>
#include <string.h>

#include "threads.h"

enum { kRounds = 40 };

static int rank, size, cvars, pvars, categories, events;
static atomic_int working;

static void read_control_variable(int index) {
  char value[5000];
  MPI_T_cvar_handle handle;
  int bind = -1, count = 0, bytes = 0, name_len = 0;
  MPI_Datatype type;
  OK(MPI_T_cvar_get_info(index, NULL, &name_len, NULL, &type, NULL, NULL, NULL, &bind, NULL));
  CHECK(name_len > 1);
  if (bind != MPI_T_BIND_NO_OBJECT) return;
  OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  bytes = type == MPI_COUNT ? 8 : type == MPI_CHAR ? 1 : 4;
  if ((size_t)(count * bytes) < sizeof value) OK(MPI_T_cvar_read(handle, value));
  OK(MPI_T_cvar_handle_free(&handle));
}

static void read_counter(MPI_T_pvar_session session, int index) {
  MPI_T_pvar_handle handle;
  int bind = -1, count = 0, readonly = -1, continuous = -1, atomic = -1;
  unsigned long long value = 1;
  OK(MPI_T_pvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &bind, &readonly,
                         &continuous, &atomic));
  if (bind != MPI_T_BIND_NO_OBJECT) return;
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
  OK(MPI_T_pvar_read(session, handle, &value));
  CHECK(MPI_T_pvar_readreset(session, handle, &value) ==
        (atomic ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_ATOMIC));
  OK(MPI_T_pvar_handle_free(session, &handle));
}

static void count_event(MPI_T_event_instance instance, MPI_T_event_registration registration,
                        MPI_T_cb_safety safety, void* counted) {
  (void)instance, (void)registration, (void)safety;
  ++*(int*)counted;
}

static void listen_shortly(int index) {
  MPI_T_event_registration registration;
  static int unused;
  OK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration));
  OK(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &unused,
                                   count_event));
  OK(MPI_T_event_handle_free(registration, NULL, NULL));
}

static void look(int thread) {
  for (int i = 0; i < kRounds; ++i) {
    int number = -1, provided = -1, changes = -1, name_len = 0;
    MPI_T_pvar_session session;
    OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    OK(MPI_T_cvar_get_num(&number));
    CHECK(number == cvars);
    read_control_variable((thread * 37 + i * 11) % cvars);
    OK(MPI_T_pvar_session_create(&session));
    for (int k = 0; k < 5; ++k) read_counter(session, (thread + i * 5 + k) % pvars);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_category_changed(&changes));
    OK(MPI_T_category_get_info((thread + i) % categories, NULL, &name_len, NULL, NULL, NULL, NULL,
                               NULL));
    CHECK(name_len > 1);
    listen_shortly((thread + i) % events);
    OK(MPI_T_finalize());
  }
}

static void* work(void* argument) {
  look(*(int*)argument);
  atomic_fetch_sub(&working, 1);
  return NULL;
}

static void communicate(int round) {
  int sent = 1000 * rank + round, got = -1, sum = -1;
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  OK(MPI_Sendrecv(&sent, 1, MPI_INT, right, 5, &got, 1, MPI_INT, left, 5, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  CHECK(got == 1000 * left + round);
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == size * (size - 1) / 2);
}

int main(int argc, char** argv) {
  const int threads = threads_of_shape();
  pthread_t handles[kMostThreads];
  int numbers[kMostThreads], provided = -1, all_done = 0, heard = 0, expected = 0, event = -1;
  MPI_T_event_registration registration;
  CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  CHECK(MPI_T_init_thread(MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS);
  CHECK(provided == MPI_THREAD_FUNNELED);
  OK(MPI_T_finalize());
  OK(MPI_T_cvar_get_num(&cvars));
  OK(MPI_T_pvar_get_num(&pvars));
  OK(MPI_T_category_get_num(&categories));
  OK(MPI_T_event_get_num(&events));
  CHECK(cvars > 0 && pvars > 0 && categories > 0 && events > 0);
  run_threads(threads, look); /* before MPI_Init */
  working = threads;
  for (int t = 0; t < threads; ++t) {
    numbers[t] = t;
    CHECK(pthread_create(&handles[t], NULL, work, &numbers[t]) == 0);
  }
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Query_thread(&provided));
  CHECK(provided == MPI_THREAD_SINGLE);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_T_event_get_index("fgmpi_collective_ended", &event));
  OK(MPI_T_event_handle_alloc(event, NULL, MPI_INFO_NULL, &registration));
  OK(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &heard,
                                   count_event));
  for (int round = 0; !all_done; ++round) {
    communicate(round);
    const int done = working == 0;
    OK(MPI_Allreduce(&done, &all_done, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD));
    expected += 2;
  }
  CHECK(heard == expected); /* events of main's calls, and each once */
  OK(MPI_T_event_handle_free(registration, NULL, NULL));
  for (int t = 0; t < threads; ++t) CHECK(pthread_join(handles[t], NULL) == 0);
  run_threads(threads, look);
  OK(MPI_Query_thread(&provided));
  CHECK(provided == MPI_THREAD_SINGLE);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) printf(" No Errors\n");
  OK(MPI_Finalize());
  run_threads(1, look); /* and after it */
  OK(MPI_T_finalize());
  return 0;
}
