/* The tools interface: settings and counters are its first variables, the hosted MPICH's come
 * behind them; every rank reads all of them, as a process of its own; values are checked against
 * traffic that is known. */
#include <fgmpi.h>
#include <string.h>

#include "mpitest.h"

static int rank, size;

static int cvar(const char* name, MPI_T_cvar_handle* handle, int* count) {
  int index;
  OK(MPI_T_cvar_get_index(name, &index));
  OK(MPI_T_cvar_handle_alloc(index, NULL, handle, count));
  return index;
}

static void before_it_is_initialised(void) {
  int number;
  MPI_T_pvar_session session;
  CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
  CHECK(MPI_T_pvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
  CHECK(MPI_T_category_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
  CHECK(MPI_T_pvar_session_create(&session) == MPI_T_ERR_NOT_INITIALIZED);
  CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
}

/* Every control variable can be described and read, and is found by its name. */
static void control_variables(void) {
  int number, ours = 0, hosts = 0;
  OK(MPI_T_cvar_get_num(&number));
  for (int i = 0; i < number; ++i) {
    char name[128], desc[2000];
    int name_len = sizeof name, desc_len = sizeof desc, verbosity, bind, scope, index, count,
        type_size;
    MPI_Datatype type;
    MPI_T_enum items;
    OK(MPI_T_cvar_get_info(i, name, &name_len, &verbosity, &type, &items, desc, &desc_len, &bind,
                           &scope));
    CHECK(name_len == (int)strlen(name) + 1 && desc_len == (int)strlen(desc) + 1);
    OK(MPI_T_cvar_get_index(name, &index));
    CHECK(index == i);
    int is_ours = !strncmp(name, "FGMPI_", 6);
    CHECK(!is_ours || hosts == 0); /* ours come first */
    ours += is_ours;
    hosts += !is_ours;
    int needed = 0;
    OK(MPI_T_cvar_get_info(i, NULL, &needed, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(needed == name_len);
    if (bind != MPI_T_BIND_NO_OBJECT) continue;
    MPI_T_cvar_handle handle;
    OK(MPI_T_cvar_handle_alloc(i, NULL, &handle, &count));
    OK(MPI_Type_size(type, &type_size));
    CHECK(count > 0 && type_size > 0);
    char* value = malloc((size_t)count * (size_t)type_size + 4096);
    OK(MPI_T_cvar_read(handle, value));
    if (is_ours && items != MPI_T_ENUM_NULL) {
      int n, found = 0, each;
      OK(MPI_T_enum_get_info(items, &n, NULL, NULL));
      for (int k = 0; k < n; ++k) {
        char item[64];
        int length = sizeof item;
        OK(MPI_T_enum_get_item(items, k, &each, item, &length));
        CHECK(length > 1);
        found |= each == *(int*)value;
      }
      CHECK(found);
      CHECK(MPI_T_enum_get_item(items, n, &each, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    }
    if (is_ours && scope == MPI_T_SCOPE_READONLY)
      CHECK(MPI_T_cvar_write(handle, value) == MPI_T_ERR_CVAR_SET_NEVER);
    free(value);
    OK(MPI_T_cvar_handle_free(&handle));
    CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
  }
  CHECK(ours > 40 && hosts > 40);
  int index;
  CHECK(MPI_T_cvar_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
        MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
        MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_cvar_get_index("FGMPI_NO_SUCH", &index) == MPI_T_ERR_INVALID_NAME);
}

/* Values as the environment sets them. */
static void values(void) {
  MPI_T_cvar_handle handle;
  int count, item;
  MPI_Count number;
  cvar("FGMPI_SYSTEM_RANKED_K", &handle, &count);
  OK(MPI_T_cvar_read(handle, &number));
  const char* set = getenv("FGMPI_SYSTEM_RANKED_K");
  CHECK(count == 1 && number == (set ? atoi(set) : 4));
  OK(MPI_T_cvar_handle_free(&handle));
  cvar("FGMPI_SYSTEM_RANKED_FILLER", &handle, &count);
  OK(MPI_T_cvar_read(handle, &item));
  CHECK(item == 0);
  OK(MPI_T_cvar_handle_free(&handle));
  char text[256];
  cvar("FGMPI_SCHED", &handle, &count);
  CHECK(count <= (int)sizeof text);
  OK(MPI_T_cvar_read(handle, text));
  set = getenv("FGMPI_SCHED");
  CHECK(!strcmp(text, set && *set ? set : "fifo") && count == (int)strlen(text) + 1);
  OK(MPI_T_cvar_handle_free(&handle));
  /* A name that does not fit is cut. */
  char name[4];
  int length = sizeof name;
  OK(MPI_T_cvar_get_info(0, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  CHECK(length == 4 && !strcmp(name, "FGM"));
}

static void categories(void) {
  int number, variables = 0, counters = 0, cvars, pvars, all;
  OK(MPI_T_category_get_num(&number));
  OK(MPI_T_cvar_get_num(&cvars));
  OK(MPI_T_pvar_get_num(&pvars));
  char* seen = calloc((size_t)cvars + 1, 1);
  for (int i = 0; i < number; ++i) {
    char name[128];
    int length = sizeof name, n, p, c, index, events;
    OK(MPI_T_category_get_info(i, name, &length, NULL, NULL, &n, &p, &c));
    OK(MPI_T_category_get_index(name, &index));
    CHECK(index == i);
    OK(MPI_T_category_get_num_events(i, &events));
    int* members = malloc(((size_t)n + (size_t)p + (size_t)c + 1) * sizeof(int));
    OK(MPI_T_category_get_cvars(i, n, members));
    for (int k = 0; k < n; ++k) {
      CHECK(members[k] >= 0 && members[k] < cvars);
      ++seen[members[k]];
    }
    OK(MPI_T_category_get_pvars(i, p, members));
    for (int k = 0; k < p; ++k) CHECK(members[k] >= 0 && members[k] < pvars);
    OK(MPI_T_category_get_categories(i, c, members));
    for (int k = 0; k < c; ++k) CHECK(members[k] >= 0 && members[k] < number);
    free(members);
    if (!strncmp(name, "fgmpi_", 6)) variables += n, counters += p;
  }
  OK(MPI_T_cvar_get_index("FGMPI_NFG", &all));
  for (int i = 0; i < variables; ++i) CHECK(seen[i] == 1); /* each setting is in one */
  CHECK(variables > 40 && counters > 10);
  free(seen);
  CHECK(MPI_T_category_get_num_events(number, &all) != MPI_SUCCESS);
}

static void all_performance_variables(void) {
  int number;
  OK(MPI_T_pvar_get_num(&number));
  MPI_T_pvar_session session;
  OK(MPI_T_pvar_session_create(&session));
  MPI_Comm world = MPI_COMM_WORLD;
  for (int i = 0; i < number; ++i) {
    char name[128], desc[2000];
    int name_len = sizeof name, desc_len = sizeof desc, verbosity, class, bind, readonly,
        continuous, atomic, count, index, type_size;
    MPI_Datatype type;
    MPI_T_enum items;
    OK(MPI_T_pvar_get_info(i, name, &name_len, &verbosity, &class, &type, &items, desc, &desc_len,
                           &bind, &readonly, &continuous, &atomic));
    OK(MPI_T_pvar_get_index(name, class, &index));
    CHECK(index == i);
    if (bind != MPI_T_BIND_NO_OBJECT && bind != MPI_T_BIND_MPI_COMM) continue;
    MPI_T_pvar_handle handle;
    OK(MPI_T_pvar_handle_alloc(session, i, &world, &handle, &count));
    OK(MPI_Type_size(type, &type_size));
    char* value = malloc((size_t)count * (size_t)type_size + 16);
    OK(MPI_T_pvar_read(session, handle, value));
    free(value);
    OK(MPI_T_pvar_handle_free(session, &handle));
    CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
  }
  OK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
  OK(MPI_T_pvar_session_free(&session));
  CHECK(session == MPI_T_PVAR_SESSION_NULL);
}

static MPI_T_pvar_handle open_counter(MPI_T_pvar_session session, const char* name, void* object) {
  int index, count;
  MPI_T_pvar_handle handle;
  OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, object, &handle, &count));
  CHECK(count == 1);
  return handle;
}

/* Messages within the process, and collectives on a communicator: this test knows how many there
 * are. */
static void counted(void) {
  int first, here;
  OK(MPIX_Get_collocated_startrank(&first));
  OK(MPIX_Get_collocated_size(&here));
  MPI_T_pvar_session session, other;
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_T_pvar_session_create(&other));
  MPI_T_pvar_handle messages = open_counter(session, "local_messages", NULL);
  unsigned long long before, after;
  const int kMessages = 7;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_T_pvar_read(session, messages, &before));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kMessages && here > 1; ++i) {
    int to = first + (rank - first + 1) % here, from = first + (rank - first + here - 1) % here,
        got;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, to, 0, &got, 1, MPI_INT, from, 0, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    CHECK(got == from);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_T_pvar_read(session, messages, &after));
  CHECK(after - before == (here > 1 ? (unsigned long long)(kMessages * here) : 0));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  /* Handles count for themselves. */
  MPI_Comm copy;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  MPI_T_pvar_handle one = open_counter(session, "comm_collectives", &copy);
  MPI_T_pvar_handle two = open_counter(other, "comm_collectives", &copy);
  for (int i = 0; i < 5; ++i) OK(MPI_Barrier(copy));
  OK(MPI_Barrier(MPI_COMM_WORLD)); /* another communicator's */
  OK(MPI_T_pvar_readreset(session, one, &before));
  OK(MPI_T_pvar_read(session, one, &after));
  CHECK(before == 5 && after == 0);
  OK(MPI_Barrier(copy));
  OK(MPI_T_pvar_read(session, one, &before));
  OK(MPI_T_pvar_read(other, two, &after));
  CHECK(before == 1 && after == 6);
  before = 100;
  OK(MPI_T_pvar_write(session, one, &before));
  OK(MPI_Barrier(copy));
  OK(MPI_T_pvar_read(session, one, &after));
  CHECK(after == 101);
  OK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
  OK(MPI_T_pvar_read(session, one, &after));
  CHECK(after == 0);
  /* What is wrong is said. */
  CHECK(MPI_T_pvar_start(session, one) == MPI_T_ERR_PVAR_NO_STARTSTOP);
  CHECK(MPI_T_pvar_read(session, MPI_T_PVAR_HANDLE_NULL, &after) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_read(MPI_T_PVAR_SESSION_NULL, one, &after) == MPI_T_ERR_INVALID_SESSION);
  CHECK(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &after) == MPI_T_ERR_INVALID_HANDLE);
  int index, count;
  MPI_T_pvar_handle level;
  OK(MPI_T_pvar_get_index("unexpected_bytes", MPI_T_PVAR_CLASS_LEVEL, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &level, &count));
  CHECK(MPI_T_pvar_reset(session, level) == MPI_T_ERR_PVAR_NO_WRITE);
  CHECK(MPI_T_pvar_get_index("unexpected_bytes", MPI_T_PVAR_CLASS_TIMER, &index) ==
        MPI_T_ERR_INVALID_NAME);
  OK(MPI_Comm_free(&copy));
  CHECK(MPI_T_pvar_read(session, one, &after) == MPI_T_ERR_INVALID_HANDLE);
  OK(MPI_T_pvar_session_free(&session)); /* with its handles */
  OK(MPI_T_pvar_session_free(&other));
}

int main(int argc, char** argv) {
  int provided;
  before_it_is_initialised();
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  control_variables(); /* before MPI_Init, too */
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_finalize());
  control_variables();
  values();
  categories();
  all_performance_variables();
  counted();
  OK(MPI_T_finalize());
  before_it_is_initialised();
  return finish();
}
