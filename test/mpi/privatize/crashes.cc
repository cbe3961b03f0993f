// Ends badly in rank 3, in the way its argument says; run by crashes.sh.
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "mpitest.h"

int* nowhere;

namespace inner {
[[gnu::noinline]] void crash_here(int value) { *static_cast<volatile int*>(nowhere) = value; }
void (*volatile callback)();
[[gnu::noinline]] int call_nothing() {
  callback();
  return 1;
}
}  // namespace inner

[[gnu::noinline]] int recurse(int depth) {
  char frame[512];
  std::memset(frame, depth, sizeof frame);
  asm volatile("" : : "r"(frame) : "memory");
  return depth == 0 ? 0 : recurse(depth - 1) + frame[depth % 512];
}

[[gnu::noinline]] int large_frame() {
  char frame[80 << 20];  // more than any default stack
  asm volatile("" : : "r"(frame) : "memory");
  MPI_Barrier(MPI_COMM_WORLD);
  return frame[5];
}

int keep_lock(dl_phdr_info*, size_t, void* held) {
  static_cast<std::atomic<bool>*>(held)->store(true);
  for (;;) pause();
}

/// Aborts while a thread keeps the lock of the list of modules, which a look at the stack takes.
[[noreturn]] void abort_with_lock() {
  static std::atomic<bool> held = false;
  std::thread([] { dl_iterate_phdr(keep_lock, &held); }).detach();
  while (!held) usleep(1000);
  std::abort();
}

/// A handler as of programs that report their faults themselves, such as Python's faulthandler.
struct sigaction before;
void raise_again(int signal_number) {
  sigaction(signal_number, &before, nullptr);
  std::raise(signal_number);
}
void report_by_handler() {
  struct sigaction action {};
  action.sa_handler = raise_again;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGSEGV, &action, &before);
}

int main(int argc, char** argv) {
  int rank;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const char* how = argc > 1 ? argv[1] : "";
  if (rank == 3) {
    if (!std::strcmp(how, "segv")) inner::crash_here(1);
    if (!std::strcmp(how, "raise")) report_by_handler(), inner::crash_here(1);
    if (!std::strcmp(how, "call")) inner::call_nothing();
    if (!std::strcmp(how, "overflow")) return recurse(1000000);
    if (!std::strcmp(how, "frame")) return large_frame();
    if (!std::strcmp(how, "abort")) std::abort();
    if (!std::strcmp(how, "lock")) abort_with_lock();
    if (!std::strcmp(how, "throw")) throw std::runtime_error("nobody catches this");
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return finish();
}
