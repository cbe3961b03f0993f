/* Constructions of system-ranked groups that fail: members that ask for other algorithms, degrees
 * or fillers, or are in other collectives. Every member gets the error, and the next construction
 * on the same communicator works. Collectives on the tree whose members do not give the same
 * length: whoever is in it ends, and the next one works.
 *
 *   system_ranked_errors            all of these
 *   system_ranked_errors missing    a rank that does not come: the deadlock report says where the
 *                                   others are
 *   system_ranked_errors address    a receive that nobody sends to, on such a communicator
 *   system_ranked_errors leak       a communicator that is never freed */
#include <fgmpi.h>
#include <string.h>
#include <unistd.h>

#include "mpitest.h"

static int world_rank, world_size, collocated;

static void works(MPI_Comm comm) {
  int rank, size, sum = -1, one = 1;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK(sum == size);
  int value = rank == size - 1 ? 99 : 0;
  OK(MPI_Bcast(&value, 1, MPI_INT, size - 1, comm));
  CHECK(value == 99);
  OK(MPI_Barrier(comm));
}

static MPI_Info info_of(const char* algorithm, const char* k, const char* filler) {
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "fgmpi_system_ranked_algorithm", algorithm));
  OK(MPI_Info_set(info, "fgmpi_system_ranked_k", k));
  OK(MPI_Info_set(info, "fgmpi_system_ranked_filler", filler));
  return info;
}

static void expect(int code, const char* one, const char* other) {
  char text[MPI_MAX_ERROR_STRING];
  int length, class;
  CHECK(code != MPI_SUCCESS);
  OK(MPI_Error_class(code, &class));
  CHECK(class == MPI_ERR_OTHER);
  OK(MPI_Error_string(code, text, &length));
  if (!strstr(text, one) || !strstr(text, other)) {
    fprintf(stderr, "no '%s' and '%s' in: %s\n", one, other, text);
    CHECK(0);
  }
}

/* `odd` gives other options than the rest. Then the right ones, on the same communicator. */
static void disagree(MPI_Comm parent, int odd, int nonblocking, MPI_Info most, MPI_Info his,
                     const char* one, const char* other) {
  MPI_Comm comm = MPI_COMM_SELF;
  MPI_Info info = world_rank == odd ? his : most;
  int code;
  if (nonblocking) {
    MPI_Request request;
    OK(MPIX_Comm_isplit_system_ranked(parent, 0, info, &comm, &request));
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    code = MPIX_Comm_split_system_ranked(parent, 0, info, &comm);
  }
  CHECK(comm == MPI_COMM_NULL);
  expect(code, one, other);
  OK(MPIX_Comm_split_system_ranked(parent, world_rank % 2, most, &comm));
  works(comm);
  OK(MPI_Comm_free(&comm));
}

static void disagreements(MPI_Comm parent) {
  MPI_Info base = info_of("rank_and_hash", "3", "leaf"),
           algorithm = info_of("centralized", "3", "leaf"),
           degree = info_of("rank_and_hash", "4", "leaf"),
           shrink = info_of("shrink_and_balance", "3", "leaf"),
           filler = info_of("shrink_and_balance", "3", "child");
  if (world_size > 1)
    for (int odd = 0; odd < world_size; odd += 1 + world_size / 5)
      for (int nonblocking = 0; nonblocking < 2; ++nonblocking) {
        disagree(parent, odd, nonblocking, base, algorithm, "rank_and_hash with k = 3",
                 "centralized with k = 3");
        disagree(parent, odd, nonblocking, base, degree, "rank_and_hash with k = 3",
                 "rank_and_hash with k = 4");
        disagree(parent, odd, nonblocking, shrink, filler, "leaf fillers", "child fillers");
      }
  OK(MPI_Info_free(&base));
  OK(MPI_Info_free(&algorithm));
  OK(MPI_Info_free(&degree));
  OK(MPI_Info_free(&shrink));
  OK(MPI_Info_free(&filler));
}

/* Two ranks of one process in different collectives. */
static void different_collectives(MPI_Comm parent) {
  if (collocated < 2) return;
  MPI_Comm comm = MPI_COMM_NULL;
  int code = world_rank == world_size - 1 ? MPI_Barrier(parent)
                                          : MPIX_Comm_split(parent, 1, MPIX_SYSTEM_RANKED, &comm);
  expect(code, "MPI_Barrier", "MPIX_Comm_split");
  CHECK(comm == MPI_COMM_NULL);
  OK(MPIX_Comm_split(parent, 1, MPIX_SYSTEM_RANKED, &comm));
  works(comm);
  OK(MPI_Comm_free(&comm));
}

/* What the parent's members see when it is a system-ranked group itself. */
static void on(MPI_Comm parent) {
  OK(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
  disagreements(parent);
  different_collectives(parent);
  OK(MPI_Comm_set_errhandler(parent, MPI_ERRORS_ARE_FATAL));
}

static void lengths(MPI_Comm comm) {
  enum { kMost = 40000 };
  int rank, size;
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  if (size == 1) return;
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  int* in = calloc(kMost, sizeof(int));
  int* out = calloc(kMost, sizeof(int));
  const int pairs[][2] = {{1, 2}, {2, 1}, {1, 0}, {300, 10}, {10, 300}, {kMost, 1}, {1, kMost}};
  for (int i = 0; i < 7; ++i)
    for (int kind = 0; kind < 3; ++kind)
      for (int odd = 0; odd < size; odd += 1 + size / 4) {
        int n = rank == odd ? pairs[i][1] : pairs[i][0], root = (odd + i) % size;
        int code = kind == 0   ? MPI_Bcast(out, n, MPI_INT, root, comm)
                   : kind == 1 ? MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, root, comm)
                               : MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
        int failed = code != MPI_SUCCESS, failures;
        OK(MPI_Allreduce(&failed, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(failures > 0);
        works(comm);
      }
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &world_size));
  OK(MPIX_Get_collocated_size(&collocated));
  const char* what = argc > 1 ? argv[1] : "";
  MPI_Comm comm;
  if (!strcmp(what, "missing")) {
    if (world_rank == world_size - 1) OK(MPI_Recv(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, NULL));
    OK(MPIX_Comm_split(MPI_COMM_WORLD, 0, MPIX_SYSTEM_RANKED, &comm));
  }
  OK(MPIX_Comm_split(MPI_COMM_WORLD, 0, MPIX_SYSTEM_RANKED, &comm));
  if (!strcmp(what, "address")) {
    OK(MPI_Comm_set_name(comm, "picked"));
    int rank, size;
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    OK(MPI_Ssend(NULL, 0, MPI_INT, (rank + 1) % size, 4, comm));
  }
  if (!strcmp(what, "leak")) return finish();
  on(MPI_COMM_WORLD);
  on(comm);
  lengths(comm);
  OK(MPI_Comm_free(&comm));
  return finish();
}
