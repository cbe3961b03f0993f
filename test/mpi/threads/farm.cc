// Tasks of std::async and std::thread that call MPI, and hand results on by std::future.
#include <future>
#include <numeric>
#include <thread>
#include <vector>

#include "mpitest.h"

namespace {

int g_rank, g_size;

/// Asks the next rank's server for n squared.
int ask(int n) {
  int answer = -1, to = (g_rank + 1) % g_size;
  MPI_Request request;
  OK(MPI_Irecv(&answer, 1, MPI_INT, to, 1000 + n, MPI_COMM_WORLD, &request));
  OK(MPI_Send(&n, 1, MPI_INT, to, 1, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return answer;
}

void serve() {
  for (;;) {
    int n;
    MPI_Status status;
    OK(MPI_Recv(&n, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status));
    if (n < 0) return;
    int square = n * n;
    OK(MPI_Send(&square, 1, MPI_INT, status.MPI_SOURCE, 1000 + n, MPI_COMM_WORLD));
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK(provided == MPI_THREAD_MULTIPLE);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &g_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &g_size));
  std::thread server(serve);
  int sum = 0;
  for (int batch = 0; batch < 5; ++batch) {
    std::vector<std::future<int>> results;
    for (int i = 0; i < 8; ++i)
      results.push_back(std::async(std::launch::async, ask, batch * 8 + i));
    for (auto& r : results) sum += r.get();
  }
  int expected = 0;
  for (int i = 0; i < 40; ++i) expected += i * i;
  CHECK(sum == expected);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  int end = -1;
  OK(MPI_Send(&end, 1, MPI_INT, g_rank, 1, MPI_COMM_WORLD));
  server.join();
  return finish();
}
