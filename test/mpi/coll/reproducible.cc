// Floating-point results do not depend on the order of arrival: the same reduction, with ranks
// delayed at random before it, gives the same bits; and all ranks get the same.
#include <string.h>

#include <fgmpi.h>

#include "coll_data.h"

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  Random own(static_cast<uint64_t>(rank) + 3);
  for (int count : {1, 5, 400, 20000}) {
    std::vector<double> in, first(static_cast<size_t>(count)), out(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) in.push_back(1.0 / static_cast<double>(1 + (own.next() >> 40)));
    for (int round = 0; round < 6; ++round) {
      for (int k = own.below(4); k > 0; --k) OK(MPIX_Yield());
      OK(MPI_Allreduce(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
      if (round == 0) first = out;
      CHECK(memcmp(first.data(), out.data(), sizeof(double) * static_cast<size_t>(count)) == 0);
      std::vector<double> root = out;
      OK(MPI_Bcast(root.data(), count, MPI_DOUBLE, 0, MPI_COMM_WORLD));
      CHECK(memcmp(root.data(), out.data(), sizeof(double) * static_cast<size_t>(count)) == 0);
    }
  }
  return finish();
}
