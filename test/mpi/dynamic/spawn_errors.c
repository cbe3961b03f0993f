/* Spawns that fail, or are restricted: classes, codes, and a job that goes on. */
#include "spawning.h"

static MPI_Info with(const char* key, const char* value) {
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, key, value));
  return info;
}

static void fails(const char* program, int maxprocs, MPI_Info info, int wanted, int code) {
  MPI_Comm children = MPI_COMM_WORLD;
  int codes[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
  int got =
      MPI_Comm_spawn(program, MPI_ARGV_NULL, maxprocs, info, 0, MPI_COMM_WORLD, &children, codes);
  if (class_of(got) != wanted) fprintf(stderr, "%s: class %d\n", program, class_of(got));
  CHECK(class_of(got) == wanted);
  CHECK(children == MPI_COMM_NULL);
  for (int i = 0; i < maxprocs && code; ++i) CHECK(class_of(codes[i]) == code);
  if (info != MPI_INFO_NULL) OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  OK(MPI_Comm_get_parent(&parent));
  int rank, size;
  if (parent != MPI_COMM_NULL) { /* a child: checks what it was given */
    CHECK(argc == 3);
    MPI_Errhandler handler;
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    char here[4096];
    CHECK(getcwd(here, sizeof here) && strcmp(here, argv[1]) == 0);
    CHECK(getenv("A_VARIABLE") && strcmp(getenv("A_VARIABLE"), "its value = this") == 0);
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(size == atoi(argv[2]));
    OK(MPI_Comm_disconnect(&parent));
    OK(MPI_Finalize());
    return 0;
  }
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  fails("/no/such/program", 3, MPI_INFO_NULL, MPI_ERR_SPAWN, MPI_ERR_SPAWN);
  fails("no-such-program-in-the-path", 1, MPI_INFO_NULL, MPI_ERR_SPAWN, MPI_ERR_SPAWN);
  fails("/tmp", 1, MPI_INFO_NULL, MPI_ERR_SPAWN, MPI_ERR_SPAWN);
  fails(argv[0], 0, MPI_INFO_NULL, MPI_ERR_SPAWN, 0);
  fails(argv[0], 1, with("wdir", "/no/such/folder"), MPI_ERR_INFO_VALUE, MPI_ERR_INFO_VALUE);
  fails(argv[0], 1, with("nfg", "some"), MPI_ERR_INFO_VALUE, MPI_ERR_INFO_VALUE);
  fails(argv[0], 1, with("soft", "1:2:3:4"), MPI_ERR_INFO_VALUE, MPI_ERR_INFO_VALUE);
  fails(argv[0], 3, with("soft", "5:9"), MPI_ERR_SPAWN, MPI_ERR_SPAWN);
  fails("/bin/true", 2, MPI_INFO_NULL, MPI_ERR_SPAWN, MPI_ERR_SPAWN); /* never calls MPI_Init */
  char path[100];
  no_program(path, rank);
  fails(path, 2, MPI_INFO_NULL, MPI_ERR_SPAWN, MPI_ERR_SPAWN);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) unlink(path);
  /* One of two programs is not there: its code says so, the other's does not. */
  char* programs[] = {argv[0], "/no/such/program"};
  int most[] = {2, 1}, codes[4] = {-1, -1, -1, -1};
  MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm children;
  CHECK(class_of(MPI_Comm_spawn_multiple(2, programs, MPI_ARGVS_NULL, most, infos, 0,
                                         MPI_COMM_WORLD, &children, codes)) == MPI_ERR_SPAWN);
  CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS && class_of(codes[2]) == MPI_ERR_SPAWN);
  /* What a child gets, and fewer than were asked for. */
  MPI_Info info = with("wdir", "/");
  OK(MPI_Info_set(info, "env", "A_VARIABLE=its value = this"));
  OK(MPI_Info_set(info, "mpi_initial_errhandler", "mpi_errors_return"));
  OK(MPI_Info_set(info, "soft", "1,3,7:20"));
  OK(MPI_Info_set(info, "nfg", "2"));
  OK(MPI_Info_set(info, "a_key_of_another_library", "x"));
  char* arguments[] = {"/", "3", NULL};
  OK(MPI_Comm_spawn(argv[0], arguments, 4, info, 0, MPI_COMM_WORLD, &children, codes));
  OK(MPI_Comm_remote_size(children, &size));
  CHECK(size == 3 && codes[2] == MPI_SUCCESS && class_of(codes[3]) == MPI_ERR_SPAWN);
  OK(MPI_Comm_disconnect(&children));
  OK(MPI_Info_free(&info));
  return finish();
}
