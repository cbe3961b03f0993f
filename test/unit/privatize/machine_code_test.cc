// Executes what src/privatize/processor/ makes of the processor's instructions.
#include "privatize/processor/machine_code.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/modules.h"

namespace fgmpi::privatize {
namespace {

thread_local int t_variable = 5;

const void* g_return_address = nullptr;

[[gnu::noinline]] void* add_three(void* a, void* b, void* c) {
  g_return_address = __builtin_return_address(0);
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(a) + reinterpret_cast<uintptr_t>(b) +
                                 reinterpret_cast<uintptr_t>(c));
}

void* pointer(uintptr_t number) { return reinterpret_cast<void*>(number); }

/// Calls f(code) for code that returns in the program itself, at most 200 times.
template <class F>
void for_each_return_code(F&& f) {
  find_loaded_module([&](const dl_phdr_info& module) {
    for (const ElfW(Phdr) & segment : segments_of(module)) {
      if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
      const char* begin = reinterpret_cast<const char*>(module.dlpi_addr + segment.p_vaddr);
      const char* end = begin + segment.p_memsz;
      for (int i = 0; i < 200; ++i) {
        const machine::ReturnCode code = machine::find_return_code(begin, end);
        if (!code.at) break;
        f(code);
        begin = static_cast<const char*>(code.at) + 1;
      }
    }
    return true;
  });
}

TEST(MachineCode, CallsReturnThroughOtherCode) {
  uintptr_t calls = 0;
  for_each_return_code([&](const machine::ReturnCode& code) {
    ++calls;
    void* sum = machine::call_returning_at(code, reinterpret_cast<void*>(add_three), pointer(calls),
                                           pointer(2 * calls), pointer(4));
    EXPECT_EQ(sum, pointer(3 * calls + 4));
    EXPECT_EQ(g_return_address, code.at);
  });
  EXPECT_GT(calls, 0u);
}

TEST(MachineCode, NoReturnCodeInZeros) {
  const char zeros[64] = {};
  EXPECT_EQ(machine::find_return_code(zeros, zeros + sizeof zeros).at, nullptr);
  EXPECT_EQ(machine::find_return_code(zeros, zeros).at, nullptr);
}

TEST(MachineCode, AWrittenJumpIsExecuted) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* code = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(code, MAP_FAILED);
  machine::write_jump(static_cast<char*>(code), reinterpret_cast<uintptr_t>(&add_three));
  ASSERT_EQ(mprotect(code, page, PROT_READ | PROT_EXEC), 0);
  auto* jump = reinterpret_cast<void* (*)(void*, void*, void*)>(code);
  EXPECT_EQ(jump(pointer(1), pointer(20), pointer(300)), pointer(321));
  munmap(code, page);
}

int g_changes = 0;

void load_with_hook() {
  auto* empty = reinterpret_cast<void*>(_r_debug.r_brk);
  const bool replaced = machine::replace_empty_function(empty, [] { ++g_changes; });
  const bool loaded = dlopen("libanl.so.1", RTLD_NOW) != nullptr;
  _exit(replaced && loaded && g_changes > 0 ? 0 : 1);
}

TEST(MachineCode, TheLoadersEmptyFunctionCallsAHook) {
  EXPECT_EXIT(load_with_hook(), ::testing::ExitedWithCode(0), "");
}

TEST(MachineCode, OtherFunctionsAreNotReplaced) {
  EXPECT_FALSE(machine::replace_empty_function(reinterpret_cast<void*>(add_three), [] {}));
}

TEST(MachineCode, ThreadLocalsOfTheProgramAreAtTheirPlace) {
  bool inside = false;
  find_loaded_module([&](const dl_phdr_info& module) {
    for (const ElfW(Phdr) & segment : segments_of(module)) {
      if (segment.p_type != PT_TLS) continue;
      const char* place = machine::thread_locals_of_executable(segment);
      EXPECT_EQ(place, module.dlpi_tls_data);
      inside = reinterpret_cast<const char*>(&t_variable) - place <
               static_cast<ptrdiff_t>(segment.p_memsz);
    }
    return true;
  });
  EXPECT_TRUE(inside);
}

uintptr_t g_program_counter = 0, g_stack_pointer = 0;

void return_at_once(int, siginfo_t*, void* data) {
  auto* context = static_cast<ucontext_t*>(data);
  g_program_counter = machine::program_counter(*context);
  g_stack_pointer = machine::stack_pointer(*context);
  machine::return_from_call(context);
}

TEST(MachineCode, ACallThroughABadPointerReturns) {
  struct sigaction ours {
  }, before{};
  ours.sa_sigaction = return_at_once;
  ours.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGSEGV, &ours, &before), 0);
  constexpr uintptr_t kBad = 64;
  void (*volatile bad)() = reinterpret_cast<void (*)()>(kBad);
  bad();
  sigaction(SIGSEGV, &before, nullptr);
  EXPECT_EQ(g_program_counter, kBad);
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  EXPECT_LT(here - g_stack_pointer + 4096, 8192u);
}

}  // namespace
}  // namespace fgmpi::privatize
