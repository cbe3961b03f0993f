// What the sources of libfgmpi-rewind.so share.
//
// Thread rule: a rank's thread. The calls of a wrapper may switch to other ranks.
#pragma once

#include <mpi.h>

#include "rewind/hooks.h"
#include "tape/tape_calls.h"
#include "watch/interpose.h"
#include "watch/places.h"

namespace fgmpi::rewind {

using findings::from_fortran;

/// The library's side; nullptr until a rank has called MPI, and where nothing is recorded.
[[gnu::visibility("hidden")]] extern const RewindHooks* g_hooks;
/// Lets calls go to the checker's wrappers, where it has some, behind their events.
void fill_checked(void* (*find)(const char* name));
/// Looks for the library's side. Returns false where there is none.
bool find_hooks();

inline void record_call(const CallBegun& call) {
  if (g_hooks || find_hooks()) g_hooks->count_call(call);
}

/// Is true while events are listed, which the program does not notice.
inline bool lists_events() { return __builtin_expect(g_hooks && *g_hooks->lists, 0); }
inline void add_detail(const CallDetail& detail) { g_hooks->add_detail(detail); }

}  // namespace fgmpi::rewind
