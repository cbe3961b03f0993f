/* Rounds of persistent collectives, whose processes wait for each other in every eighth one, while
 * a process fails: those that are left get the error of the broken communicator in this round and
 * in all later ones, and none waits for ever.
 *   rounds COMMUNICATOR ROUND [fail]     0: a duplicate, 1: system-ranked, 2: an intercommunicator
 *                                        of even and odd ranks, 3: one of two halves; the round of
 *                                        it in which the last process is killed; fail: all rounds
 *                                        before fail, too, since the first rank gives another
 *                                        length */
#include <fgmpi.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <vector>

#include "../error_class.h"

namespace {

constexpr int kKinds = 4, kAfterwards = 20, kMostRounds = 400;
int g_rank, g_size;
bool g_fail;

struct Rounds {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request bcast = MPI_REQUEST_NULL, allreduce = MPI_REQUEST_NULL;
  std::vector<int> in, out;
  int broken_for = 0; /* rounds */

  void init(bool first, bool inter) {
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    int rank;
    OK(MPI_Comm_rank(comm, &rank));
    const bool is_root = rank == 0 && first;
    const int n = is_root && g_fail ? 11 : 10, root = !inter || !first ? 0
                                                      : is_root        ? MPI_ROOT
                                                                       : MPI_PROC_NULL;
    in.assign(11, g_rank);
    out = in;
    OK(MPI_Bcast_init(in.data(), n, MPI_INT, root, comm, MPI_INFO_NULL, &bcast));
    OK(MPI_Allreduce_init(in.data(), out.data(), n, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
                          &allreduce));
  }
  /* False: the communicator is broken. */
  bool one(MPI_Request* request) {
    OK(MPI_Start(request));
    const int code = MPI_Wait(request, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) return true;
    if (class_of(code) == MPIX_ERR_PROC_FAILED) return false;
    CHECK(g_fail && class_of(code) == MPI_ERR_TRUNCATE);
    return true;
  }
  void round(bool dies) {
    const bool works = one(&bcast);
    if (dies) kill(getpid(), SIGKILL);
    const bool also = one(&allreduce);
    CHECK(broken_for == 0 || (!works && !also));
    CHECK(works || !also);
    if (!also) ++broken_for;
  }
};

void make(Rounds* all) {
  MPI_Comm local;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &all[0].comm));
  OK(MPIX_Comm_split(MPI_COMM_WORLD, 0, MPIX_SYSTEM_RANKED, &all[1].comm));
  all[0].init(true, false);
  all[1].init(true, false);
  for (int i = 2; i < kKinds; ++i) {
    const int leader = i == 2 ? 1 : (g_size + 1) / 2;
    const bool second = i == 2 ? g_rank % 2 != 0 : g_rank >= leader;
    OK(MPI_Comm_split(MPI_COMM_WORLD, second, 0, &local));
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, second ? 0 : leader, 1, &all[i].comm));
    OK(MPI_Comm_free(&local));
    all[i].init(!second, true);
  }
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &g_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &g_size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const int which = argc > 1 ? atoi(argv[1]) : 0, when = argc > 2 ? atoi(argv[2]) : 0;
  g_fail = argc > 3 && strcmp(argv[3], "fail") == 0;
  Rounds all[kKinds];
  make(all);
  bool over = false;
  for (int round = 0; !over; ++round) {
    CHECK(round < kMostRounds);
    over = true;
    for (int i = 0; i < kKinds; ++i) {
      all[i].round(g_rank == g_size - 1 && i == which && round == when);
      over = over && all[i].broken_for > kAfterwards;
    }
  }
  for (Rounds& r : all) {
    OK(MPI_Request_free(&r.bcast));
    OK(MPI_Request_free(&r.allreduce));
  }
  MPI_Comm left;
  int n, sum = 0, one = 1;
  OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &left));
  OK(MPI_Comm_size(left, &n));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, left));
  CHECK(sum == n);
  if (g_rank == 0) printf("%d of %d ranks are left\n", n, g_size);
  OK(MPI_Finalize());
  return 0;
}
