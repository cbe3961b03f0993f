// C++ with exceptions in flight: ranks are in MPI while they handle exceptions, in destructors that unwinding runs, and
// while an exception is kept for later (std::exception_ptr).
#include <mpi.h>

#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int g_rank, g_size;

// Its destructor communicates, also where an exception has ended its block.
class Exchange {
 public:
  Exchange(long value, long* sum) : value_(value), sum_(sum) {}
  ~Exchange() {
    long got = 0;
    MPI_Sendrecv(&value_, 1, MPI_LONG, (g_rank + 1) % g_size, 1, &got, 1, MPI_LONG,
                 (g_rank + g_size - 1) % g_size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    *sum_ += got * (std::uncaught_exceptions() + 1);
  }

 private:
  long value_;
  long* sum_;
};

class Fault : public std::runtime_error {
 public:
  Fault(const std::string& what, long value) : std::runtime_error(what), value(value) {}
  long value;
};

void descend(int depth, long* sum) {
  const Exchange here(depth + g_rank, sum);
  if (depth == 0) throw Fault("bottom of rank " + std::to_string(g_rank), g_rank);
  descend(depth - 1, sum);
}

long handle(int round) {
  long sum = 0, all = 0;
  try {
    descend(3, &sum);
  } catch (const Fault& fault) {
    MPI_Allreduce(&fault.value, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    try {
      if (round % 2) throw std::logic_error("inner " + std::to_string(round));
      throw;
    } catch (const std::exception& again) {
      MPI_Barrier(MPI_COMM_WORLD);
      sum += static_cast<long>(std::string(again.what()).size());
    }
    sum += all;
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &g_size);
  std::map<std::string, std::vector<long>> table;
  std::vector<std::exception_ptr> kept;
  std::ostringstream text;
  for (int round = 0; round < 40; ++round) {
    table["row " + std::to_string(round % 5)].push_back(handle(round));
    kept.push_back(std::make_exception_ptr(Fault("kept", round)));
    if (round % 10 < 9) continue;
    long own = 0, all = 0;
    for (const auto& exception : kept) try {
        std::rethrow_exception(exception);
      } catch (const Fault& fault) {
        own += fault.value;
        if (fault.value % 8 == 0) MPI_Barrier(MPI_COMM_WORLD);
      }
    for (const auto& [name, row] : table)
      for (const long value : row) own += value;
    MPI_Reduce(&own, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    text << "round " << round << ": " << all << '\n';
    if (g_rank == 0) std::cout << text.str() << std::flush;
    text.str("");
  }
  MPI_Finalize();
}
