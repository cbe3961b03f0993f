/* How a rank ends, for ends.sh:
 *   ends MODE [RANK [waits]]
 * MODE: return (with status 5), exit (3), _exit (3), zero (exit(0)), abort (7), kill, deadlock, or
 * a word of letters, done in turn: s a session with a communicator, i MPI_Init, f MPI_Finalize, a
 * an attribute of MPI_COMM_SELF whose delete function makes a communicator. RANK: who does so, the
 * others go on to MPI_Finalize (all where it is left out). "waits": the others wait for a message
 * that nobody sends. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int make_late(MPI_Comm comm, int keyval, void* value, void* extra) {
  MPI_Comm late;
  (void)comm, (void)keyval, (void)value, (void)extra;
  MPI_Comm_dup(MPI_COMM_WORLD, &late);
  MPI_Barrier(late);
  return MPI_Comm_free(&late);
}

static void session(void) {
  MPI_Session s;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &s);
  MPI_Group_from_session_pset(s, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "ends", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&s);
}

static void letters(const char* steps) {
  for (; *steps; ++steps) {
    int keyval;
    if (*steps == 's') session();
    if (*steps == 'i') MPI_Init(NULL, NULL);
    if (*steps == 'f') MPI_Finalize();
    if (*steps != 'a') continue;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, make_late, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
  }
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "return";
  const int who = argc > 2 ? atoi(argv[2]) : -1;
  int rank, size, one = 1, sum = 0;
  MPI_Comm dup, half;
  if (strspn(mode, "sifa") == strlen(mode)) {
    letters(mode);
    return 0;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_split(dup, rank % 2, -rank, &half);
  for (int i = 0; i < 10; ++i) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup);
  MPI_Barrier(MPI_COMM_WORLD);
  if (who < 0 || rank == who) {
    if (strcmp(mode, "return") == 0) return 5;
    if (strcmp(mode, "exit") == 0) exit(3);
    if (strcmp(mode, "_exit") == 0) _exit(3);
    if (strcmp(mode, "zero") == 0) exit(0);
    if (strcmp(mode, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(mode, "kill") == 0) kill(getpid(), SIGKILL);
    if (strcmp(mode, "deadlock") == 0)
      MPI_Recv(&one, 1, MPI_INT, (rank + 1) % size, 99, dup, MPI_STATUS_IGNORE);
  }
  if (argc > 3) MPI_Recv(&one, 1, MPI_INT, MPI_ANY_SOURCE, 99, dup, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
