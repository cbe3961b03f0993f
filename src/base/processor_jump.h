// The jump from one stack to another, which saves what a call need not keep: in line on x86-64, by
// Boost.Context elsewhere.
//
// A context is the stack pointer of a stack that was left; what is needed to go on lies there:
//
//   x86-64:  | float modes | address of the code | rbp |  red zone, 128 bytes  | frames ...
//            context                              + 24                          + 152
//
// All other registers are lost at a jump, so the function that jumps keeps those that its callers
// need in its own frame, as for any call, and unwinders find them there. Boost's function saves all
// of them once more: 24 instructions and a call, where this has 13.
//
// Thread rule: a stack is left and entered by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/processor.h"

#if !defined(__x86_64__)
#include <boost/context/detail/fcontext.hpp>
#endif

namespace fgmpi::processor {

using Context = void*;

#if defined(__x86_64__)

/// Stores the caller's context in *from and goes on where `to` was stored; returns when something
/// jumps back. Keeps the rounding and the exceptions of floating-point numbers. The stack pointer
/// is always below what is still needed, since a signal may come at any time.
[[gnu::always_inline]] inline void jump_to_stack(Context* from, Context to) {
  asm volatile(
      "leaq -152(%%rsp), %%rsp\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "stmxcsr (%%rsp)\n\t"
      "fnstcw 4(%%rsp)\n\t"
      "movq %%rax, 8(%%rsp)\n\t"
      "movq %%rbp, 16(%%rsp)\n\t"
      "movq %%rsp, (%0)\n\t"
      "ldmxcsr (%1)\n\t"
      "fldcw 4(%1)\n\t"
      "movq 8(%1), %%rax\n\t"
      "movq 16(%1), %%rbp\n\t"
      "leaq 152(%1), %%rsp\n\t"
      "jmpq *%%rax\n"
      "1:"
      : "+D"(from), "+S"(to)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
}

/// The context of a stack that ends at `top`, on which kEntry() begins when it is first jumped to.
template <void (*kEntry)()>
Context new_context(void* top, size_t /*bytes*/) {
  struct Frame {
    uint32_t mxcsr, x87_control;
    void (*code)();
    uint64_t rbp;
    uint64_t red_zone[16];
    uint64_t return_address;
  };
  static_assert(sizeof(Frame) == 160);
  // A function begins 8 bytes below a multiple of 16.
  const uint64_t end = reinterpret_cast<uint64_t>(top) & ~uint64_t{15};
  auto* frame = reinterpret_cast<Frame*>(end - sizeof(Frame));
  uint16_t x87_control;
  asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(frame->mxcsr), "=m"(x87_control));
  frame->x87_control = x87_control;
  frame->code = kEntry;
  frame->rbp = frame->return_address = 0;
  return frame;
}

#else

namespace detail {
/// Ends every jump on the other stack: stores the leaver's context where it asked for.
inline void arrived(boost::context::detail::transfer_t t) {
  *static_cast<Context*>(t.data) = t.fctx;
}
template <void (*kEntry)()>
void begin(boost::context::detail::transfer_t t) {
  end_call_stack();
  arrived(t);
  kEntry();
}
}  // namespace detail

inline void jump_to_stack(Context* from, Context to) {
  const FloatMode mode = float_mode();
  detail::arrived(boost::context::detail::jump_fcontext(to, from));
  set_float_mode(mode);
}

template <void (*kEntry)()>
Context new_context(void* top, size_t bytes) {
  return boost::context::detail::make_fcontext(top, bytes, detail::begin<kEntry>);
}

#endif

}  // namespace fgmpi::processor
