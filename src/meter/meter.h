// What the sources of libfgmpi-predict.so share.
//
// Thread rule: a rank's thread. The calls of a wrapper may switch to other ranks.
#pragma once

#include <mpi.h>

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

inline int64_t bytes_of(int64_t count, MPI_Datatype type) {
  MPI_Count size = 0;
  g_next.MPI_Type_size_x(type, &size);
  return count * size;
}

}  // namespace fgmpi::predict
