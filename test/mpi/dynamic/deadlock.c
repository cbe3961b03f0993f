/* Ranks that wait for each other while a group of spawned proclets, or another job, is known:
 *   deadlock proclets              parents and children wait for each other: reported, with both
 *                                  sides' ranks
 *   deadlock limit                 children send more than FGMPI_UNEXPECTED_LIMIT before their
 *                                  parents receive: it gives way
 *   deadlock wait|go FILE          two jobs; one is silent for seconds while the other waits: no
 *                                  report */
#include <string.h>
#include <unistd.h>

#include "meeting.h"

static MPI_Comm spawn_here(const char* program, char* how, int maxprocs) {
  MPI_Comm children;
  MPI_Info info;
  char* arguments[] = {how, NULL};
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "fgmpi_where", "here"));
  OK(MPI_Comm_spawn(program, arguments, maxprocs, info, 0, MPI_COMM_WORLD, &children,
                    MPI_ERRCODES_IGNORE));
  OK(MPI_Info_free(&info));
  return children;
}

/* Each parent receives, late, from each child what does not fit into the limit. */
static void flood(MPI_Comm inter, int child) {
  enum { kMessages = 300, kBytes = 1000 };
  char bytes[kBytes] = "";
  int remote, word = 0;
  OK(MPI_Comm_remote_size(inter, &remote));
  for (int i = 0; child && i < remote; ++i)
    for (int k = 0; k < kMessages; ++k) OK(MPI_Send(bytes, kBytes, MPI_CHAR, i, 1, inter));
  for (int i = 0; child && i < remote; ++i) OK(MPI_Send(&word, 1, MPI_INT, i, 2, inter));
  if (child) return;
  for (int i = 0; i < remote; ++i) OK(MPI_Recv(&word, 1, MPI_INT, i, 2, inter, MPI_STATUS_IGNORE));
  for (int i = 0; i < remote; ++i)
    for (int k = 0; k < kMessages; ++k)
      OK(MPI_Recv(bytes, kBytes, MPI_CHAR, i, 1, inter, MPI_STATUS_IGNORE));
}

static void use(MPI_Comm inter, const char* how, int child) {
  int rank, remote, word = 0;
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_remote_size(inter, &remote));
  if (strcmp(how, "limit") == 0) flood(inter, child);
  if (strcmp(how, "proclets") == 0)
    OK(MPI_Recv(&word, 1, MPI_INT, rank % remote, 5, inter, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  MPI_Comm parent, inter;
  MPI_Init(&argc, &argv);
  CHECK(argc > 1);
  OK(MPI_Comm_get_parent(&parent));
  if (parent != MPI_COMM_NULL) {
    use(parent, argv[1], 1);
    OK(MPI_Comm_disconnect(&parent));
    return MPI_Finalize();
  }
  if (argc > 2) {
    const int waits = strcmp(argv[1], "wait") == 0;
    char port[MPI_MAX_PORT_NAME] = "";
    find_port(waits, argv[2], port);
    inter = meet(waits, port);
    if (!waits) sleep(4); /* the whole process is silent */
    OK(MPI_Barrier(inter));
    if (!waits) sleep(2);
    OK(MPI_Comm_disconnect(&inter));
    return finish();
  }
  int size;
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  inter = spawn_here(argv[0], argv[1], size);
  use(inter, argv[1], 0);
  OK(MPI_Comm_disconnect(&inter));
  return finish();
}
