// What a library that stands in for a part of the C, C++ or unwind runtime comes across: every rank
// throws and catches, in its own code, out of the C++ library, in a callback that MPI calls and in
// a thread; has thread-local variables, memory, and files of its own and of MPI's. Run by
// runtimes.sh with such libraries, and as it is.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "mpitest.h"

namespace {

thread_local int own = 5;
thread_local std::string text = "of a thread";
int global = 7;

struct Mine : std::runtime_error {
  int rank;
  explicit Mine(int r) : std::runtime_error("of rank " + std::to_string(r)), rank(r) {}
};

int unwound;
struct Guard {
  ~Guard() { ++unwound; }
};

[[gnu::noinline]] void fail(int rank) {
  Guard guard;
  if (rank >= 0) throw Mine(rank);
}
[[gnu::noinline]] int depth(int left, int rank) {
  Guard guard;
  if (left == 0) fail(rank);
  return left ? depth(left - 1, rank) + 1 : 0;
}

void throw_and_catch(int rank) {
  unwound = 0;
  try {
    depth(5, rank);
    CHECK(!"not reached");
  } catch (const Mine& e) {
    CHECK(e.rank == rank);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(e.what() == "of rank " + std::to_string(rank));
    try {
      throw;
    } catch (const std::exception& again) {
      CHECK(dynamic_cast<const Mine&>(again).rank == rank);
    }
  }
  CHECK(unwound == 7);
  bool caught = false;
  try {
    (void)std::vector<int>(3).at(static_cast<size_t>(rank) + 3);
  } catch (const std::out_of_range&) {
    caught = true;
  }
  CHECK(caught && !std::current_exception());
}

/// MPI calls it for whichever member comes last.
void add(void* in, void* inout, int* count, MPI_Datatype*) {
  try {
    fail(1);
  } catch (const Mine&) {
    for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
  }
}

void throw_in_callbacks(int rank, int size) {
  MPI_Op op;
  OK(MPI_Op_create(add, 1, &op));
  int sum = 0;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD));
  CHECK(sum == size * (size - 1) / 2);
  MPI_Request request;
  sum = 0;
  OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(sum == size * (size - 1) / 2);
  OK(MPI_Op_free(&op));
}

void use_thread_locals(int rank) {
  own += rank;
  global += rank;
  text += std::to_string(rank);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(own == 5 + rank && global == 7 + rank && text == "of a thread" + std::to_string(rank));
  int in_thread = 0;
  std::thread([&] {
    try {
      in_thread = own++;
      fail(rank);
    } catch (const Mine& e) {
      in_thread += e.rank;
    }
  }).join();
  CHECK(in_thread == 5 + rank && own == 5 + rank);
}

void use_memory(int rank) {
  std::vector<char*> blocks;
  for (size_t i = 0; i < 200; ++i) {
    blocks.push_back(static_cast<char*>(malloc(1 + i * i)));
    memset(blocks.back(), rank, 1 + i * i);
    if (i == 100) OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  for (size_t i = 0; i < 200; ++i) {
    CHECK(blocks[i][i * i] == static_cast<char>(rank));
    blocks[i] = static_cast<char*>(realloc(blocks[i], 10 + i * i));
    CHECK(blocks[i][i * i] == static_cast<char>(rank));
    free(blocks[i]);
  }
  std::string large(100000, 'x');
  large += std::to_string(rank);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(large.substr(100000) == std::to_string(rank));
}

void use_files(int rank, const std::string& folder) {
  const std::string name =
      folder + "/runtimes." + std::to_string(getpid()) + "." + std::to_string(rank);
  std::ofstream(name) << "rank " << rank << "\n";
  OK(MPI_Barrier(MPI_COMM_WORLD));
  FILE* file = fopen(name.c_str(), "r");
  char line[64] = "";
  CHECK(file && fgets(line, sizeof line, file));
  CHECK(line == "rank " + std::to_string(rank) + "\n");
  if (file) fclose(file);
  unlink(name.c_str());
  // A folder cannot be read: the C++ library throws and catches inside.
  std::string word;
  CHECK(!(std::ifstream(folder) >> word));
  int first_pid = getpid();
  OK(MPI_Bcast(&first_pid, 1, MPI_INT, 0, MPI_COMM_WORLD));
  const std::string shared = folder + "/runtimes.shared." + std::to_string(first_pid);
  MPI_File handle;
  OK(MPI_File_open(MPI_COMM_WORLD, shared.c_str(),
                   MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                   &handle));
  OK(MPI_File_write_at_all(handle, rank * static_cast<MPI_Offset>(sizeof rank), &rank, 1, MPI_INT,
                           MPI_STATUS_IGNORE));
  int read = -1;
  OK(MPI_File_read_at_all(handle, rank * static_cast<MPI_Offset>(sizeof rank), &read, 1, MPI_INT,
                          MPI_STATUS_IGNORE));
  CHECK(read == rank);
  OK(MPI_File_close(&handle));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    depth(3, 77);
    CHECK(!"not reached");
  } catch (const Mine& e) {
    CHECK(e.rank == 77);
  }
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  for (int round = 0; round < 2; ++round) throw_and_catch(rank);
  throw_in_callbacks(rank, size);
  use_thread_locals(rank);
  use_memory(rank);
  use_files(rank, argc > 1 ? argv[1] : "/tmp");
  throw_and_catch(rank);
  return finish();
}
