/* What is asked for is granted, also when ranks of a process ask for different levels; a thread
 * belongs to the rank that started it, or that started the thread that did (MPI-4.0 section
 * 11.6). */
#include <string.h>
#include <threads.h>

#include "threads.h"

static int rank = -1, level, variables;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int own = 5;

static void look(int main_thread) {
  int flag = -1, found = -1, provided = -1, yes = 0;
  OK(MPI_Is_thread_main(&flag));
  CHECK(flag == main_thread);
  OK(MPI_Query_thread(&provided));
  CHECK(provided == level);
  OK(MPI_Initialized(&yes));
  CHECK(yes);
  if (level < MPI_THREAD_SERIALIZED) return;
  if (level == MPI_THREAD_SERIALIZED) pthread_mutex_lock(&one_at_a_time);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &found));
  if (level == MPI_THREAD_SERIALIZED) pthread_mutex_unlock(&one_at_a_time);
  CHECK(found == rank);
}

static int c11(void* argument) {
  CHECK(own == 5);
  look(0);
  return *(int*)argument;
}

static void work(int thread) {
  thrd_t grandchild;
  int result = 0;
  CHECK(own == 5);
  own = thread;
  look(0);
  CHECK(thrd_create(&grandchild, c11, &thread) == thrd_success);
  CHECK(thrd_join(grandchild, &result) == thrd_success && result == thread);
  CHECK(own == thread);
}

static const char* name_of_level(void) {
  switch (level) {
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    case MPI_THREAD_MULTIPLE:
      return "MPI_THREAD_MULTIPLE";
    default:
      return "MPI_THREAD_FUNNELED";
  }
}

/* A session that asks for nothing provides what the rank has (section 11.3.1). */
static void look_at_session(void) {
  char name[MPI_MAX_INFO_VAL] = "";
  int found = 0;
  MPI_Session session;
  MPI_Info info;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  OK(MPI_Session_get_info(session, &info));
  OK(MPI_Info_get(info, "thread_level", MPI_MAX_INFO_VAL - 1, name, &found));
  CHECK(found && strcmp(name, name_of_level()) == 0);
  OK(MPI_Info_free(&info));
  OK(MPI_Session_finalize(&session));
}

static void ask_for_variables(int thread) {
  char name[64];
  for (int i = 0; i < 200; ++i) {
    int number = -1, length = sizeof name, other = -1;
    CHECK(MPI_T_cvar_get_num(&number) == MPI_SUCCESS && number == variables);
    const int wanted = (thread * 7 + i) % number;
    CHECK(MPI_T_cvar_get_info(wanted, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_SUCCESS);
    CHECK(length > 1 &&
          (length > (int)sizeof name || MPI_T_cvar_get_index(name, &other) == MPI_SUCCESS));
    CHECK(length > (int)sizeof name || other == wanted);
  }
}

/* The tools interface grants what is asked of it, whatever MPI's other calls give to several
 * threads. */
static void look_at_tools_interface(void) {
  int provided = -1;
  CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE + 1, &provided) == MPI_T_ERR_INVALID);
  CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
  CHECK(provided == MPI_THREAD_SINGLE);
  CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  CHECK(MPI_T_cvar_get_num(&variables) == MPI_SUCCESS && variables > 0);
  run_threads(3, ask_for_variables);
  CHECK(MPI_T_finalize() == MPI_SUCCESS);
  CHECK(MPI_T_finalize() == MPI_SUCCESS);
}

int main(int argc, char** argv) {
  static const int levels[] = {MPI_THREAD_MULTIPLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                               MPI_THREAD_SINGLE};
  int wish = argc > 1 ? atoi(argv[1]) : -1, size;
  MPI_Session session;
  MPI_Group world;
  /* Who this is, before MPI_Init. */
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
  OK(MPI_Group_rank(world, &rank));
  OK(MPI_Group_free(&world));
  OK(MPI_Session_finalize(&session));
  look_at_tools_interface();
  level = wish >= 0 ? wish : levels[rank % 4];
  int provided = -1;
  OK(MPI_Init_thread(&argc, &argv, level, &provided));
  CHECK(provided == level);
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  own = 7;
  look(1);
  run_threads(3, work);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(own == 7);
  look(1);
  look_at_session();
  look_at_tools_interface();
  return finish();
}
