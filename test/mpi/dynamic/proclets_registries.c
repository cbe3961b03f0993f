/* Ranks that are spawned as proclets register what they like, and end; those that come after them,
 * which get their numbers in the process, have nothing of it. Two commands of one spawn have
 * numbers (MPI_APPNUM) of their own, whoever asks last. */
#include <string.h>

#include "mpitest.h"

static int state;

static int convert(void* buffer, MPI_Datatype type, int count, void* file, MPI_Offset position,
                   void* extra) {
  (void)buffer, (void)type, (void)count, (void)file, (void)position, (void)extra;
  return MPI_SUCCESS;
}
static int extent(MPI_Datatype type, MPI_Aint* bytes, void* extra) {
  CHECK(extra == &state);
  return MPI_Type_get_extent(type, &(MPI_Aint){0}, bytes);
}
static void handle_files(MPI_File* file, int* code, ...) { (void)file, (void)code; }

/* What a rank that has registered nothing sees. *class: the number of the first error class that it
 * adds. */
static void expect_nothing(int* class) {
  char text[MPI_MAX_OBJECT_NAME];
  int flag, length;
  MPI_Errhandler handler;
  OK(MPI_Info_get(MPI_INFO_ENV, "mine", 10, text, &flag));
  CHECK(!flag);
  OK(MPI_Type_get_name(MPI_INT, text, &length));
  CHECK(strcmp(text, "MPI_INT") == 0);
  OK(MPI_File_get_errhandler(MPI_FILE_NULL, &handler));
  CHECK(handler == MPI_ERRORS_RETURN);
  OK(MPI_Add_error_class(class));
  OK(MPI_Error_string(*class, text, &length));
  CHECK(length == 0);
  CHECK(MPI_T_cvar_get_num(&length) == MPI_T_ERR_NOT_INITIALIZED);
}

static void register_all(int class) {
  MPI_Errhandler handler;
  MPI_T_pvar_session session;
  int provided;
  OK(MPI_Info_set(MPI_INFO_ENV, "mine", "1"));
  OK(MPI_Type_set_name(MPI_INT, "mine"));
  OK(MPI_File_create_errhandler(handle_files, &handler));
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Add_error_string(class, "mine"));
  OK(MPI_Register_datarep("mine", convert, convert, extent, &state));
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_pvar_session_create(&session)); /* left open */
}

static void child(MPI_Comm parent) {
  int rank, class, flag, *appnum, told[2];
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  expect_nothing(&class);
  register_all(class);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &flag));
  CHECK(flag && *appnum == rank);
  OK(MPI_Barrier(MPI_COMM_WORLD)); /* the other one has asked, too */
  CHECK(*appnum == rank);
  told[0] = rank, told[1] = class;
  OK(MPI_Send(told, 2, MPI_INT, 0, 1, parent));
  OK(MPI_Comm_disconnect(&parent));
  OK(MPI_Finalize());
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  MPI_Info infos[2];
  int rank, first = -1;
  MPI_Init(&argc, &argv);
  OK(MPI_Comm_get_parent(&parent));
  if (parent != MPI_COMM_NULL) {
    child(parent);
    return 0;
  }
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Info_create(&infos[0]));
  OK(MPI_Info_set(infos[0], "fgmpi_where", "here"));
  infos[1] = infos[0];
  for (int k = 0; k < 8; ++k) {
    MPI_Comm inter;
    char* commands[] = {argv[0], argv[0]};
    const int counts[] = {1, 1};
    OK(MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, counts, infos, 0, MPI_COMM_WORLD,
                               &inter, MPI_ERRCODES_IGNORE));
    for (int i = 0; i < 2 && rank == 0; ++i) {
      int told[2];
      OK(MPI_Recv(told, 2, MPI_INT, i, 1, inter, MPI_STATUS_IGNORE));
      if (first < 0) first = told[1];
      CHECK(told[0] == i && told[1] == first);
    }
    OK(MPI_Comm_disconnect(&inter));
  }
  OK(MPI_Info_free(&infos[0]));
  return finish();
}
