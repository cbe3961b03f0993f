// LibraryCall: marks calls of a library of the system that may install handlers of signals, such as
// a provider of libfabric. Such handlers are no rank's: while a LibraryCall lives, src/privatize
// hands what the calling thread installs to the kernel unchanged.
//
// Thread rule: any thread; each has its own mark. Nothing here switches.
#pragma once

namespace fgmpi {

inline constinit thread_local bool g_in_library_call = false;

class LibraryCall {
 public:
  LibraryCall() : before_(g_in_library_call) { g_in_library_call = true; }
  ~LibraryCall() { g_in_library_call = before_; }
  LibraryCall(const LibraryCall&) = delete;

 private:
  const bool before_;
};

}  // namespace fgmpi
