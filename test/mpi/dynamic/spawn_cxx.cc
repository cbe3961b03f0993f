// Spawning from C++, with objects and exceptions around the calls.
#include <stdexcept>
#include <string>
#include <vector>

#include "mpitest.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parent;
  OK(MPI_Comm_get_parent(&parent));
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (parent == MPI_COMM_NULL) {
    MPI_Comm children;
    std::vector<std::string> words{"one", "two words"};
    std::vector<char*> arguments{words[0].data(), words[1].data(), nullptr};
    std::vector<int> codes(3, -1);
    OK(MPI_Comm_spawn(argv[0], arguments.data(), 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                      codes.data()));
    int sum = 0, mine = rank + 1;
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, children));
    CHECK(sum == 30);
    try {
      OK(MPI_Comm_disconnect(&children));
      throw std::runtime_error("after it");
    } catch (const std::exception& e) {
      CHECK(std::string(e.what()) == "after it");
    }
    return finish();
  }
  CHECK(argc == 3 && std::string(argv[2]) == "two words");
  int sum = 0, mine = 10;
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, parent));
  OK(MPI_Comm_disconnect(&parent));
  OK(MPI_Finalize());
  return 0;
}
