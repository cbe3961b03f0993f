// As waits.c, for what the C++ library waits with, which sleeps on futexes without the pthread
// functions.
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <functional>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>

#include "mpitest.h"

namespace {

int g_rank, g_size;

/// The rank calls wait() while a thread of its own receives the token and calls release().
void go_round(const std::function<void()>& release, const std::function<void()>& wait) {
  const int left = (g_rank + g_size - 1) % g_size, right = (g_rank + 1) % g_size;
  std::thread thread([&] {
    int token = -1;
    OK(MPI_Recv(&token, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(token == left);
    release();
  });
  if (g_rank == 0) OK(MPI_Send(&g_rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD));
  wait();
  if (g_rank != 0) OK(MPI_Send(&g_rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD));
  thread.join();
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  int provided;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK(provided == MPI_THREAD_MULTIPLE);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &g_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &g_size));

  for (int i = 0; i < 3; ++i) {
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    go_round([&] { promise.set_value(5); }, [&] { CHECK(future.get() == 5); });

    std::promise<void> timed;
    std::future<void> timed_future = timed.get_future();
    go_round([&] { timed.set_value(); },
             [&] {
               while (timed_future.wait_for(1ms) != std::future_status::ready) {
               }
             });

    std::counting_semaphore<4> semaphore(0);
    go_round([&] { semaphore.release(2); }, [&] { semaphore.acquire(), semaphore.acquire(); });
    go_round([&] { semaphore.release(); }, [&] { CHECK(semaphore.try_acquire_for(60s)); });

    std::latch latch(2);
    go_round([&] { latch.count_down(); }, [&] { latch.arrive_and_wait(); });

    std::barrier<> barrier(2);
    go_round([&] { barrier.arrive_and_wait(); }, [&] { barrier.arrive_and_wait(); });

    std::atomic<int> number{0};
    go_round([&] { number = 1, number.notify_one(); }, [&] { number.wait(0); });
    std::atomic<long> wide{0};
    go_round([&] { wide = 1, wide.notify_all(); }, [&] { wide.wait(0); });
    std::atomic_flag flag;
    go_round([&] { flag.test_and_set(), flag.notify_all(); }, [&] { flag.wait(false); });

    std::recursive_timed_mutex recursive;
    std::condition_variable_any any;
    bool ready = false;
    go_round(
        [&] {
          std::lock_guard guard(recursive);
          ready = true;
          any.notify_all();
        },
        [&] {
          std::unique_lock guard(recursive);
          any.wait(guard, [&] { return ready; });
        });

    std::mutex mutex;
    std::condition_variable condition;
    ready = false;
    go_round(
        [&] {
          std::lock_guard guard(mutex);
          ready = true;
          condition.notify_one();
        },
        [&] {
          std::unique_lock guard(mutex);
          CHECK(condition.wait_for(guard, 60s, [&] { return ready; }));
        });

    std::shared_timed_mutex shared;
    std::latch held(2);
    std::thread reader([&] {
      std::shared_lock lock(shared);
      held.arrive_and_wait();
      MPI_Recv(nullptr, 0, MPI_INT, g_rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });
    held.arrive_and_wait();
    go_round([&] { OK(MPI_Send(nullptr, 0, MPI_INT, g_rank, 2, MPI_COMM_WORLD)); },
             [&] { std::unique_lock lock(shared); });
    reader.join();
  }
  return finish();
}
