// lang_c.c in C++: static objects, exceptions across calls.
#include <mpi.h>

#include <stdexcept>
#include <string>
#include <vector>

static std::vector<std::string> names = {"made before main"};

int main(int argc, char** argv) {
  int rank, size, value, got = -1, flag = 0;
  MPI_Comm dup, half, idup;
  MPI_Request requests[2], request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  value = rank;
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, size - 1, 5, dup);
  if (rank == size - 1) MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, dup, MPI_STATUS_IGNORE);
  MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 6, dup, &requests[0]);
  MPI_Isend(&value, 1, MPI_INT, (rank + 1) % size, 6, dup, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (got != (rank + size - 1) % size) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Comm_idup(dup, &idup, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Ibarrier(idup, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Irecv(&got, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request);
  MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  if (!flag || got != rank) MPI_Abort(MPI_COMM_WORLD, 4);
  try {
    throw std::runtime_error(names.at(0));
  } catch (const std::exception&) {
    MPI_Bcast(&value, 1, MPI_INT, 0, half);
  }
  MPI_Barrier(half);
  MPI_Comm_free(&idup);
  MPI_Comm_free(&half);
  MPI_Comm_free(&dup);
  MPI_Finalize();
  return 0;
}
