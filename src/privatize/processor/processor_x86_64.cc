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
constexpr unsigned char kBreakpoint = 0xcc;  // int3, which a debugger has put there
constexpr unsigned char kCall = 0xe8,
                        kJump = 0xe9;  // then the distance from behind the instruction

void (*g_hook)();
void (*g_empty)();

void call_hook() {
  g_hook();
  g_empty();  // so that a debugger's breakpoint there is passed
}

/// Calls f(distance, target) for each place in the dynamic linker's code that looks like a call of
/// a function or a jump to it; `distance` points to 4 bytes.
template <class F>
void for_each_call(F f) {
  const auto base = static_cast<uintptr_t>(_r_debug.r_ldbase);
  const auto* elf = reinterpret_cast<const ElfW(Ehdr)*>(base);
  const auto* segments = reinterpret_cast<const ElfW(Phdr)*>(base + elf->e_phoff);
  for (int i = 0; i < elf->e_phnum; ++i) {
    if (segments[i].p_type != PT_LOAD || !(segments[i].p_flags & PF_X)) continue;
    auto* at = reinterpret_cast<unsigned char*>(base + segments[i].p_vaddr);
    for (const auto* end = at + segments[i].p_memsz; end - at >= 5; ++at) {
      if (*at != kCall && *at != kJump) continue;
      int32_t distance;
      memcpy(&distance, at + 1, sizeof distance);
      f(at + 1, reinterpret_cast<uintptr_t>(at) + 5 + static_cast<uintptr_t>(intptr_t{distance}));
    }
  }
}

/// Writes to code. Its pages stay executable meanwhile: other threads may run it.
bool write_code(void* at, const void* code, size_t bytes) {
  const size_t page = machine_page_bytes();
  const auto low = page_down(reinterpret_cast<uintptr_t>(at), page);
  const size_t size = page_up(reinterpret_cast<uintptr_t>(at) + bytes, page) - low;
  auto* pages = reinterpret_cast<void*>(low);
  if (mprotect(pages, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  memcpy(at, code, bytes);
  return mprotect(pages, size, PROT_READ | PROT_EXEC) == 0;
}

}  // namespace

// The function is one return instruction, and padding up to 16 bytes. A debugger may have put a
// breakpoint in place of the instruction, and restores it when it likes. So the jump to the hook
// begins one byte behind, in the padding, and the dynamic linker's calls of the function, which are
// direct ones, are made to lead there.
bool replace_empty_function(void* empty, void (*hook)()) {
  constexpr size_t kRoom = 16;
  static_assert(1 + fgmpi::processor::kJumpBytes <= kRoom);
  const auto address = reinterpret_cast<uintptr_t>(empty);
  const unsigned char first = *static_cast<unsigned char*>(empty);
  if ((first != kReturn && first != kBreakpoint) || address % kRoom != 0) return false;
  g_hook = hook;
  g_empty = reinterpret_cast<void (*)()>(empty);
  char jump[fgmpi::processor::kJumpBytes];
  write_jump(jump, reinterpret_cast<uintptr_t>(&call_hook));
  if (!write_code(static_cast<char*>(empty) + 1, jump, sizeof jump)) return false;
  bool found = false, written = true;
  for_each_call([&](unsigned char* distance, uintptr_t target) {
    if (target != address) return;
    found = true;
    int32_t longer;
    memcpy(&longer, distance, sizeof longer);
    ++longer;
    written = write_code(distance, &longer, sizeof longer) && written;
  });
  return found && written;
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
