// The threads of this process as the kernel lists them: which of them are the library's own, and
// which can do nothing before another one does something.
//
// Thread rule: any thread; no lock.
#pragma once

#include <cstdint>

namespace fgmpi {

/// The thread with this number of the kernel's is the library's: it never calls MPI for a rank.
void record_library_thread(int id);

/// The calling thread is the library's during the life of this object.
class LibraryThread {
 public:
  LibraryThread();
  ~LibraryThread();
  LibraryThread(const LibraryThread&) = delete;
  LibraryThread& operator=(const LibraryThread&) = delete;

 private:
  int id_;
};

/// While an object of this class lives, the threads that the process begins are those of a library
/// that is called then (libfabric): at its end they are recorded. Nothing is where the program has
/// threads already, which may begin others meanwhile.
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
/// argument)` says yes, or waits without a time limit for another thread of this process: on a
/// private futex (mutexes, condition variables), or in pthread_join(). *turns is then a hash of how
/// often each of the latter has slept: two calls that give the same had all of them asleep at the
/// same time. False also where the kernel does not say. Costs some ten microseconds a thread.
bool others_wait_for_threads(bool (*known)(int id, void* argument), void* argument,
                             uint64_t* turns);

}  // namespace fgmpi
