// A thread of the process that belongs to no rank: the library must not know of it, so that it is
// the C library's own, and no signal of the program runs on it.
//
// Thread rule: any thread.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <csignal>

namespace fgmpi::checkpoint {

/// Starts a thread that runs until the process ends. Returns false where there is none.
inline bool start_process_thread(void* (*function)(void*), void* argument) {
  void* library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  auto* create = library
                     ? reinterpret_cast<decltype(&pthread_create)>(dlsym(library, "pthread_create"))
                     : nullptr;
  if (!create) return false;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const bool started = create(&thread, &attributes, function, argument) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace fgmpi::checkpoint
