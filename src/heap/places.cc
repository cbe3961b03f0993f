// Walks up the stack from an allocation to the program's own code.
#include "heap/places.h"

#include <unwind.h>

#include <atomic>
#include <cstdint>

#include "heap/running.h"

namespace fgmpi::heap {
namespace {

/// What is known of places: the address, and in the lowest bit whether it is a library's code.
constexpr size_t kKnownPlaces = 4096;
std::atomic<uintptr_t> g_known_places[kKnownPlaces];
/// The walk may allocate.
[[gnu::tls_model("initial-exec")]] thread_local bool t_walks = false;

bool is_library_code(uintptr_t place) {
  auto& known = g_known_places[(place >> 2) % kKnownPlaces];
  const uintptr_t found = known.load(std::memory_order_relaxed);
  if (found >> 1 == place) return found & 1;
  const bool is = g_process.ranks.is_library_code(reinterpret_cast<const void*>(place));
  known.store(place << 1 | (is ? 1 : 0), std::memory_order_relaxed);
  return is;
}

struct PlaceSearch {
  uintptr_t from;
  uintptr_t found = 0;
  bool passed = false;
  int left = 64;  ///< frames: deeper ones are of no use to users
};

_Unwind_Reason_Code visit_frame(_Unwind_Context* context, void* data) {
  auto* search = static_cast<PlaceSearch*>(data);
  const uintptr_t at = _Unwind_GetIP(context);
  if (!at || --search->left == 0) return _URC_END_OF_STACK;
  if (!search->passed) {
    search->passed = at == search->from;
    return _URC_NO_REASON;
  }
  if (is_library_code(at)) return _URC_NO_REASON;
  search->found = at;
  return _URC_END_OF_STACK;
}

}  // namespace

const void* place_of_program(const void* place) {
  const auto from = reinterpret_cast<uintptr_t>(place);
  if (t_walks || !g_process.ranks.is_library_code) return place;
  t_walks = true;
  PlaceSearch search{from};
  if (is_library_code(from)) _Unwind_Backtrace(visit_frame, &search);
  t_walks = false;
  return search.found ? reinterpret_cast<const void*>(search.found) : place;
}

}  // namespace fgmpi::heap
