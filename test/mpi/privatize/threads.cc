// Threads that ranks start see the rank's image in their thread-local variables; handlers that a
// rank gives the C++ runtime are its own.
#include <threads.h>

#include <exception>
#include <memory_resource>
#include <new>
#include <string>
#include <thread>

#include "mpitest.h"

static int rank, size;
static int number = 5;
static thread_local int* to_number = &number;  // relocated: another address in each image
static thread_local std::string text = "initial";
static thread_local int counter = 7;

static void from_thread() {
  CHECK(to_number == &number && *to_number == 5 + rank);
  CHECK(text == "initial" && counter == 7);
  counter += 100;
}

static int from_c_thread(void*) {
  std::thread inner(from_thread);  // started by a thread, not by the rank
  inner.join();
  from_thread();
  return rank;
}

static int calls;
static void no_memory() {
  if (++calls == 2) throw std::bad_alloc();
}
static void ended() {}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(to_number == &number);
  number += rank;
  counter += rank;
  text += std::to_string(rank);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  std::thread thread(from_thread);
  thread.join();
  thrd_t other;
  int result = -1;
  CHECK(thrd_create(&other, from_c_thread, nullptr) == thrd_success);
  CHECK(thrd_join(other, &result) == thrd_success && result == rank);
  CHECK(counter == 7 + rank && text == "initial" + std::to_string(rank));

  std::pmr::monotonic_buffer_resource resource;
  CHECK(std::pmr::get_default_resource() == std::pmr::new_delete_resource());
  CHECK(std::get_new_handler() == nullptr);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  auto before = std::get_terminate();
  if (rank % 3 != 0) {
    std::set_new_handler(no_memory);
    std::set_terminate(ended);
    std::pmr::set_default_resource(&resource);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank % 3 != 0) {
    CHECK(std::get_new_handler() == no_memory && std::get_terminate() == ended);
    CHECK(std::pmr::get_default_resource() == &resource);
    std::size_t far_too_much = static_cast<std::size_t>(-1) / 4;
    try {
      char* volatile p = new char[far_too_much];
      CHECK(p == nullptr);
    } catch (const std::bad_alloc&) {
    }
    CHECK(calls == 2);
  } else {
    CHECK(std::get_new_handler() == nullptr && std::get_terminate() == before && calls == 0);
    CHECK(std::pmr::get_default_resource() == std::pmr::new_delete_resource());
  }
  std::pmr::set_default_resource(nullptr);
  return finish();
}
