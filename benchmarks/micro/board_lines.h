// Counts transfers of cache lines among simulated processors that run real code.
//
// The code is compiled with -fsanitize=thread, which makes a call of every access; board_lines.cc
// has these calls. Each processor is a coroutine with a clock, and the one whose clock shows least
// goes on. An access to a line that the processor holds is free; else the line is moved, which
// takes one unit:
//
//   load     may be at the same time as loads of others; after the last store has moved the line
//   store    does not stop the processor; others see it when it has the line for itself
//   change   (an atomic read-modify-write) has the line for itself, one processor after the other,
//            and waits for the processor's own stores
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace fgmpi::lines {

/// Runs body(i) on processor i of `count` (at most 64). start(i): where its clock begins. Only
/// accesses to [memory, memory + bytes) count; who holds which line stays from run to run. Returns
/// the time at which the last processor ended.
double run(uint32_t count, char* memory, size_t bytes, const std::function<double(uint32_t)>& start,
           const std::function<void(uint32_t)>& body);
/// Called on a processor: waits until another one has written to a line that this one has read
/// last.
void wait();
/// Called on a processor: the loads that f() makes are under way at the same time, as those of a
/// processor that does not need one for the next.
void at_once(const std::function<void()>& f);
/// No processor holds any line any more.
void forget();

}  // namespace fgmpi::lines
