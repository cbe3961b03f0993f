/* Spawned ranks that end before they call MPI_Init, all of them or one, as processes and as
 * proclets: the spawn fails with words and codes, nothing of it stays, and the job goes on. */
#include <fcntl.h>

#include "spawning.h"

/* A child: it ends at once when argv[1] is "all", or "one" and it is the first to make the file
 * argv[2]. */
static void end_early(char** argv) {
  if (strcmp(argv[1], "all") == 0) exit(0);
  const int fd =
      strcmp(argv[1], "one") == 0 ? open(argv[2], O_CREAT | O_EXCL | O_WRONLY, 0600) : -1;
  if (fd >= 0) exit(close(fd));
}

static void use(MPI_Comm* inter, int size) {
  int remote;
  OK(MPI_Comm_remote_size(*inter, &remote));
  CHECK(size < 0 || remote == size);
  OK(MPI_Barrier(*inter));
  OK(MPI_Comm_disconnect(inter));
}

static void spawn(const char* program, const char* who, int maxprocs, const char* where,
                  const char* nfg) {
  static int spawns = 0;
  int codes[8] = {-1, -1, -1, -1, -1, -1, -1, -1}, length, rank;
  char text[MPI_MAX_ERROR_STRING], path[100];
  snprintf(path, sizeof path, "/tmp/fgmpi-test-early-%d-%d", (int)getpid(), ++spawns);
  char* arguments[] = {(char*)who, path, NULL};
  MPI_Comm children;
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "fgmpi_where", where));
  if (nfg) OK(MPI_Info_set(info, "nfg", nfg));
  const int got =
      MPI_Comm_spawn(program, arguments, maxprocs, info, 0, MPI_COMM_WORLD, &children, codes);
  OK(MPI_Info_free(&info));
  for (int i = 0; i < maxprocs; ++i) CHECK(class_of(codes[i]) == class_of(got));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  if (rank == 0) unlink(path);
  if (strcmp(who, "none") == 0) {
    CHECK(got == MPI_SUCCESS);
    return use(&children, maxprocs);
  }
  CHECK(class_of(got) == MPI_ERR_SPAWN && children == MPI_COMM_NULL);
  OK(MPI_Error_string(got, text, &length));
  CHECK(strstr(text, "before it called MPI_Init") ||
        strstr(text, "before its ranks called MPI_Init"));
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  if (argc > 1) end_early(argv);
  MPI_Init(&argc, &argv);
  OK(MPI_Comm_get_parent(&parent));
  if (parent != MPI_COMM_NULL) {
    use(&parent, -1);
    OK(MPI_Finalize());
    return 0;
  }
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  for (int k = 0; k < 2; ++k) {
    spawn(argv[0], "all", 3, "here", NULL);
    spawn(argv[0], "one", 4, "here", NULL);
    spawn(argv[0], "none", 4, "here", NULL);
  }
  spawn(argv[0], "all", 2, "processes", NULL);
  spawn(argv[0], "one", 2, "processes", NULL);
  spawn(argv[0], "one", 3, "processes", "3");
  spawn(argv[0], "none", 2, "processes", NULL);
  return finish();
}
