/* What the tests of threads share: a rank's threads, each of which runs a function with its
 * number. */
#ifndef FGMPI_TEST_THREADS_H
#define FGMPI_TEST_THREADS_H

#include <pthread.h>

#include "mpitest.h"

enum { kMostThreads = 8 };

/* How many threads a rank has in tests that the shape (TEST_THREADS=N, 1 to 8) tells: 4
 * otherwise. */
static inline int threads_of_shape(void) {
  const char* text = getenv("TEST_THREADS");
  const int threads = text ? atoi(text) : 4;
  CHECK(threads >= 1 && threads <= kMostThreads);
  return threads;
}

typedef void Work(int thread);

typedef struct {
  Work* work;
  int thread;
} Task;

static void* run_task(void* argument) {
  Task* task = argument;
  task->work(task->thread);
  return NULL;
}

/* Runs work(0) to work(threads - 1) in threads of their own and joins them. */
static inline void run_threads(int threads, Work* work) {
  pthread_t handles[kMostThreads];
  Task tasks[kMostThreads];
  for (int t = 0; t < threads; ++t) {
    tasks[t] = (Task){work, t};
    CHECK(pthread_create(&handles[t], NULL, run_task, &tasks[t]) == 0);
  }
  for (int t = 0; t < threads; ++t) CHECK(pthread_join(handles[t], NULL) == 0);
}

static inline void init_threads(int* argc, char*** argv) {
  int provided = -1;
  OK(MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK(provided == MPI_THREAD_MULTIPLE);
}

#endif
