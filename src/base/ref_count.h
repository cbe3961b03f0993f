// RefCount: an intrusive reference count for objects that outlive their handle while something uses
// them (a communicator with messages in flight). 16 bytes; not thread-safe (one thread per
// process).
#pragma once

#include <cstdint>

namespace fgmpi {

struct RefCount {
  void (*destroy)(RefCount*);  ///< called when the last reference is released
  uint32_t references = 1;

  explicit RefCount(void (*d)(RefCount*)) : destroy(d) {}
  void retain() { ++references; }
  void release() {
    if (--references == 0) destroy(this);
  }
};

}  // namespace fgmpi
