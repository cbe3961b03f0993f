// What the sources of libfgmpi-predict.so share.
//
// Thread rule: a rank's thread. The calls of a wrapper may switch to other ranks.
#pragma once

#include <mpi.h>

#include <memory>

#include "meter/meter_calls.h"
#include "predict/hooks.h"
#include "watch/interpose.h"
#include "watch/places.h"

namespace fgmpi::predict {

using findings::from_fortran;

/// The simulator; nullptr until a rank has returned from MPI_Init, and where nothing is predicted.
[[gnu::visibility("hidden")]] extern const PredictionHooks* g_hooks;

/// Does the simulator need the places of calls?
[[gnu::visibility("hidden")]] extern bool g_needs_places;

inline void enter(CallGroup group, const void* from) {
  g_hooks->enter(group, g_needs_places ? findings::place_of(from) : 0);
}

/// A wait for all of these requests, from before the call until end().
class RequestsWait {
 public:
  RequestsWait(int count, const MPI_Request* requests) {
    if (count > kInside) more_ = std::make_unique<uint32_t[]>(static_cast<size_t>(count));
    waited_ = g_hooks->begin_wait(count, requests, numbers());
  }
  void end() { g_hooks->end_wait(waited_, numbers()); }

 private:
  static constexpr int kInside = 16;
  uint32_t* numbers() { return more_ ? more_.get() : inside_; }
  int waited_;
  uint32_t inside_[kInside];
  std::unique_ptr<uint32_t[]> more_;
};

inline int64_t bytes_of(int64_t count, MPI_Datatype type) {
  MPI_Count size = 0;
  g_next.MPI_Type_size_x(type, &size);
  return count * size;
}

}  // namespace fgmpi::predict
