/* The info key mpi_memory_alloc_kinds of communicators, windows, files and sessions, and what
 * MPI-5.0 lets programs ask about the ABI. */
#include <fgmpi.h>
#include <string.h>
#include <unistd.h>

#include "mpitest.h"

static const char kKey[] = "mpi_memory_alloc_kinds";

static int has(const char* kinds, const char* kind) {
  const char* at = strstr(kinds, kind);
  const size_t length = strlen(kind);
  return at && (at == kinds || at[-1] == ',') && (at[length] == 0 || at[length] == ',');
}

/* Both kinds that every library has; the value is copied to `out`. Frees the info object. */
static void expect_kinds(MPI_Info info, char* out) {
  char value[256];
  int flag, length = sizeof value;
  OK(MPI_Info_get_string(info, kKey, &length, value, &flag));
  CHECK(flag && has(value, "system") && has(value, "mpi"));
  if (out) strcpy(out, value);
  if (info != MPI_INFO_ENV) OK(MPI_Info_free(&info));
}

static void number(MPI_Info info, const char* key, int wanted) {
  char value[20];
  int flag, length = sizeof value;
  OK(MPI_Info_get_string(info, key, &length, value, &flag));
  CHECK(flag && atoi(value) == wanted);
}

static void abi(void) {
  int major, minor, is_set, class;
  MPI_Info info;
  OK(MPI_Abi_get_version(&major, &minor));
  CHECK(major == -1 && minor == -1);
  OK(MPI_Abi_get_info(&info));
  number(info, "mpi_aint_size", sizeof(MPI_Aint));
  number(info, "mpi_count_size", sizeof(MPI_Count));
  number(info, "mpi_offset_size", sizeof(MPI_Offset));
  OK(MPI_Info_free(&info));
  OK(MPI_Abi_get_fortran_info(&info));
  number(info, "mpi_logical_size", 4);
  number(info, "mpi_integer_size", 4);
  number(info, "mpi_real_size", 4);
  number(info, "mpi_double_precision_size", 8);
  OK(MPI_Error_class(MPI_Abi_set_fortran_info(info), &class));
  CHECK(class == MPI_ERR_ABI);
  OK(MPI_Info_free(&info));
  for (int bytes = 1; bytes <= 16; bytes *= 2) {
    unsigned char yes[16], no[16];
    memset(yes, 7, sizeof yes);
    memset(no, 7, sizeof no);
    is_set = 0;
    OK(MPI_Abi_get_fortran_booleans(bytes, yes, no, &is_set));
    CHECK(is_set);
    for (int i = 0; i < 16; ++i) CHECK(no[i] == (i < bytes ? 0 : 7) && (i == 0 || yes[i] == no[i]));
    CHECK(yes[0] == 1);
    OK(MPI_Error_class(MPI_Abi_set_fortran_booleans(bytes, yes, no), &class));
    CHECK(class == MPI_ERR_ABI);
  }
  char text[MPI_MAX_ERROR_STRING];
  int length;
  OK(MPI_Error_string(MPI_ERR_ABI, text, &length));
  CHECK(length > 0 && strcmp(text, "Unknown error class"));
}

int main(int argc, char** argv) {
  char kinds[256], again[256];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info info;
  expect_kinds(MPI_INFO_ENV, NULL);
  OK(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
  expect_kinds(info, kinds);
  /* The value cannot be changed. */
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, kKey, "cuda"));
  OK(MPI_Comm_set_info(MPI_COMM_WORLD, info));
  MPI_Comm copy;
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copy));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
  expect_kinds(info, again);
  CHECK(!strcmp(kinds, again));
  OK(MPI_Comm_get_info(copy, &info));
  expect_kinds(info, again);
  CHECK(!strcmp(kinds, again));
  OK(MPI_Comm_free(&copy));

  MPI_Win win;
  char memory[8];
  OK(MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_get_info(win, &info));
  expect_kinds(info, again);
  CHECK(!strcmp(kinds, again));
  OK(MPI_Win_free(&win));

  char name[64];
  MPI_File file;
  snprintf(name, sizeof name, "/tmp/fgmpi_memory_kinds.%d.%d", (int)getpid(), rank);
  OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  OK(MPI_File_get_info(file, &info));
  expect_kinds(info, again);
  CHECK(!strcmp(kinds, again));
  CHECK(MPI_File_fromint(MPI_File_toint(file)) == file);
  OK(MPI_File_close(&file));

  /* A session says which of the kinds that it was asked for there are. */
  MPI_Session session;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, kKey, "cuda, mpi:win_allocate:alloc_mem ,system,mpi:other"));
  OK(MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session));
  OK(MPI_Info_free(&info));
  OK(MPI_Session_get_info(session, &info));
  expect_kinds(info, again);
  CHECK(has(again, "mpi:win_allocate:alloc_mem") && !has(again, "cuda") &&
        !has(again, "mpi:other"));
  MPI_Group group;
  OK(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
  OK(MPI_Comm_create_from_group(group, "kinds", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &copy));
  OK(MPI_Group_free(&group));
  OK(MPI_Comm_get_info(copy, &info));
  expect_kinds(info, kinds);
  CHECK(!strcmp(kinds, again));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Session_finalize(&session));

  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  abi();
  return finish();
}
