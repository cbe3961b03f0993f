// x86-64: see machine_code.h.

#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/page.h"
#include "privatize/load/real_loader.h"
#include "privatize/processor/machine_code.h"

namespace fgmpi::privatize::machine {

// ---- Registers of code that a signal has interrupted --------------------------------------------

uintptr_t program_counter(const ucontext_t& context) {
  return static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
}

uintptr_t stack_pointer(const ucontext_t& context) {
  return static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
}

void return_from_call(ucontext_t* context) {
  auto& registers = context->uc_mcontext.gregs;
  registers[REG_RIP] = *reinterpret_cast<greg_t*>(registers[REG_RSP]);
  registers[REG_RSP] += sizeof(greg_t);
}

asm(".pushsection .text\n"
    ".type fgmpi_end_of_handler, @function\n"
    ".hidden fgmpi_end_of_handler\n"
    "nop\n"  // a walk along the stack searches the function of the preceding address
    "fgmpi_end_of_handler:\n"
    "  mov $15, %rax\n"
    "  syscall\n"
    ".size fgmpi_end_of_handler, . - fgmpi_end_of_handler\n"
    ".popsection\n");
extern "C" [[gnu::visibility("hidden")]] void fgmpi_end_of_handler();
void (*const kEndOfHandler)() = fgmpi_end_of_handler;
const unsigned long kEndOfHandlerFlag = 0x04000000;

// ---- Thread-local variables ---------------------------------------------------------------------

// The variables of the executable end at the thread pointer.
char* thread_locals_of_executable(const ElfW(Phdr) & tls) {
  const uint64_t alignment = std::max<uint64_t>(tls.p_align, 1);
  const uint64_t below = (tls.p_memsz + alignment - 1) / alignment * alignment;
  return static_cast<char*>(__builtin_thread_pointer()) - below;
}

// ---- Changes of code ----------------------------------------------------------------------------

void write_jump(char* at, uintptr_t target) {
  constexpr unsigned char kJump[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *0(%rip), then the address
  static_assert(sizeof kJump + sizeof target == fgmpi::processor::kJumpBytes);
  memcpy(at, kJump, sizeof kJump);
  memcpy(at + sizeof kJump, &target, sizeof target);
}

namespace {
constexpr unsigned char kReturn = 0xc3;
}

// The function is one return instruction, and padding up to 16 bytes.
bool replace_empty_function(void* empty, void (*hook)()) {
  constexpr size_t kRoom = 16;
  static_assert(fgmpi::processor::kJumpBytes <= kRoom);
  const auto address = reinterpret_cast<uintptr_t>(empty);
  if (*static_cast<unsigned char*>(empty) != kReturn || address % kRoom != 0) return false;
  const size_t bytes = machine_page_bytes();
  auto* page = reinterpret_cast<void*>(page_down(address, bytes));
  // The page stays executable while it is changed: other threads may run its code.
  if (mprotect(page, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  write_jump(static_cast<char*>(empty), reinterpret_cast<uintptr_t>(hook));
  return mprotect(page, bytes, PROT_READ | PROT_EXEC) == 0;
}

// ---- Calls --------------------------------------------------------------------------------------

ReturnCode find_return_code(const char* begin, const char* end) {
  const char* at = std::find(begin, end, static_cast<char>(kReturn));
  return at == end ? ReturnCode{} : ReturnCode{at, 0, false};
}

namespace {

/// Calls function(a, b, c) with `at` as its return address, where a return instruction stands. `at`
/// is pushed twice, so that the stack stays aligned: the return instruction runs twice, and then
/// leads back to the caller.
extern "C" void* fgmpi_call_with_return_at(void* function, void* a, void* b, void* c,
                                           const void* at);
asm(R"(
  .text
  .type fgmpi_call_with_return_at, @function
  .hidden fgmpi_call_with_return_at
fgmpi_call_with_return_at:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  push %r8
  push %r8
  jmp *%rax
  .size fgmpi_call_with_return_at, . - fgmpi_call_with_return_at
)");

}  // namespace

void* call_returning_at(const ReturnCode& code, void* function, void* a, void* b, void* c) {
  return fgmpi_call_with_return_at(function, a, b, c, code.at);
}

[[noreturn]] FGMPI_NOT_SANITIZED void begin_program(uintptr_t entry, const uintptr_t* stack) {
  asm volatile(
      "mov %0, %%rsp\n"
      "xor %%ebp, %%ebp\n"
      "xor %%edx, %%edx\n"
      "jmp *%1\n"
      :
      : "r"(stack), "a"(entry)
      : "memory", "rdx");
  __builtin_unreachable();
}

}  // namespace fgmpi::privatize::machine

// The entry points of the dynamic linker's functions.
#define FGMPI_LOADER_FUNCTION(name, number)   \
  asm(".text\n"                               \
      ".globl " #name                         \
      "\n"                                    \
      ".type " #name ", @function\n" #name    \
      ":\n"                                   \
      ".cfi_startproc\n"                      \
      "  push %rdi\n"                         \
      "  push %rsi\n"                         \
      "  push %rdx\n"                         \
      "  push %rcx\n"                         \
      "  sub $8, %rsp\n"                      \
      ".cfi_adjust_cfa_offset 40\n"           \
      "  mov $" #number                       \
      ", %edi\n"                              \
      "  mov 40(%rsp), %rsi\n"                \
      "  call fgmpi_choose_loader_function\n" \
      "  add $8, %rsp\n"                      \
      "  pop %rcx\n"                          \
      "  pop %rdx\n"                          \
      "  pop %rsi\n"                          \
      "  pop %rdi\n"                          \
      ".cfi_adjust_cfa_offset -40\n"          \
      "  jmp *%rax\n"                         \
      ".cfi_endproc\n"                        \
      ".size " #name ", . - " #name "\n");

FGMPI_LOADER_FUNCTIONS(FGMPI_LOADER_FUNCTION)
