// The place of a call that a binding has made for the program: where the program called the
// binding.
//
// Unwinding takes a microsecond. The frames of a binding's function have one size, so what the
// unwinder has found once is read from the same depth of the stack afterwards, and believed when
// the unwinder has found that place there before. Thread rule: any thread of the program; no lock.
// What threads store at once is one of both, or not found again.
#include <unwind.h>

#include <atomic>

#include "profile/recorder.h"

namespace fgmpi::report {
namespace {

/// So deep a return address is looked for: no frame of a program lies nearer than that to the end
/// of its stack.
constexpr uint64_t kDeepest = 512;
constexpr size_t kDepths = 256, kKnown = 4096;
constexpr int kMostFrames = 12;  ///< of a binding: F08 calls a function in C that calls us

/// Place in the binding (48 bits) and depth (16 bits), in the slot of the place.
std::atomic<uint64_t> g_depths[kDepths];
/// Pairs of a place in the binding and one in the program, as the linker loaded it.
std::atomic<uint64_t> g_known[kKnown];

bool in_binding(uint64_t address) { return g_hot.in_binding(address); }

size_t slot_of(uint64_t value, size_t slots) {
  return static_cast<size_t>(value * 0x9e3779b97f4a7c15u >> 40) % slots;
}

uint64_t pair_of(uint64_t place, uint64_t caller) { return place * 0x2545f4914f6cdd1du ^ caller; }

uint64_t program_address(uint64_t address) {
  if (!MPIX_Program_address) return address;
  return reinterpret_cast<uint64_t>(MPIX_Program_address(reinterpret_cast<void*>(address)));
}

struct Search {
  bool inside = false;  ///< it has come to the binding
  uint64_t caller = 0;  ///< a return address in the program
  uint64_t at = 0;      ///< where on the stack it is
  int frames = 0;
};

_Unwind_Reason_Code step(_Unwind_Context* context, void* out) {
  auto* search = static_cast<Search*>(out);
  const uint64_t address = _Unwind_GetIP(context);
  if (in_binding(address)) {
    search->inside = true;
  } else if (search->inside) {
    search->caller = address;
    search->at = _Unwind_GetCFA(context) - sizeof(uint64_t);
    return _URC_END_OF_STACK;
  }
  return ++search->frames < kMostFrames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

uint64_t caller_of_binding(uint64_t place, uint64_t frame) {
  std::atomic<uint64_t>& kept = g_depths[slot_of(place, kDepths)];
  const uint64_t depth = kept.load(std::memory_order_relaxed);
  if (depth && depth >> 16 == (place & (~uint64_t{0} >> 16))) {
    const uint64_t caller = *reinterpret_cast<const uint64_t*>(frame + (depth & 0xffff));
    const uint64_t pair = pair_of(place, program_address(caller));
    if (g_known[slot_of(pair, kKnown)].load(std::memory_order_relaxed) == pair) return caller;
  }
  Search search;
  _Unwind_Backtrace(step, &search);
  if (!search.caller) return place;
  if (search.at - frame <= kDeepest &&
      *reinterpret_cast<const uint64_t*>(search.at) == search.caller) {
    kept.store(place << 16 | (search.at - frame), std::memory_order_relaxed);
    const uint64_t pair = pair_of(place, program_address(search.caller));
    g_known[slot_of(pair, kKnown)].store(pair, std::memory_order_relaxed);
  }
  return search.caller;
}

}  // namespace fgmpi::report
