// 64-bit Arm: see machine_code.h.

#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/page.h"
#include "privatize/libc/openmp_waits.h"
#include "privatize/load/real_loader.h"
#include "privatize/processor/machine_code.h"

namespace fgmpi::privatize {

// libgomp calls the C library's syscall(), which waits.cc interposes.
std::vector<CodePatch> openmp_waits(const ElfModule&) { return {}; }

namespace machine {

// ---- Registers of code that a signal has interrupted --------------------------------------------

namespace {
constexpr int kLinkRegister = 30;
}

uintptr_t program_counter(const ucontext_t& context) { return context.uc_mcontext.pc; }

uintptr_t stack_pointer(const ucontext_t& context) { return context.uc_mcontext.sp; }

void return_from_call(ucontext_t* context) {
  context->uc_mcontext.pc = context->uc_mcontext.regs[kLinkRegister];
}

void (*const kEndOfHandler)() = nullptr;
const unsigned long kEndOfHandlerFlag = 0;

// ---- Thread-local variables ---------------------------------------------------------------------

// The variables of the executable begin behind two words of the C library at the thread pointer.
char* thread_locals_of_executable(const ElfW(Phdr) & tls) {
  const uint64_t alignment = std::max<uint64_t>(tls.p_align, 1);
  const uint64_t above = (2 * sizeof(void*) + alignment - 1) / alignment * alignment;
  return static_cast<char*>(__builtin_thread_pointer()) + above;
}

// ---- Changes of code ----------------------------------------------------------------------------

namespace {

constexpr uint32_t kReturn = 0xd65f03c0;          // ret
constexpr uint32_t kReturnChecking = 0xd65f0bff;  // retaa
constexpr uint32_t kCheckReturn = 0xd50323bf;     // autiasp
constexpr uint32_t kLandingPad = 0xd503245f;      // bti c

void clear_instruction_cache(char* at, size_t bytes) { __builtin___clear_cache(at, at + bytes); }

/// Writes the rest before the first instruction, since other threads may run the code meanwhile.
void replace_code(char* at, const void* code, size_t bytes) {
  constexpr size_t kFirst = sizeof(uint32_t);
  uint32_t first;
  memcpy(&first, code, kFirst);
  memcpy(at + kFirst, static_cast<const char*>(code) + kFirst, bytes - kFirst);
  clear_instruction_cache(at, bytes);
  __atomic_store_n(reinterpret_cast<uint32_t*>(at), first, __ATOMIC_RELEASE);
  clear_instruction_cache(at, kFirst);
}

/// Maps memory for code at most 120 MiB from the address: a branch reaches 128 MiB.
char* map_near(uintptr_t address) {
  constexpr uintptr_t kStep = 64 << 10, kMost = 120 << 20;
  const size_t bytes = machine_page_bytes();
  const uintptr_t middle = address / kStep * kStep;
  for (uintptr_t distance = kStep; distance < kMost; distance += kStep)
    for (const uintptr_t at : {middle - distance, middle + distance}) {
      void* wanted = reinterpret_cast<void*>(at);
      void* code = mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (code == wanted) return static_cast<char*>(code);
      if (code != MAP_FAILED) munmap(code, bytes);  // the kernel does not know the flag
    }
  return nullptr;
}

}  // namespace

void write_jump(char* at, uintptr_t target) {
  struct Jump {
    uint32_t load = 0x58000051;  // ldr x17, . + 8
    uint32_t jump = 0xd61f0220;  // br x17
    uint64_t target;
  } jump;
  static_assert(sizeof jump == fgmpi::processor::kJumpBytes);
  jump.target = target;
  replace_code(at, &jump, sizeof jump);
}

// The function is one return instruction, perhaps behind a landing pad, and another function may
// follow at once. So the instruction is replaced by a branch to a jump nearby.
bool replace_empty_function(void* empty, void (*hook)()) {
  auto* at = static_cast<uint32_t*>(empty);
  if (*at == kLandingPad) ++at;
  if (*at != kReturn) return false;
  const auto from = reinterpret_cast<uintptr_t>(at);
  char* jump = map_near(from);
  if (!jump) return false;
  write_jump(jump, reinterpret_cast<uintptr_t>(hook));
  const size_t bytes = machine_page_bytes();
  auto* page = reinterpret_cast<void*>(page_down(from, bytes));
  // The page stays executable while it is changed: other threads may run its code.
  if (mprotect(jump, bytes, PROT_READ | PROT_EXEC) != 0 ||
      mprotect(page, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    return false;
  const uintptr_t distance = reinterpret_cast<uintptr_t>(jump) - from;
  const uint32_t branch = 0x14000000 | (static_cast<uint32_t>(distance >> 2) & 0x03ffffff);
  replace_code(reinterpret_cast<char*>(at), &branch, sizeof branch);
  return mprotect(page, bytes, PROT_READ | PROT_EXEC) == 0;
}

// ---- Calls --------------------------------------------------------------------------------------

// A return instruction alone would return to itself, since the return address is in a register.
// Behind the end of most functions' frames it does not: ldp x29, x30, [sp], #bytes; ret. The
// address that is loaded may be checked before the return.
ReturnCode find_return_code(const char* begin, const char* end) {
  constexpr uintptr_t kInstruction = sizeof(uint32_t);
  const uintptr_t low =
      (reinterpret_cast<uintptr_t>(begin) + kInstruction - 1) & ~(kInstruction - 1);
  const auto* code = reinterpret_cast<const uint32_t*>(low);
  const auto* last = reinterpret_cast<const uint32_t*>(end) - 2;
  for (; code < last; ++code) {
    const uint32_t bytes = (code[0] >> 15 & 0x7f) * 8;
    if ((code[0] & 0xffc07fff) != 0xa8c07bfd || bytes == 0 || bytes >= 512 || bytes % 16) continue;
    if (code[1] == kReturn) return {code, bytes, false};
    if (code[1] == kReturnChecking || (code[1] == kCheckReturn && code[2] == kReturn))
      return {code, bytes, true};
  }
  return {};
}

namespace {

/// Calls function(a, b, c) with `at` as its return address and a frame for the code there, which
/// leads back to the caller.
extern "C" void* fgmpi_call_with_return_at(void* function, void* a, void* b, void* c,
                                           const void* at, uint64_t frame_bytes, uint64_t checks);
asm(R"(
  .text
  .p2align 2
  .type fgmpi_call_with_return_at, %function
  .hidden fgmpi_call_with_return_at
fgmpi_call_with_return_at:
  cbz x6, 1f
  hint #25
1:
  sub sp, sp, x5
  stp x29, x30, [sp]
  mov x29, sp
  mov x16, x0
  mov x0, x1
  mov x1, x2
  mov x2, x3
  mov x30, x4
  br x16
  .size fgmpi_call_with_return_at, . - fgmpi_call_with_return_at
)");

}  // namespace

void* call_returning_at(const ReturnCode& code, void* function, void* a, void* b, void* c) {
  return fgmpi_call_with_return_at(function, a, b, c, code.at, code.frame_bytes, code.checks);
}

[[noreturn]] FGMPI_NOT_SANITIZED void begin_program(uintptr_t entry, const uintptr_t* stack) {
  register uintptr_t x16 asm("x16") = entry;
  asm volatile(
      "mov sp, %0\n"
      "mov x29, #0\n"
      "mov x30, #0\n"
      "mov x0, #0\n"
      "br x16\n"
      :
      : "r"(stack), "r"(x16)
      : "memory", "x0");
  __builtin_unreachable();
}

}  // namespace machine
}  // namespace fgmpi::privatize

// The entry points of the dynamic linker's functions.
#define FGMPI_LOADER_FUNCTION(name, number) \
  asm(".text\n"                             \
      ".p2align 2\n"                        \
      ".globl " #name                       \
      "\n"                                  \
      ".type " #name ", %function\n" #name  \
      ":\n"                                 \
      ".cfi_startproc\n"                    \
      "  stp x29, x30, [sp, #-48]!\n"       \
      ".cfi_def_cfa_offset 48\n"            \
      ".cfi_offset x29, -48\n"              \
      ".cfi_offset x30, -40\n"              \
      "  mov x29, sp\n"                     \
      "  stp x0, x1, [sp, #16]\n"           \
      "  stp x2, x3, [sp, #32]\n"           \
      "  mov w0, #" #number                 \
      "\n"                                  \
      "  mov x1, x30\n"                     \
      "  bl fgmpi_choose_loader_function\n" \
      "  mov x16, x0\n"                     \
      "  ldp x2, x3, [sp, #32]\n"           \
      "  ldp x0, x1, [sp, #16]\n"           \
      "  ldp x29, x30, [sp], #48\n"         \
      ".cfi_restore x29\n"                  \
      ".cfi_restore x30\n"                  \
      ".cfi_def_cfa_offset 0\n"             \
      "  br x16\n"                          \
      ".cfi_endproc\n"                      \
      ".size " #name ", . - " #name "\n");

FGMPI_LOADER_FUNCTIONS(FGMPI_LOADER_FUNCTION)
