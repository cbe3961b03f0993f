// The threads of this process in the kernel's list: which of them are the library's own, and which
// can do nothing before another thread does something.
//
// Thread rule: any thread; no lock.
#pragma once

#include <cstdint>

namespace fgmpi {

/// Records that the thread with this kernel number is the library's: it never calls MPI for a rank.
void record_library_thread(int id);

/// The calling thread counts as the library's during the life of this object.
class LibraryThread {
 public:
  LibraryThread();
  ~LibraryThread();
  LibraryThread(const LibraryThread&) = delete;
  LibraryThread& operator=(const LibraryThread&) = delete;

 private:
  int id_;
};

/// Records the threads that the process starts during the life of this object: they belong to a
/// library that is called meanwhile (libfabric). Records nothing where the program has threads
/// already, which may start others at the same time.
class RecordNewThreads {
 public:
  RecordNewThreads();
  ~RecordNewThreads();
  RecordNewThreads(const RecordNewThreads&) = delete;
  RecordNewThreads& operator=(const RecordNewThreads&) = delete;

 private:
  bool alone_;
};

/// True when each thread of the process that is not the library's own is one for which `known(id,
/// argument)` returns true, or waits without a time limit for another thread of this process: on a
/// private futex (mutexes, condition variables), or in pthread_join(). *turns is then a hash of how
/// often each waiting thread has slept: two calls with the same hash had all of them asleep at the
/// same time. False also where the kernel does not show this. Costs some ten microseconds a thread.
bool others_wait_for_threads(bool (*known)(int id, void* argument), void* argument,
                             uint64_t* turns);

}  // namespace fgmpi
