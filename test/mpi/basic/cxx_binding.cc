// The C++ binding: calls through classes, errors as exceptions, error handlers and operations
// written in C++.
#include <mpi.h>

#include <cstdlib>
#include <iostream>

namespace {

#define CHECK(cond)                                                             \
  do {                                                                          \
    if (!(cond)) {                                                              \
      std::cerr << __FILE__ << ":" << __LINE__ << ": expected was " #cond "\n"; \
      MPI::COMM_WORLD.Abort(1);                                                 \
    }                                                                           \
  } while (0)

int g_handled, g_size;

void note(MPI::Comm& comm, int* code, ...) {
  ++g_handled;
  g_size = comm.Get_size();
  CHECK(MPI::Get_error_class(*code) == MPI_ERR_RANK);
}

void maximum(const void* in, void* inout, int count, const MPI::Datatype&) {
  const int* a = static_cast<const int*>(in);
  int* b = static_cast<int*>(inout);
  for (int i = 0; i < count; ++i)
    if (a[i] > b[i]) b[i] = a[i];
}

void throws_three_times() {
  int x = 0, caught = 0;
  for (int i = 0; i < 3; ++i) {
    try {
      MPI::COMM_WORLD.Send(&x, 1, MPI::INT, 1 << 28, 0);
    } catch (MPI::Exception& e) {
      caught += e.Get_error_class() == MPI_ERR_RANK;
      MPI::COMM_WORLD.Barrier();  // others handle theirs meanwhile
    }
  }
  CHECK(caught == 3);
}

}  // namespace

int main(int argc, char** argv) {
  MPI::Init(argc, argv);
  const int rank = MPI::COMM_WORLD.Get_rank(), size = MPI::COMM_WORLD.Get_size();
  MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
  throws_three_times();
  MPI::Errhandler handler = MPI::Comm::Create_errhandler(note);
  MPI::COMM_WORLD.Set_errhandler(handler);
  int x = rank;
  MPI::COMM_WORLD.Send(&x, 1, MPI::INT, size, 0);
  CHECK(g_handled == 1 && g_size == size);
  MPI::COMM_WORLD.Call_errhandler(MPI_ERR_RANK);
  CHECK(g_handled == 2);
  handler.Free();
  MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_ARE_FATAL);

  MPI::Op op;
  op.Init(maximum, true);
  int most = -1;
  MPI::COMM_WORLD.Allreduce(&rank, &most, 1, MPI::INT, op);
  CHECK(most == size - 1);
  op.Free();
  MPI::Intracomm half = MPI::COMM_WORLD.Split(rank % 2, rank);
  int total = 0;
  half.Allreduce(&rank, &total, 1, MPI::INT, MPI::SUM);
  int members = half.Get_size();
  CHECK(total == members * (members - 1) + rank % 2 * members);
  half.Free();
  MPI::COMM_WORLD.Barrier();
  if (rank == 0) std::cout << " No Errors" << std::endl;
  MPI::Finalize();
}
