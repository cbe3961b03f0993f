# A rank's first thread waits for other threads, at each place at which mpicc -check lets it wait in the library: also for more
# threads than the checker knows, and for those of a library that is not compiled so.
. "$(dirname "$0")/common.sh" "$1"
right() { # right PROGRAM...: has no finding and ends
  for shape in 1:1 2:1 1:3; do
    status 0 -check -n ${shape%:*} -nfg ${shape#*:} "$@"
    grep -q 'fgmpi:' out && fail "$* at $shape: output"
  done
}

cat >many.c <<'END'
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
enum { kThreads = 70 };
static pthread_barrier_t all;
static sem_t semaphore;
static int counted;
static void* post(void* argument) {
  sem_post(&semaphore);
  pthread_barrier_wait(&all);
  return argument;
}
int main(int argc, char** argv) {
  int level;
  pthread_t threads[kThreads];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
#pragma omp parallel num_threads(kThreads)
  for (int i = 0; i < 3; ++i) {
#pragma omp barrier
#pragma omp atomic
    ++counted;
  }
  sem_init(&semaphore, 0, 0);
  pthread_barrier_init(&all, NULL, kThreads + 1);
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, post, NULL);
  for (int i = 0; i < kThreads; ++i) sem_wait(&semaphore);
  pthread_barrier_wait(&all);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  MPI_Finalize();
  return counted != 3 * kThreads;
}
END
"$bin/mpicc" -check -fopenmp -g -w -O1 many.c -o many || fail "many.c"
right ./many

# The posts of a thread of this library are not known; between them all threads wait.
cat >server.c <<'END'
#include <pthread.h>
#include <semaphore.h>
static sem_t asked, done;
static void* serve(void* argument) {
  for (;;) {
    sem_wait(&asked);
    sem_post(&done);
  }
  return argument;
}
sem_t* start_server(sem_t** ask) {
  pthread_t thread;
  sem_init(&asked, 0, 0);
  sem_init(&done, 0, 0);
  pthread_create(&thread, 0, serve, 0);
  *ask = &asked;
  return &done;
}
END
cat >client.c <<'END'
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
sem_t* start_server(sem_t** ask);
static void* receive(void* into) {
  MPI_Recv(into, 1, MPI_INT, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  return into;
}
int main(int argc, char** argv) {
  int level, in = 0, out = 1;
  sem_t* ask;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  pthread_create(&thread, NULL, receive, &in);
  sem_t* done = start_server(&ask);
  for (int i = 0; i < 20; ++i) {
    sem_post(ask);
    sem_wait(done);
  }
  MPI_Send(&out, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
  pthread_join(thread, NULL);
  MPI_Finalize();
  return 0;
}
END
"${CC:-cc}" -shared -fPIC -pthread server.c -o libserver.so || fail "server.c"
"$bin/mpicc" -check -g -w -O1 client.c -o client -L. -lserver -Wl,-rpath,"$PWD" || fail "client.c"
right ./client

# Barriers, latches, semaphores, atomic variables and futures of C++, timed ones among them: a hang is reported with both lines.
cat >waits.cc <<'END'
#include <mpi.h>
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <thread>
static int receive(int tag) {
  int x = 0;
  MPI_Recv(&x, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // receives
  return x;
}
static std::latch latch(1);
static std::barrier both(2);
static std::binary_semaphore semaphore(0);
static std::atomic<int> word(0);
static std::promise<int> promise;
static std::mutex mutex;
static std::condition_variable condition;
static bool there = false;
static void tell() {
  std::lock_guard<std::mutex> guard(mutex);
  there = true;
  condition.notify_one();
}
int main(int argc, char** argv) {
  int level, rank, x = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int way = std::atoi(argv[1]), tag = std::atoi(argv[2]);
  if (rank == 1) MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    std::thread thread([=] {
      const int got = receive(tag);
      if (way == 0) latch.count_down();
      if (way == 1) (void)both.arrive();
      if (way == 2) semaphore.release();
      if (way == 3) word = 1, word.notify_all();
      if (way == 4 || way == 5) promise.set_value(got);
      if (way == 6) tell();
    });
    using std::chrono::milliseconds;
    if (way == 0) latch.wait();  // waits 0
    if (way == 1) both.arrive_and_wait();  // waits 1
    if (way == 2) semaphore.acquire();  // waits 2
    if (way == 3) word.wait(0);  // waits 3
    auto future = promise.get_future();
    if (way == 4) future.wait();  // waits 4
    while (way == 5 && future.wait_for(milliseconds(20)) != std::future_status::ready) continue;  // waits 5
    std::unique_lock<std::mutex> lock(mutex);
    while (way == 6 && !condition.wait_for(lock, milliseconds(20), [] { return there; })) continue;  // waits 6
    lock.unlock();
    thread.join();
  }
  MPI_Finalize();
  return 0;
}
END
"$bin/mpicxx" -check -std=c++20 -g -w -O1 waits.cc -o waits || fail "waits.cc"
for way in 0 1 2 3 4 5 6; do
  for shape in 1:2 2:1; do
    status 0 -check -n ${shape%:*} -nfg ${shape#*:} ./waits $way 0
    grep -q 'fgmpi:' out && fail "way $way at $shape: output"
  done
  for shape in 1:2 2:1; do
    status 86 -check -n ${shape%:*} -nfg ${shape#*:} ./waits $way 9
    for line in "// receives" "// waits $way\$"; do
      grep -q "waits.cc:$(grep -n "$line" waits.cc | cut -d: -f1) " out || fail "way $way at $shape: no line of $line"
    done
  done
done
echo ok
