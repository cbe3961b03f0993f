// Exceptions through three frames in every rank, MPI called inside catch blocks while others throw,
// a rethrow after it, exceptions held in exception_ptr, and a std::exception of the C++ library.
#include <exception>
#include <stdexcept>
#include <string>

#include "mpitest.h"

namespace {

struct Mine : std::runtime_error {
  int rank;
  explicit Mine(int r) : std::runtime_error("of rank " + std::to_string(r)), rank(r) {}
};

int unwound = 0;
struct Guard {
  ~Guard() { ++unwound; }
};

[[gnu::noinline]] void third(int rank) {
  Guard guard;
  if (rank >= 0) throw Mine(rank);
}
[[gnu::noinline]] void second(int rank) {
  Guard guard;
  third(rank);
}
[[gnu::noinline]] void first(int rank) {
  Guard guard;
  second(rank);
}

void in_catch_blocks(int rank, int size, int round) {
  try {
    first(rank);
    CHECK(!"not reached");
  } catch (Mine& e) {
    CHECK(e.rank == rank);
    int got = -1, to = (rank + round + 1) % size, from = (rank + 2 * size - round - 1) % size;
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, to, 1, &got, 1, MPI_INT, from, 1, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    CHECK(got == from);
    CHECK(e.rank == rank && e.what() == "of rank " + std::to_string(rank));
    try {
      OK(MPI_Barrier(MPI_COMM_WORLD));
      throw;
    } catch (std::runtime_error& again) {
      OK(MPI_Barrier(MPI_COMM_WORLD));
      CHECK(dynamic_cast<Mine&>(again).rank == rank);
    }
  }
  CHECK(std::uncaught_exceptions() == 0 && !std::current_exception());
  CHECK(unwound == 3 * (round + 1));
}

}  // namespace

int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (int round = 0; round < 4; ++round) in_catch_blocks(rank, size, round);
  std::exception_ptr kept;
  try {
    (void)std::string("short").at(static_cast<size_t>(rank) + 10);
  } catch (std::out_of_range&) {
    kept = std::current_exception();
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  try {
    std::rethrow_exception(kept);
  } catch (std::out_of_range& e) {
    CHECK(std::string(e.what()).find(std::to_string(rank + 10)) != std::string::npos);
  }
  return finish();
}
