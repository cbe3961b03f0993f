/* A job spawns others, several ranks and programs at once, as deep as DEPTH: each uses its
 * intercommunicators. The parents and the children are the same program: children have a parent. */
#include "exercise.h"
#include "spawning.h"

#define DEPTH 2

/* argv[1]: how deep the children are; argv[2]: how many they should be; argv[3]: where program 1
 * begins. */
static void child(MPI_Comm parent, int argc, char** argv) {
  int rank, size, number;
  char name[MPI_MAX_OBJECT_NAME];
  CHECK(argc == 4);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(size == atoi(argv[2]));
  CHECK(appnum() == (rank >= atoi(argv[3])));
  OK(MPI_Comm_get_name(parent, name, &number));
  CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
  exercise(parent, 1);
}

static void spawn_and_use(MPI_Comm comm, const char* program, int depth, int c, int maxprocs,
                          int twice) {
  MPI_Comm children;
  const int root = 0, all = twice ? 2 * maxprocs : maxprocs;
  char text[3][20], nfg[20];
  snprintf(text[0], 20, "%d", depth);
  snprintf(text[1], 20, "%d", all);
  snprintf(text[2], 20, "%d", maxprocs);
  snprintf(nfg, 20, "%d", c);
  char* arguments[] = {text[0], text[1], text[2], NULL};
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "nfg", nfg));
  MPI_Info infos[] = {info, MPI_INFO_NULL};
  spawn_commands(comm, root, program, arguments, maxprocs, twice, infos, &children);
  exercise(children, 0);
  OK(MPI_Comm_disconnect(&children));
  OK(MPI_Info_free(&info));
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  OK(MPI_Comm_get_parent(&parent));
  const int depth = parent == MPI_COMM_NULL ? 0 : atoi(argv[1]);
  if (parent != MPI_COMM_NULL) child(parent, argc, argv);
  if (depth == 0) {
    spawn_and_use(MPI_COMM_WORLD, argv[0], 1, 1, 2, 0);
    spawn_and_use(MPI_COMM_WORLD, argv[0], DEPTH, 3, 3, 1);
  } else if (depth < DEPTH) {
    spawn_and_use(MPI_COMM_WORLD, argv[0], depth + 1, 2, 2, 0);
  }
  if (parent != MPI_COMM_NULL) {
    MPI_Comm again = parent;
    OK(MPI_Comm_disconnect(&again));
    OK(MPI_Comm_get_parent(&again));
    CHECK(again == MPI_COMM_NULL);
    OK(MPI_Finalize());
    return 0;
  }
  return finish();
}
