// x86-64: changes of libgomp's code where it waits by a system call in line (openmp_waits.h).
//
//   original                            replaced by            stub
//   0f 05         syscall               e9 ...  jmp stub       lea  back(%rip), %rcx
//   48 83 f8 da   cmp $-ENOSYS, %rax    90      nop            jmp  thunk --> fgmpi_openmp_call
//
// The stubs lie between the end of the code and the end of its last page. A system call may change
// rcx, r11 and the flags, and the comparison sets the flags: beside the result, the detour changes
// only these.

#include <cpuid.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <string_view>

#include "base/page.h"
#include "base/raw_call.h"
#include "privatize/internal.h"
#include "privatize/libc/openmp_waits.h"

extern "C" {
/// The stubs jump to this code (assembly below). rax: number of the system call; rdi, rsi, rdx,
/// r10: its arguments; rcx: the address behind the replaced instructions, where libgomp goes on.
__attribute__((visibility("hidden"))) void fgmpi_openmp_call();
__attribute__((visibility("hidden"))) uint8_t fgmpi_openmp_has_xsave = 0;
__attribute__((visibility("hidden"))) long fgmpi_openmp_wait(long word, long operation, long value,
                                                             long timeout) {
  using namespace fgmpi;
  using namespace fgmpi::privatize;
  if (waits_on_futex(word, operation)) return wait_on_futex(word, operation, value, timeout, 0, 0);
  return raw_call(SYS_futex, word, operation, value, timeout);
}
}

// Across its system call libgomp may hold values in the vector registers and below the stack
// pointer, so both are preserved. xsave saves the state of x87, SSE, AVX and AVX-512.
asm(R"(
  .text
  .p2align 4
  .hidden fgmpi_openmp_call
  .globl fgmpi_openmp_call
  .type fgmpi_openmp_call, @function
fgmpi_openmp_call:
  lea -128(%rsp), %rsp
  push %rcx
  cmp $202, %eax
  jne 1f
  test $0x7f, %sil
  jz 2f
1:
  syscall
  jmp 9f
2:
  push %rbp
  mov %rsp, %rbp
  push %rdi
  push %rsi
  push %rdx
  push %r8
  push %r9
  push %r10
  sub $(16 + 2752), %rsp
  and $-64, %rsp
  mov %r10, %rcx
  cmpb $0, fgmpi_openmp_has_xsave(%rip)
  je 3f
  xor %eax, %eax
  mov %rax, 512(%rsp)
  mov %rax, 520(%rsp)
  mov %rax, 528(%rsp)
  mov %rax, 536(%rsp)
  mov %rax, 544(%rsp)
  mov %rax, 552(%rsp)
  mov %rax, 560(%rsp)
  mov %rax, 568(%rsp)
  mov $0xe7, %eax
  xor %edx, %edx
  xsave64 (%rsp)
  mov -24(%rbp), %rdx
  call fgmpi_openmp_wait
  mov %rax, -56(%rbp)
  mov $0xe7, %eax
  xor %edx, %edx
  xrstor64 (%rsp)
  jmp 4f
3:
  fxsave64 (%rsp)
  call fgmpi_openmp_wait
  mov %rax, -56(%rbp)
  fxrstor64 (%rsp)
4:
  mov -56(%rbp), %rax
  lea -48(%rbp), %rsp
  pop %r10
  pop %r9
  pop %r8
  pop %rdx
  pop %rsi
  pop %rdi
  pop %rbp
9:
  pop %rcx
  lea 128(%rsp), %rsp
  cmp $-38, %rax
  jmp *%rcx
  .size fgmpi_openmp_call, . - fgmpi_openmp_call
)");

namespace fgmpi::privatize {
namespace {

constexpr std::string_view kCall{"\x0f\x05\x48\x83\xf8\xda", 6};
constexpr size_t kStub = 12, kThunk = 13;

void append(std::string* code, uint64_t value, size_t bytes) {
  code->append(reinterpret_cast<const char*>(&value), bytes);
}

/// A jump of five bytes at `from`.
std::string jump(uintptr_t from, uintptr_t to) {
  std::string code("\xe9");
  append(&code, to - (from + 5), 4);
  return code;
}

}  // namespace

std::vector<CodePatch> openmp_waits(const ElfModule& module) {
  if (!module.name().starts_with("libgomp.so")) return {};
  unsigned a, b, c = 0, d;
  __get_cpuid(1, &a, &b, &c, &d);
  fgmpi_openmp_has_xsave = (c & bit_OSXSAVE) != 0;
  for (const LoadSegment& s : module.segments()) {
    if (!(s.flags & PF_X) || (s.flags & PF_W)) continue;
    const std::string_view code(reinterpret_cast<const char*>(module.base() + s.low),
                                s.file_end - s.low);
    std::vector<uintptr_t> calls;
    for (size_t at = code.find(kCall); at != code.npos; at = code.find(kCall, at + kCall.size()))
      calls.push_back(s.low + at);
    // The stubs go between the end of the code and the end of its page, where the file has zeros.
    const uintptr_t thunk = (s.file_end + 15) & ~uintptr_t{15};
    const uintptr_t stubs = thunk + 16, end = stubs + calls.size() * kStub;
    if (calls.empty() || s.high != s.file_end || end > page_up(s.file_end, machine_page_bytes()))
      continue;
    const char* gap = reinterpret_cast<const char*>(module.base() + s.file_end);
    if (std::any_of(gap, gap + (end - s.file_end), [](char byte) { return byte != 0; })) continue;

    std::vector<CodePatch> patches;
    std::string added("\x49\xbb", 2);  // movabs $fgmpi_openmp_call, %r11
    append(&added, reinterpret_cast<uintptr_t>(&fgmpi_openmp_call), 8);
    added += "\x41\xff\xe3";  // jmp *%r11
    added.resize(stubs - thunk, '\x90');
    static_assert(kThunk <= 16);
    for (size_t i = 0; i < calls.size(); ++i) {
      const uintptr_t stub = stubs + i * kStub;
      patches.push_back({calls[i], jump(calls[i], stub) + '\x90'});
      added.append("\x48\x8d\x0d", 3);  // lea back(%rip), %rcx
      append(&added, calls[i] + kCall.size() - (stub + 7), 4);
      added += jump(stub + 7, thunk);
    }
    patches.push_back({thunk, std::move(added)});
    return patches;
  }
  return {};
}

}  // namespace fgmpi::privatize
