/* Divide and conquer over irregular groups: quicksort with one number a rank.
 *
 *   mpiexec -n 2 -nfg 500 quicksort [REPEATS]
 *
 * Each rank has a random number and wants to know its place in the order of all of them. A group
 * broadcasts the number of one member, counts how many are less, and splits into those that are
 * less and those that are greater, which go on by themselves; who has that number is done. So about
 * as many groups are made as there are ranks, each lives for a broadcast and a sum, and who is in
 * it is as random as the numbers.
 *
 * Nobody needs a certain rank in such a group, which MPIX_SYSTEM_RANKED says: then the members are
 * not sorted, the root of the split does not list them, and no process stores who they are.
 * MPI_Comm_split has to do all that. The program does the same both ways, compares the results and
 * prints both times. No variable is global, so that any number of ranks fits into a process
 * (FGMPI_PRIVATIZE=off saves the copies of the program). */
#include <fgmpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t scrambled(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/* The place of `mine` among the numbers of MPI_COMM_WORLD; adds the groups that this rank was
 * in. */
static int place_of(uint64_t mine, int system_ranked, long* memberships) {
  MPI_Comm comm = MPI_COMM_WORLD;
  int before = 0; /* numbers that are known to be less than all of this group */
  for (int depth = 0;; ++depth) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (size == 1) break;
    int root = (int)(scrambled((uint64_t)before * 64 + (uint64_t)depth) % (uint64_t)size);
    uint64_t pivot = mine;
    MPI_Bcast(&pivot, 1, MPI_UINT64_T, root, comm);
    int is_less = mine < pivot, less;
    MPI_Allreduce(&is_less, &less, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm part;
    int color = mine == pivot ? MPI_UNDEFINED : is_less;
    if (system_ranked)
      MPIX_Comm_split(comm, color, MPIX_SYSTEM_RANKED, &part);
    else
      MPI_Comm_split(comm, color, 0, &part);
    if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
    if (!is_less) before += less;
    if (color == MPI_UNDEFINED) return before;
    if (!is_less) ++before; /* the one that all were compared with */
    comm = part;
    ++*memberships;
  }
  if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
  return before;
}

int main(int argc, char** argv) {
  int rank, size, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int repeats = argc > 1 ? atoi(argv[1]) : 5;
  double seconds[2] = {0, 0};
  long memberships[2] = {0, 0};
  for (int i = 0; i < repeats; ++i) {
    uint64_t mine = scrambled((uint64_t)i << 32 | (uint64_t)rank);
    int place[2];
    for (int system_ranked = 0; system_ranked < 2; ++system_ranked) {
      MPI_Barrier(MPI_COMM_WORLD);
      double begin = MPI_Wtime();
      place[system_ranked] = place_of(mine, system_ranked, &memberships[system_ranked]);
      MPI_Barrier(MPI_COMM_WORLD);
      seconds[system_ranked] += MPI_Wtime() - begin;
    }
    wrong |= place[0] != place[1];
    /* Each place is taken once: sums of places and of their squares, modulo 2^64. */
    uint64_t sums[2] = {(uint64_t)place[0], (uint64_t)place[0] * (uint64_t)place[0]}, all[2];
    MPI_Allreduce(sums, all, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    uint64_t n = (uint64_t)size;
    wrong |= all[0] != n * (n - 1) / 2;
    wrong |= all[1] * 6 != (n - 1) * n * (2 * n - 1);
  }
  long groups[2];
  int any_wrong;
  MPI_Reduce(memberships, groups, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&wrong, &any_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%d numbers, sorted %d times%s\n", size, repeats, any_wrong ? ", WRONGLY" : "");
    printf("MPI_Comm_split      %8.3f s, memberships in groups %ld\n", seconds[0], groups[0]);
    printf("MPIX_SYSTEM_RANKED  %8.3f s, memberships in groups %ld, %.2f of the time\n", seconds[1],
           groups[1], seconds[1] / seconds[0]);
  }
  MPI_Finalize();
  return any_wrong;
}
