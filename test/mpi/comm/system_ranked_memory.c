/* What a process keeps of a system-ranked communicator does not grow with its group: after
 * creation, after collectives over its tree, after messages to every rank. After MPI_Comm_group it
 * stores the group, as MPIX_Comm_map_info says. */
#include <fgmpi.h>
#include <string.h>

#include "mpitest.h"

enum {
  kEach = 64,       /* a member's own part */
  kProcess = 1536,  /* a process's: shared part, tree of k = 64 children at most, hash entries */
  kAddresses = 1024 /* addresses that were asked for */
};

static long bytes_beside_members(MPI_Comm comm) {
  MPIX_Map_info info;
  OK(MPIX_Comm_map_info(comm, &info));
  CHECK(info.members > 0);
  return (long)info.process_bytes - (long)kEach * info.members;
}

static int takes_part(int rank) {
  unsigned x = (unsigned)rank * 2654435761u;
  x ^= x >> 15;
  return x % 3 != 0;
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int world_rank, rank, size, collocated;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
  OK(MPIX_Get_collocated_size(&collocated));
  for (int part = 0; part < 2; ++part) {
    int in = part == 0 || takes_part(world_rank);
    MPI_Comm comm;
    OK(MPIX_Comm_split(MPI_COMM_WORLD, in ? 1 : MPI_UNDEFINED, MPIX_SYSTEM_RANKED, &comm));
    if (!in) continue;
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    /* Members here that are no regular series of world ranks are listed: at most 4 bytes each. */
    long limit = kProcess + (part == 0 ? 0 : 4L * collocated);
    CHECK(bytes_beside_members(comm) <= limit);
    int value = 1, sum;
    for (int i = 0; i < 10; ++i) {
      OK(MPI_Barrier(comm));
      OK(MPI_Bcast(&value, 1, MPI_INT, i % size, comm));
      OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
      OK(MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, comm));
    }
    CHECK(bytes_beside_members(comm) <= limit);
    for (int distance = 1; distance < size; ++distance) {
      int got = -1, to = (rank + distance) % size, from = (rank + size - distance) % size;
      OK(MPI_Sendrecv(&rank, 1, MPI_INT, to, 1, &got, 1, MPI_INT, from, 1, comm,
                      MPI_STATUS_IGNORE));
      CHECK(got == from);
    }
    CHECK(bytes_beside_members(comm) <= limit + kAddresses);
    OK(MPI_Barrier(comm));
    MPI_Comm child;
    OK(MPIX_Comm_split(comm, rank % 2, MPIX_SYSTEM_RANKED, &child));
    OK(MPI_Comm_free(&child));
    MPI_Comm copy;
    OK(MPI_Comm_dup(comm, &copy));
    OK(MPI_Barrier(copy));
    CHECK(bytes_beside_members(copy) <= limit + kAddresses);
    OK(MPI_Comm_free(&copy));
    CHECK(bytes_beside_members(comm) <= limit + kAddresses);
    MPIX_Map_info before, after;
    OK(MPIX_Comm_map_info(comm, &before));
    OK(MPI_Barrier(comm)); /* all have looked before one asks for the group */
    MPI_Group group;
    OK(MPI_Comm_group(comm, &group));
    int members;
    OK(MPI_Group_size(group, &members));
    CHECK(members == size);
    OK(MPI_Group_free(&group));
    OK(MPIX_Comm_map_info(comm, &after));
    if (size > collocated) {
      CHECK(!strcmp(before.encoding, "system-ranked tree") || strcmp(before.model, "lut"));
      CHECK(strcmp(after.encoding, "system-ranked tree"));
    }
    OK(MPI_Comm_free(&comm));
  }
  return finish();
}
