// The site of a call that a binding has made for the program: where the program called the binding.
//
// Unwinding takes a microsecond. But all frames of one function of a binding have one size. So
// the depth of the stack at which the unwinder has found a return address once is read directly
// afterwards, and the result is used if the unwinder has found that site there before. Thread
// rule: any thread of the program; no lock. If threads store at the same time, one value wins or
// is found anew later.
#include <unwind.h>

#include <atomic>

#include "profile/extensions.h"
#include "profile/recorder.h"

namespace fgmpi::report {
namespace {

/// The depth in bytes down to which a return address is searched. Every frame of a program is
/// farther than this from the end of its stack, so the search never reads beyond the stack.
constexpr uint64_t kDeepest = 512;
constexpr size_t kDepths = 256, kKnown = 4096;
constexpr int kMostFrames = 12;  ///< frames in a binding: F08 calls a function in C that calls us

/// What the unwinder has found.
struct FoundCallers {
  /// By a hash of the site in the binding: that site (48 bits) and the depth (16 bits).
  std::atomic<uint64_t> depths[kDepths];
  /// Pairs of a site in the binding and a site in the program as the linker loaded it.
  std::atomic<uint64_t> pairs[kKnown];
};
constinit FoundCallers g_found;

bool in_binding(uint64_t address) { return g_hot.in_binding(address); }

size_t slot_of(uint64_t value, size_t slots) {
  return static_cast<size_t>(value * 0x9e3779b97f4a7c15u >> 40) % slots;
}

uint64_t pair_of(uint64_t place, uint64_t caller) { return place * 0x2545f4914f6cdd1du ^ caller; }

struct Search {
  bool inside = false;  ///< the unwinder has reached the binding
  uint64_t caller = 0;  ///< a return address in the program
  uint64_t at = 0;      ///< its address on the stack
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
  std::atomic<uint64_t>& kept = g_found.depths[slot_of(place, kDepths)];
  const uint64_t depth = kept.load(std::memory_order_relaxed);
  if (depth && depth >> 16 == (place & (~uint64_t{0} >> 16))) {
    const uint64_t caller = *reinterpret_cast<const uint64_t*>(frame + (depth & 0xffff));
    const uint64_t pair = pair_of(place, program_address(caller));
    if (g_found.pairs[slot_of(pair, kKnown)].load(std::memory_order_relaxed) == pair) return caller;
  }
  Search search;
  _Unwind_Backtrace(step, &search);
  if (!search.caller) return place;
  if (search.at - frame <= kDeepest &&
      *reinterpret_cast<const uint64_t*>(search.at) == search.caller) {
    kept.store(place << 16 | (search.at - frame), std::memory_order_relaxed);
    const uint64_t pair = pair_of(place, program_address(search.caller));
    g_found.pairs[slot_of(pair, kKnown)].store(pair, std::memory_order_relaxed);
  }
  return search.caller;
}

}  // namespace fgmpi::report
