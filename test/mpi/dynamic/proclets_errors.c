/* Spawns as proclets that are refused: classes, codes, and a job that goes on. */
#include "spawning.h"

static MPI_Info here(const char* key, const char* value) {
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "fgmpi_where", "here"));
  if (key) OK(MPI_Info_set(info, key, value));
  return info;
}

static void fails(const char* program, int maxprocs, MPI_Info info, int wanted, const char* words) {
  MPI_Comm children = MPI_COMM_WORLD;
  int codes[8] = {-1, -1, -1, -1, -1, -1, -1, -1}, length;
  char text[MPI_MAX_ERROR_STRING];
  int got =
      MPI_Comm_spawn(program, MPI_ARGV_NULL, maxprocs, info, 0, MPI_COMM_WORLD, &children, codes);
  OK(MPI_Error_string(got, text, &length));
  if (class_of(got) != wanted || !strstr(text, words))
    fprintf(stderr, "%s: class %d: %s\n", program, class_of(got), text);
  CHECK(class_of(got) == wanted);
  CHECK(children == MPI_COMM_NULL);
  CHECK(strstr(text, words));
  for (int i = 0; i < maxprocs; ++i) CHECK(class_of(codes[i]) == wanted);
  OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  MPI_Init(&argc, &argv);
  OK(MPI_Comm_get_parent(&parent));
  int rank, size;
  if (parent != MPI_COMM_NULL) {
    MPI_Errhandler handler;
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(size == 3 && argc == 1);
    OK(MPI_Comm_disconnect(&parent));
    OK(MPI_Finalize());
    return 7; /* nobody's status */
  }
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  fails("/no/such/program", 3, here(NULL, NULL), MPI_ERR_SPAWN, "may be executed");
  fails("/tmp", 1, here(NULL, NULL), MPI_ERR_SPAWN, "may be executed");
  fails(argv[0], 1, here("fgmpi_where", "there"), MPI_ERR_INFO_VALUE, "here or processes");
  fails(argv[0], 1, here("env", "A=B"), MPI_ERR_INFO_VALUE, "info key env");
  fails(argv[0], 1, here("host", "localhost"), MPI_ERR_INFO_VALUE, "info key host");
  fails(argv[0], 1, here("wdir", "/"), MPI_ERR_INFO_VALUE, "info key wdir");
  fails(argv[0], 1, here("soft", "x"), MPI_ERR_INFO_VALUE, "soft");
  fails("/bin/true", 2, here(NULL, NULL), MPI_ERR_SPAWN, "does not use MPI");
  fails("/bin/true", 2, here(NULL, NULL), MPI_ERR_SPAWN, "does not use MPI"); /* again */
  char path[100];
  no_program(path, rank);
  fails(path, 2, here(NULL, NULL), MPI_ERR_SPAWN, "no dynamically linked program");
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) unlink(path);
  char nfg[10], folder[4096];
  fails(argv[0], 8, here("nfg", "1"), MPI_ERR_SPAWN, "nfg 1"); /* in at most 4 processes */
  /* One of two commands does not ask for it; one of two programs is not there. */
  char *programs[] = {argv[0], argv[0]}, *missing[] = {argv[0], "/no/such/program"};
  int most[] = {2, 1}, codes[4] = {-1, -1, -1, -1};
  MPI_Info info = here(NULL, NULL), infos[] = {info, MPI_INFO_NULL}, both[] = {info, info};
  CHECK(class_of(MPI_Comm_spawn_multiple(2, programs, MPI_ARGVS_NULL, most, infos, 0,
                                         MPI_COMM_WORLD, &children, codes)) == MPI_ERR_INFO_VALUE);
  CHECK(class_of(MPI_Comm_spawn_multiple(2, missing, MPI_ARGVS_NULL, most, both, 0, MPI_COMM_WORLD,
                                         &children, codes)) == MPI_ERR_SPAWN);
  CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS && class_of(codes[2]) == MPI_ERR_SPAWN);
  OK(MPI_Info_free(&info));
  /* Fewer than were asked for. */
  CHECK(getcwd(folder, sizeof folder));
  snprintf(nfg, sizeof nfg, "%d", 3);
  info = here("nfg", nfg);
  OK(MPI_Info_set(info, "mpi_initial_errhandler", "mpi_errors_return"));
  OK(MPI_Info_set(info, "soft", "1,3,7:20"));
  OK(MPI_Info_set(info, "wdir", folder));
  OK(MPI_Info_set(info, "a_key_of_another_library", "x"));
  OK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 4, info, 0, MPI_COMM_WORLD, &children, codes));
  OK(MPI_Comm_remote_size(children, &size));
  CHECK(size == 3 && codes[2] == MPI_SUCCESS && class_of(codes[3]) == MPI_ERR_SPAWN);
  OK(MPI_Comm_disconnect(&children));
  OK(MPI_Info_free(&info));
  return finish();
}
