/* Communicators with members that were spawned as proclets connect with another job:
 * proclets_connect accept|connect FILE. Of the job that accepts the children alone, then parents
 * and children together; of the other one parents and children; and children spawn processes. */
#include "exercise.h"
#include "meeting.h"
#include "spawning.h"

static char program[4096];

static MPI_Comm spawn(MPI_Comm comm, const char* where, char* what, const char* path,
                      int maxprocs) {
  MPI_Comm children;
  MPI_Info info;
  char* arguments[] = {what, (char*)path, NULL};
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "fgmpi_where", where));
  OK(MPI_Comm_spawn(program, arguments, maxprocs, info, 0, comm, &children, MPI_ERRCODES_IGNORE));
  OK(MPI_Info_free(&info));
  return children;
}

/* Collective over comm, whose rank 0 has opened or read the port. */
static MPI_Comm connect_from(MPI_Comm comm, int accepts, const char* port) {
  MPI_Comm inter;
  if (accepts)
    OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, comm, &inter));
  else
    OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, comm, &inter));
  return inter;
}

/* Children of the side that accepts connect alone; all connect in one communicator with their
 * parents. */
static void connect_both(MPI_Comm parents_and_children, int child, int accepts, const char* path) {
  char port[MPI_MAX_PORT_NAME] = "", alone[4096];
  int rank;
  MPI_Comm inter, merged;
  snprintf(alone, sizeof alone, "%s.alone", path);
  if (accepts ? child : !child) {
    find_port(accepts, alone, port);
    inter = meet(accepts, port);
    exercise(inter, accepts);
    OK(MPI_Comm_disconnect(&inter));
  }
  OK(MPI_Intercomm_merge(parents_and_children, child, &merged));
  OK(MPI_Comm_rank(merged, &rank));
  if (!child && rank == 0) find_port(accepts, path, port);
  for (int k = 0; k < 2; ++k) {
    inter = connect_from(merged, accepts, port);
    exercise(inter, accepts);
    OK(MPI_Comm_disconnect(&inter));
  }
  OK(MPI_Comm_free(&merged));
}

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  MPI_Init(&argc, &argv);
  CHECK(argc > 2);
  strncpy(program, argv[0], sizeof program - 1);
  OK(MPI_Comm_get_parent(&parent));
  if (strcmp(argv[1], "process") == 0) {
    exercise(parent, 1);
    OK(MPI_Comm_disconnect(&parent));
    return MPI_Finalize();
  }
  const int accepts = strncmp(argv[1], "accept", 6) == 0;
  if (parent != MPI_COMM_NULL) {
    connect_both(parent, 1, accepts, argv[2]);
    children = spawn(MPI_COMM_WORLD, "processes", "process", "-", 2);
    exercise(children, 0);
    OK(MPI_Comm_disconnect(&children));
    OK(MPI_Comm_disconnect(&parent));
    return MPI_Finalize();
  }
  children = spawn(MPI_COMM_WORLD, "here", argv[1], argv[2], 3);
  connect_both(children, 0, accepts, argv[2]);
  OK(MPI_Comm_disconnect(&children));
  return finish();
}
