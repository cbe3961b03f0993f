/* Ranks that are spawned as proclets of the running processes (fgmpi_where=here): each has globals,
 * arguments, exit handlers and a world of its own, uses its intercommunicator, and spawns others in
 * turn. Parents and children are the same program. */
#include <getopt.h>
#include <unistd.h>

#include "exercise.h"
#include "spawning.h"

#define DEPTH 2

static int counted = 41;        /* each rank finds it so */
static int zeroed[3000];        /* and this zero */
static int* pointer = &counted; /* into its own image */
static _Thread_local int of_thread = 17;
static pid_t process;

static void check_globals(void) {
  CHECK(counted == 41 && pointer == &counted && of_thread == 17);
  for (int i = 0; i < 3000; ++i) CHECK(zeroed[i] == 0);
  counted = 1;
  of_thread = 3;
  for (int i = 0; i < 3000; ++i) zeroed[i] = i + 1;
}

static void check_globals_again(void) {
  CHECK(*pointer == 1 && of_thread == 3);
  for (int i = 0; i < 3000; ++i) CHECK(zeroed[i] == i + 1);
}

/* argv[1]: how deep the children are; argv[2]: how many they are; argv[3]: where program 1 begins;
 * argv[4]: their process, if it must be that one. */
static void child(MPI_Comm parent, int argc, char** argv) {
  int rank, size, number, self;
  char name[MPI_MAX_OBJECT_NAME];
  CHECK(argc == 6 && strcmp(argv[5], "-x") == 0 && argv[6] == NULL);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(size == atoi(argv[2]));
  CHECK(appnum() == (rank >= atoi(argv[3])));
  OK(MPI_Comm_get_name(parent, name, &number));
  CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
  if (atoi(argv[4])) CHECK(process == (pid_t)atoi(argv[4]));
  CHECK(optind == 1);
  optind = 5;
  CHECK(getopt(argc, argv, "x") == 'x');
  OK(MPI_Comm_size(MPI_COMM_SELF, &self));
  CHECK(self == 1);
  MPI_Comm again;
  OK(MPI_Comm_dup(MPI_COMM_SELF, &again));
  OK(MPI_Barrier(again));
  OK(MPI_Comm_free(&again));
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &again));
  OK(MPI_Barrier(again));
  OK(MPI_Comm_free(&again));
  exercise(parent, 1);
}

static void set_here(MPI_Info* info) {
  OK(MPI_Info_create(info));
  OK(MPI_Info_set(*info, "fgmpi_where", "here"));
}

/* Spawns maxprocs ranks, or twice as many of two commands. */
static void spawn(MPI_Comm comm, const char* program, int depth, int maxprocs, int twice) {
  int size;
  OK(MPI_Comm_size(comm, &size));
  MPI_Comm children;
  const int root = size - 1, all = twice ? 2 * maxprocs : maxprocs;
  char text[4][20];
  snprintf(text[0], 20, "%d", depth);
  snprintf(text[1], 20, "%d", all);
  snprintf(text[2], 20, "%d", maxprocs);
  snprintf(text[3], 20, "%d", size == 1 ? (int)getpid() : 0);
  char* arguments[] = {text[0], text[1], text[2], text[3], "-x", NULL};
  MPI_Info info;
  set_here(&info);
  MPI_Info infos[] = {info, info};
  spawn_commands(comm, root, program, arguments, maxprocs, twice, infos, &children);
  exercise(children, 0);
  OK(MPI_Comm_disconnect(&children));
  OK(MPI_Info_free(&info));
}

static int handlers;
static void handler(void) { CHECK(++handlers == 1); }

int main(int argc, char** argv) {
  MPI_Comm parent;
  check_globals();
  process = getpid();
  atexit(handler);
  MPI_Init(&argc, &argv);
  OK(MPI_Comm_get_parent(&parent));
  const int depth = parent == MPI_COMM_NULL ? 0 : atoi(argv[1]);
  if (parent != MPI_COMM_NULL) child(parent, argc, argv);
  check_globals_again();
  if (depth == 0) {
    spawn(MPI_COMM_WORLD, argv[0], DEPTH, 1, 0);
    spawn(MPI_COMM_WORLD, argv[0], DEPTH, 5, 0);
    spawn(MPI_COMM_SELF, argv[0], DEPTH, 2, 0);
    spawn(MPI_COMM_WORLD, argv[0], DEPTH, 3, 1);
    spawn(MPI_COMM_WORLD, argv[0], 1, 3, 0);
    check_globals_again();
  } else if (depth < DEPTH) {
    spawn(MPI_COMM_WORLD, argv[0], depth + 1, 2, 0);
    spawn(MPI_COMM_SELF, argv[0], depth + 1, 1, 1);
  }
  if (parent != MPI_COMM_NULL) {
    OK(MPI_Comm_disconnect(&parent));
    OK(MPI_Finalize());
    return 0;
  }
  return finish();
}
