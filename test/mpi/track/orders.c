/* Duplicates that are begun in one order and seen complete in another at each rank, by every
 * completing call: a tool whose broadcast of a key blocks would wait for ever, one that numbers
 * them as they complete would mix them up. Messages of tag k travel over the k-th duplicate, which
 * has the name "idup k". With 2 ranks or more also duplicates of an intercommunicator. For
 * orders.sh. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kDups = 6 };
static int rank, size;

/* Completes all requests in an order of the rank's own. */
static void complete(MPI_Request* requests, int n) {
  int left = n, which, flag, count, indices[kDups];
  switch (rank % 5) {
    case 0: /* as they were begun */
      for (int i = 0; i < n; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      break;
    case 1: /* the other way round */
      for (int i = n - 1; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      break;
    case 2:
      MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
      break;
    case 3: /* from the middle, by tests */
      while (left > 0)
        for (int i = 0; i < n; ++i) {
          MPI_Request* r = &requests[(i + n / 2) % n];
          if (*r == MPI_REQUEST_NULL) continue;
          MPI_Test(r, &flag, MPI_STATUS_IGNORE);
          left -= flag;
        }
      break;
    default:
      while (left > 0) {
        MPI_Waitany(n, requests, &which, MPI_STATUS_IGNORE);
        --left;
        MPI_Testsome(n, requests, &count, indices, MPI_STATUSES_IGNORE);
        if (count > 0) left -= count;
      }
  }
}

static void use(MPI_Comm comm, int tag, const char* name) {
  int r, n, inter, out = rank, in = -1;
  char text[32];
  MPI_Request request;
  snprintf(text, sizeof text, "%s %d", name, tag);
  MPI_Comm_set_name(comm, text);
  MPI_Comm_rank(comm, &r);
  MPI_Comm_size(comm, &n);
  MPI_Comm_test_inter(comm, &inter);
  if (inter) {
    MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_MAX, comm);
    return;
  }
  MPI_Irecv(&in, 1, MPI_INT, (r + n - 1) % n, tag, comm, &request);
  MPI_Send(&out, 1, MPI_INT, (r + 1) % n, tag, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (in != (r + n - 1) % n) MPI_Abort(MPI_COMM_WORLD, 3);
}

static void duplicate(MPI_Comm parent, const char* name) {
  MPI_Comm dups[kDups];
  MPI_Request requests[kDups];
  for (int i = 0; i < kDups; ++i) MPI_Comm_idup(parent, &dups[i], &requests[i]);
  complete(requests, kDups);
  for (int i = 0; i < kDups; ++i) use(dups[i], i, name);
  for (int i = 0; i < kDups; ++i) MPI_Comm_free(&dups[i]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  duplicate(MPI_COMM_WORLD, "idup");
  if (size > 1) {
    MPI_Comm half, inter;
    const int upper = rank >= size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, upper, -rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? size / 2 - 1 : size - 1, 9, &inter);
    duplicate(inter, "inter");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  MPI_Finalize();
  return 0;
}
