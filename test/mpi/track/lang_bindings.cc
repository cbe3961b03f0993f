// lang_c.c in MPI-2's C++ binding, which MPICH still has (libmpichcxx). What is newer than it is
// called as C.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI::Init(argc, argv);
  const int rank = MPI::COMM_WORLD.Get_rank(), size = MPI::COMM_WORLD.Get_size();
  int value = rank, got = -1;
  MPI::Intracomm dup = MPI::COMM_WORLD.Dup(), half = MPI::COMM_WORLD.Split(rank % 2, -rank);
  if (rank == 0) dup.Send(&value, 1, MPI::INT, size - 1, 5);
  if (rank == size - 1) dup.Recv(&got, 1, MPI::INT, MPI::ANY_SOURCE, 5);
  MPI::Request requests[2];
  requests[0] = dup.Irecv(&got, 1, MPI::INT, (rank + size - 1) % size, 6);
  requests[1] = dup.Isend(&value, 1, MPI::INT, (rank + 1) % size, 6);
  MPI::Request::Waitall(2, requests);
  if (got != (rank + size - 1) % size) MPI::COMM_WORLD.Abort(3);
  MPI_Comm newer;
  MPI_Request started;
  MPI_Comm_idup(dup, &newer, &started);
  MPI_Wait(&started, MPI_STATUS_IGNORE);
  MPI_Ibarrier(newer, &started);
  MPI_Wait(&started, MPI_STATUS_IGNORE);
  MPI::Request request = MPI::COMM_SELF.Irecv(&got, 1, MPI::INT, 0, 7);
  MPI::COMM_SELF.Send(&value, 1, MPI::INT, 0, 7);
  if (!request.Test() || got != rank) MPI::COMM_WORLD.Abort(4);
  half.Bcast(&value, 1, MPI::INT, 0);
  half.Barrier();
  MPI::Intracomm idup(newer);
  idup.Free();
  half.Free();
  dup.Free();
  MPI::Finalize();
  return 0;
}
