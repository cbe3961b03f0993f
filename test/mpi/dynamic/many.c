/* Many jobs connect with one at once:  many accept FILE JOBS | many connect FILE. The one keeps all of them connected, talks with
 * all, and together with the first it connects with the second: a communicator that three jobs are
 * in. */
#include <string.h>

#include "meeting.h"

#define MOST 16

static void swap(MPI_Comm inter, int word) {
  int rank, remote, sum = -1, mine = word;
  OK(MPI_Comm_rank(inter, &rank));
  OK(MPI_Comm_remote_size(inter, &remote));
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter));
  CHECK(sum % remote == 0);
}

/* Collective over both sides of two connections of one job: that one's merge with the first
 * connects with the second. */
static void join_third(MPI_Comm merged, const char* port, int accepts) {
  MPI_Comm inter, all;
  int size, sum, one = 1;
  if (accepts)
    OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, merged, &inter));
  else
    OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, merged, &inter));
  OK(MPI_Intercomm_merge(inter, !accepts, &all));
  OK(MPI_Comm_size(all, &size));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all));
  CHECK(sum == size);
  OK(MPI_Comm_free(&all));
  OK(MPI_Comm_disconnect(&inter));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc > 2);
  const int accepts = strcmp(argv[1], "accept") == 0, jobs = accepts ? atoi(argv[3]) : 1;
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter[MOST], merged;
  int rank, number;
  CHECK(jobs <= MOST);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  find_port(accepts, argv[2], port);
  for (int k = 0; k < jobs; ++k) inter[k] = meet(accepts, port);
  for (int k = jobs - 1; k >= 0; --k) { /* each learns which one it is */
    number = k;
    OK(MPI_Bcast(&number, 1, MPI_INT, accepts ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0,
                 inter[k]));
  }
  for (int k = 0; k < jobs; ++k) swap(inter[k], 7);
  if (accepts || number == 0) {
    OK(MPI_Intercomm_merge(inter[0], !accepts, &merged));
    join_third(merged, port, 1);
    OK(MPI_Comm_disconnect(&merged));
  }
  if (!accepts && number == 1) join_third(MPI_COMM_WORLD, port, 0);
  for (int k = 0; k < jobs; ++k) OK(MPI_Comm_disconnect(&inter[k]));
  return finish();
}
