/* Handles, sessions and written values of the tools interface are the rank's: what one rank of a
 * process writes into a variable of the hosted MPICH's, another does not read; a handle or session
 * of another rank is none; and those of a rank that has finalised the interface are gone while
 * others' go on. Also what MPI says of variables that are read and reset at once, of all handles,
 * and of handles that there are not (MPI-4.0 sections 15.3.6 and 15.3.7). */
#include <string.h>

#include "mpitest.h"

static int rank, size;

/* A variable of the host's that can be written: an int that is no choice. */
static int find_writable(int* before) {
  int number, count;
  OK(MPI_T_cvar_get_num(&number));
  for (int i = 0; i < number; ++i) {
    char name[128];
    int name_len = sizeof name, bind, scope;
    MPI_Datatype type;
    MPI_T_enum items;
    MPI_T_cvar_handle handle;
    OK(MPI_T_cvar_get_info(i, name, &name_len, NULL, &type, &items, NULL, NULL, &bind, &scope));
    if (!strncmp(name, "FGMPI_", 6) || bind != MPI_T_BIND_NO_OBJECT || type != MPI_INT ||
        items != MPI_T_ENUM_NULL || scope == MPI_T_SCOPE_READONLY || scope == MPI_T_SCOPE_CONSTANT)
      continue;
    OK(MPI_T_cvar_handle_alloc(i, NULL, &handle, &count));
    int good = count == 1 && MPI_T_cvar_read(handle, before) == MPI_SUCCESS &&
               MPI_T_cvar_write(handle, before) == MPI_SUCCESS;
    OK(MPI_T_cvar_handle_free(&handle));
    if (good) return i;
  }
  return -1;
}

static int value_of(MPI_T_cvar_handle handle) {
  int value = -1;
  OK(MPI_T_cvar_read(handle, &value));
  return value;
}

static void written_values(void) {
  int before = -1, count;
  const int index = find_writable(&before);
  CHECK(index >= 0);
  MPI_T_cvar_handle handle;
  OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  const int own = 100 + rank, expected = rank % 3 == 2 ? before : own;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank % 3 != 2) OK(MPI_T_cvar_write(handle, &own));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(value_of(handle) == expected);
  OK(MPI_T_cvar_handle_free(&handle));
  CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
  OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
  CHECK(value_of(handle) == expected);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_T_cvar_write(handle, &before));
  CHECK(value_of(handle) == before);
  OK(MPI_T_cvar_handle_free(&handle));
}

static MPI_T_pvar_handle open_variable(MPI_T_pvar_session session, const char* name, int class,
                                       void* object) {
  int index, count;
  MPI_T_pvar_handle handle;
  OK(MPI_T_pvar_get_index(name, class, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, object, &handle, &count));
  return handle;
}

/* Handles travel as bytes: the next rank has none of these. */
static void handles_of_others(void) {
  struct {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_T_cvar_handle variable;
  } own, other;
  int index, count, value[64];
  unsigned long long counted;
  OK(MPI_T_pvar_session_create(&own.session));
  own.handle = open_variable(own.session, "local_messages", MPI_T_PVAR_CLASS_COUNTER, NULL);
  OK(MPI_T_cvar_get_index("FGMPI_EAGER_LOCAL", &index));
  OK(MPI_T_cvar_handle_alloc(index, NULL, &own.variable, &count));
  OK(MPI_Sendrecv(&own, sizeof own, MPI_BYTE, (rank + 1) % size, 0, &other, sizeof other, MPI_BYTE,
                  (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (size > 1 && other.session != own.session && other.handle != own.handle &&
      other.variable != own.variable) {
    CHECK(MPI_T_pvar_read(other.session, other.handle, &counted) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_read(own.session, other.handle, &counted) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_cvar_read(other.variable, value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_handle_free(own.session, &other.handle) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_cvar_handle_free(&other.variable) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_session_free(&other.session) == MPI_T_ERR_INVALID_SESSION);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_T_pvar_read(own.session, own.handle, &counted));
  OK(MPI_T_cvar_read(own.variable, value));
  /* What has been freed is no handle. */
  MPI_T_pvar_handle freed = own.handle;
  MPI_T_cvar_handle freed_variable = own.variable;
  OK(MPI_T_pvar_handle_free(own.session, &own.handle));
  OK(MPI_T_cvar_handle_free(&own.variable));
  CHECK(MPI_T_pvar_read(own.session, freed, &counted) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_start(own.session, freed) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_cvar_read(freed_variable, value) == MPI_T_ERR_INVALID_HANDLE);
  OK(MPI_T_pvar_session_free(&own.session));
}

/* By the letter: each variable does what MPI_T_pvar_get_info says of it. */
static void letter(void) {
  MPI_T_pvar_session session;
  MPI_Comm copy;
  int number, atomics = 0;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &copy));
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_T_pvar_get_num(&number));
  for (int i = 0; i < number; ++i) {
    int class, bind, readonly, continuous, atomic, count;
    MPI_T_pvar_handle handle;
    unsigned long long value = 3, again;
    OK(MPI_T_pvar_get_info(i, NULL, NULL, NULL, &class, NULL, NULL, NULL, NULL, &bind, &readonly,
                           &continuous, &atomic));
    if (bind != MPI_T_BIND_NO_OBJECT && bind != MPI_T_BIND_MPI_COMM) continue;
    CHECK(!(readonly && atomic));
    atomics += atomic;
    OK(MPI_T_pvar_handle_alloc(session, i, &copy, &handle, &count));
    const int startable = continuous ? MPI_T_ERR_PVAR_NO_STARTSTOP : MPI_SUCCESS,
              writable = readonly ? MPI_T_ERR_PVAR_NO_WRITE : MPI_SUCCESS;
    CHECK(MPI_T_pvar_stop(session, handle) == startable);
    CHECK(MPI_T_pvar_start(session, handle) == startable);
    CHECK(MPI_T_pvar_start(session, handle) == startable);
    CHECK(MPI_T_pvar_write(session, handle, &value) == writable);
    CHECK(MPI_T_pvar_reset(session, handle) == writable);
    CHECK(MPI_T_pvar_readreset(session, handle, &value) ==
          (atomic ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_ATOMIC));
    if (!continuous && !readonly) { /* a write counts on from there */
      value = 40;
      OK(MPI_T_pvar_write(session, handle, &value));
      OK(MPI_T_pvar_readreset(session, handle, &again));
      CHECK(again >= 40);
      OK(MPI_T_pvar_stop(session, handle));
      OK(MPI_T_pvar_readreset(session, handle, &value));
      OK(MPI_T_pvar_read(session, handle, &again));
      CHECK(again == 0);
    }
    OK(MPI_T_pvar_handle_free(session, &handle));
  }
  CHECK(atomics > 0);
  /* All handles: read-only and continuous variables are left out, one that cannot be reached any
   * more is told. */
  MPI_T_pvar_handle level =
      open_variable(session, "unexpected_bytes", MPI_T_PVAR_CLASS_LEVEL, NULL);
  OK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
  OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
  OK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
  MPI_T_pvar_handle gone =
      open_variable(session, "comm_local_messages", MPI_T_PVAR_CLASS_COUNTER, &copy);
  OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
  OK(MPI_T_pvar_stop(session, gone));
  OK(MPI_Comm_free(&copy));
  CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_T_ERR_PVAR_NO_STARTSTOP);
  CHECK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES) == MPI_T_ERR_PVAR_NO_WRITE);
  OK(MPI_T_pvar_handle_free(session, &gone));
  OK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
  OK(MPI_T_pvar_handle_free(session, &level));
  OK(MPI_T_pvar_session_free(&session));
}

/* Odd ranks finalise the interface with a session open, and begin again: it is gone. Others go on
 * with theirs. */
static void finalised(void) {
  MPI_T_pvar_session session;
  MPI_Comm copy;
  int provided;
  unsigned long long value = 7;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &copy));
  OK(MPI_T_pvar_session_create(&session));
  MPI_T_pvar_handle handle =
      open_variable(session, "comm_local_messages", MPI_T_PVAR_CLASS_COUNTER, &copy);
  OK(MPI_T_pvar_start(session, handle));
  OK(MPI_T_pvar_write(session, handle, &value));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank % 2) {
    OK(MPI_T_finalize());
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(MPI_T_pvar_read(session, handle, &value) ==
        (rank % 2 ? MPI_T_ERR_INVALID_SESSION : MPI_SUCCESS));
  CHECK(value == 7);
  if (rank % 2 == 0) OK(MPI_T_pvar_session_free(&session));
  OK(MPI_Comm_free(&copy));
}

int main(int argc, char** argv) {
  int provided;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  written_values();
  handles_of_others();
  letter();
  finalised();
  OK(MPI_T_finalize());
  return finish();
}
