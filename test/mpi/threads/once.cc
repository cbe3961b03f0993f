// Waits that the rank itself has to make, while other ranks of the process run: mutexes that belong
// to the thread in the kernel (robust ones, those with priorities), pthread_once and call_once,
// std::call_once and variables that are made when a function is first called. As in waits.c the
// holder goes on only when a token has gone round all ranks.
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "mpitest.h"

namespace {

int g_rank, g_size;

timespec after(clockid_t clock, double seconds) {
  timespec t;
  clock_gettime(clock, &t);
  const long ns = t.tv_nsec + static_cast<long>(seconds * 1e9);
  t.tv_sec += ns / 1'000'000'000;
  t.tv_nsec = ns % 1'000'000'000;
  return t;
}

/// Ends when the token has come from the left.
void receive_token() {
  int token = -1;
  const int left = (g_rank + g_size - 1) % g_size;
  OK(MPI_Recv(&token, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(token == left);
}
void send_token() { OK(MPI_Send(&g_rank, 1, MPI_INT, (g_rank + 1) % g_size, 1, MPI_COMM_WORLD)); }

/// A thread of the rank calls hold(), which calls its argument once it holds the rank up; the rank
/// calls wait().
void go_round(const std::function<void(std::function<void()>)>& hold,
              const std::function<void()>& wait) {
  std::thread thread([&] {
    hold([] {
      OK(MPI_Send(nullptr, 0, MPI_INT, g_rank, 2, MPI_COMM_WORLD));
      receive_token();
    });
  });
  OK(MPI_Recv(nullptr, 0, MPI_INT, g_rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (g_rank == 0) send_token();
  wait();
  if (g_rank != 0) send_token();
  thread.join();
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

void init(pthread_mutex_t* m, int type, int robust, int protocol) {
  pthread_mutexattr_t a;
  CHECK(pthread_mutexattr_init(&a) == 0);
  CHECK(pthread_mutexattr_settype(&a, type) == 0);
  CHECK(pthread_mutexattr_setrobust(&a, robust) == 0);
  CHECK(pthread_mutexattr_setprotocol(&a, protocol) == 0);
  CHECK(pthread_mutex_init(m, &a) == 0);
  CHECK(pthread_mutexattr_destroy(&a) == 0);
}

struct Attributes {
  int robust, protocol;
};
constexpr Attributes kKinds[] = {{PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE},
                                 {PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT},
                                 {PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT}};

void mutexes_of_threads() {
  for (const Attributes& kind : kKinds) {
    pthread_mutex_t m;
    init(&m, PTHREAD_MUTEX_NORMAL, kind.robust, kind.protocol);
    auto hold = [&](const std::function<void()>& held) {
      CHECK(pthread_mutex_lock(&m) == 0);
      held();
      CHECK(pthread_mutex_unlock(&m) == 0);
    };
    auto unlock = [&] { CHECK(pthread_mutex_unlock(&m) == 0); };
    go_round(hold, [&] {
      CHECK(pthread_mutex_lock(&m) == 0);
      unlock();
    });
    go_round(hold, [&] {
      const timespec soon = after(CLOCK_REALTIME, 0.002), late = after(CLOCK_REALTIME, 60);
      int result = pthread_mutex_timedlock(&m, &soon);
      CHECK(result == 0 || result == ETIMEDOUT);
      if (result) CHECK(pthread_mutex_timedlock(&m, &late) == 0);
      unlock();
    });

    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    bool ready = false;
    go_round(
        [&](const std::function<void()>& held) {
          held();
          CHECK(pthread_mutex_lock(&m) == 0);
          ready = true;
          CHECK(pthread_cond_broadcast(&c) == 0);
          CHECK(pthread_mutex_unlock(&m) == 0);
        },
        [&] {
          CHECK(pthread_mutex_lock(&m) == 0);
          const timespec soon = after(CLOCK_REALTIME, 0.002);
          int result = 0;
          while (!ready && result == 0) result = pthread_cond_timedwait(&c, &m, &soon);
          CHECK(ready || result == ETIMEDOUT);
          while (!ready) CHECK(pthread_cond_wait(&c, &m) == 0);
          unlock();
        });
    CHECK(pthread_cond_destroy(&c) == 0);
    CHECK(pthread_mutex_destroy(&m) == 0);
  }
}

/// Ranks of a process share its thread: what one holds is not another's.
void ranks_are_owners() {
  MPI_Comm process;
  int me, count;
  OK(MPI_Comm_split(MPI_COMM_WORLD, static_cast<int>(getpid()), g_rank, &process));
  OK(MPI_Comm_rank(process, &me));
  OK(MPI_Comm_size(process, &count));
  for (const Attributes& kind : kKinds) {
    struct Shared {
      pthread_mutex_t recursive, checking;
      int counter;
    } mine{}, *shared = &mine;
    if (me == 0) {
      init(&mine.recursive, PTHREAD_MUTEX_RECURSIVE, kind.robust, kind.protocol);
      init(&mine.checking, PTHREAD_MUTEX_ERRORCHECK, kind.robust, kind.protocol);
    }
    OK(MPI_Bcast(&shared, sizeof shared, MPI_BYTE, 0, process));
    if (me == 0) {
      CHECK(pthread_mutex_lock(&shared->recursive) == 0);
      CHECK(pthread_mutex_trylock(&shared->recursive) == 0);
      CHECK(pthread_mutex_lock(&shared->checking) == 0);
      CHECK(pthread_mutex_lock(&shared->checking) == EDEADLK);
      const int again = pthread_mutex_trylock(&shared->checking);
      CHECK(again == EBUSY || again == EDEADLK);  // the C library says EDEADLK of a robust one
    }
    OK(MPI_Barrier(process));
    if (me != 0) {
      const timespec soon = after(CLOCK_REALTIME, 0.002);
      CHECK(pthread_mutex_trylock(&shared->recursive) == EBUSY);
      CHECK(pthread_mutex_unlock(&shared->recursive) == EPERM);
      CHECK(pthread_mutex_timedlock(&shared->checking, &soon) == ETIMEDOUT);
      CHECK(pthread_mutex_unlock(&shared->checking) == EPERM);
    }
    OK(MPI_Barrier(process));
    if (me == 0) {
      CHECK(pthread_mutex_unlock(&shared->recursive) == 0);
      CHECK(pthread_mutex_unlock(&shared->recursive) == 0);
      CHECK(pthread_mutex_unlock(&shared->recursive) == EPERM);
      CHECK(pthread_mutex_unlock(&shared->checking) == 0);
    }
    for (int i = 0; i < 10; ++i) {
      int flag;
      CHECK(pthread_mutex_lock(&shared->checking) == 0);
      const int before = shared->counter;
      OK(MPI_Iprobe(MPI_ANY_SOURCE, 77, process, &flag, MPI_STATUS_IGNORE));
      shared->counter = before + 1;
      CHECK(pthread_mutex_unlock(&shared->checking) == 0);
    }
    OK(MPI_Barrier(process));
    CHECK(shared->counter == 10 * count);
    OK(MPI_Barrier(process));
  }
  OK(MPI_Comm_free(&process));
}

/// The second rank of each process ends with a robust mutex: the first one has it next, and learns
/// that. In between MPI_Finalize.
pthread_mutex_t* begin_with_left_mutex(pthread_mutex_t* mine, int* me) {
  MPI_Comm process;
  int count;
  pthread_mutex_t* m = mine;
  OK(MPI_Comm_split(MPI_COMM_WORLD, static_cast<int>(getpid()), g_rank, &process));
  OK(MPI_Comm_rank(process, me));
  OK(MPI_Comm_size(process, &count));
  init(mine, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
  OK(MPI_Bcast(&m, sizeof m, MPI_BYTE, 0, process));
  if (*me == 1) CHECK(pthread_mutex_lock(m) == 0);
  OK(MPI_Barrier(process));
  OK(MPI_Comm_free(&process));
  return count > 1 ? m : nullptr;
}

/// The exit status.
int end_with_left_mutex(pthread_mutex_t* m, int me) {
  if (!m || me != 0) return 0;
  if (pthread_mutex_lock(m) != EOWNERDEAD || pthread_mutex_consistent(m) != 0) return 2;
  if (pthread_mutex_unlock(m) != 0 || pthread_mutex_lock(m) != 0) return 3;
  return pthread_mutex_unlock(m) ? 4 : 0;
}

std::function<void()> g_held;
int g_calls;
void first_call() {
  ++g_calls;
  g_held();
}

int slow_value() {
  first_call();
  return 5;
}
int value_made_once() {
  static const int value = slow_value();
  return value;
}

void functions_called_once() {
  static pthread_once_t posix = PTHREAD_ONCE_INIT;
  static once_flag c11 = ONCE_FLAG_INIT;
  static std::once_flag cxx;
  const std::function<void()> ways[] = {
      [] { CHECK(pthread_once(&posix, first_call) == 0); }, [] { call_once(&c11, first_call); },
      [] { std::call_once(cxx, first_call); }, [] { CHECK(value_made_once() == 5); }};
  for (const auto& way : ways) {
    g_calls = 0;
    go_round(
        [&](std::function<void()> held) {
          g_held = held;
          way();
        },
        [&] {
          way();
          CHECK(g_calls == 1);
        });
    way();
    CHECK(g_calls == 1);
  }

  // A function that throws has not been called.
  static std::once_flag again;
  int tries = 0;
  for (int i = 0; i < 3; ++i) try {
      std::call_once(again, [&] {
        if (++tries < 3) throw std::runtime_error("not yet");
      });
    } catch (const std::runtime_error&) {
    }
  CHECK(tries == 3);
}

}  // namespace

int main(int argc, char** argv) {
  int provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK(provided == MPI_THREAD_MULTIPLE);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &g_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &g_size));
  mutexes_of_threads();
  ranks_are_owners();
  functions_called_once();
  pthread_mutex_t mutex;
  int me;
  pthread_mutex_t* left = begin_with_left_mutex(&mutex, &me);
  const int status = finish();
  return status ? status : end_with_left_mutex(left, me);
}
