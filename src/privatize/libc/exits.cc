// How a rank ends: exit() and similar functions, and the handlers that they run.
//
// Handlers registered by the program (its code or an image of it) belong to the rank that
// registered them and run on its proclet, newest first. Handlers of shared libraries belong to the
// process; the C library runs them. Where ranks share the program's globals, destructors of its
// objects run at the end of the process.
#include <err.h>
#include <errno.h>
#include <error.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/clock.h"
#include "base/modules.h"
#include "base/raw_call.h"
#include "privatize/image/images.h"
#include "privatize/image/slot_record.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/libc/blocked_calls.h"
#include "privatize/libc/handlers.h"
#include "privatize/libc/output.h"
#include "privatize/libc/waits.h"
#include "privatize/load/guests.h"
#include "privatize/load/plugins.h"
#include "privatize/load/rank_heaps.h"
#include "privatize/load/rank_leaks.h"
#include "privatize/load/visitors.h"
#include "proclet-sched/coroutine/leave.h"

namespace fgmpi::privatize {
namespace {

// Functions of the layer above (Runtime).
void (*g_rank_exits)(int status) = nullptr;
void (*g_thread_ends_process)(sched::Proclet* rank, int status) = nullptr;

ExitList* g_early_handlers = nullptr;  ///< registered by constructors, before any proclet runs

/// The list to which a handler of the program is added; nullptr where the C library is to run it.
ExitList* list_for(const void* object) {
  bool early = g_mode == ImageMode::kSingle && !sched::running() && sched::rank_count() == 0;
  if (!early && !on_proclet()) return nullptr;
  if (g_mode == ImageMode::kShared && object && !is_guest(sched::running())) return nullptr;
  void** slot = early ? reinterpret_cast<void**>(&g_early_handlers) : &sched::running()->pending;
  const auto* image = early ? nullptr : static_cast<const Image*>(sched::running()->image);
  if (!*slot) *slot = image && image->record ? &image->record->exits : new ExitList;
  return static_cast<ExitList*>(*slot);
}

/// Adds a handler of the module that holds `dso`. Returns false where the C library is to run it.
bool add(ExitHandler handler, const void* dso) {
  if (dso && !in_program(dso)) return false;
  handler.dso = dso;
  ExitList* list = list_for(handler.argument);
  if (!list) return false;
  return list->handlers.push_back(handler);
}

/// Runs the wanted handlers, newest first. A handler may register others or call exit().
template <class Wanted>
void run_handlers_if(sched::Proclet* p, int status, Wanted wanted) {
  auto* list = static_cast<ExitList*>(p->pending);
  if (!list) return;
  auto& handlers = list->handlers;
  for (uint32_t i = handlers.size(); i > 0;) {
    ExitHandler h = handlers[--i];
    if (!wanted(h)) continue;
    handlers.erase(&handlers[i]);
    if (h.kind == ExitHandler::kOnExit) {
      h.with_status(status, h.argument);
    } else {
      h.function(h.argument);
    }
    i = handlers.size();
  }
}

/// Runs the handlers of the wanted kinds, newest first.
template <class Wanted>
void run_handlers(sched::Proclet* p, int status, Wanted wanted) {
  run_handlers_if(p, status, [&](const ExitHandler& h) { return wanted(h.kind); });
}

/// Called when a library is unloaded: runs the handlers that its image has registered. Returns
/// false where `dso` is in no rank's image.
bool run_handlers_of(const void* dso) {
  plugins::PluginLocation plugin;
  if (!dso || !on_proclet() || !plugins::locate(reinterpret_cast<uintptr_t>(dso), &plugin))
    return false;
  run_handlers_if(sched::running(), 0, [&](const ExitHandler& h) {
    return h.dso == dso && h.kind != ExitHandler::kThreadLocal;
  });
  return true;
}

[[noreturn]] void finish_rank(int status) {
  sched::Proclet* p = sched::running();
  auto* handlers = static_cast<ExitList*>(std::exchange(p->pending, nullptr));
  const auto* image = static_cast<const Image*>(p->image);
  if (!image || !image->record) delete handlers;
  close_own_files();
  forget_handlers_of_rank();
  if (sched::outside()) sched::EngineEntry::enter();
  if (g_rank_exits) g_rank_exits(status & 0xff);
  if (SlotRecord* record = slot_record(p->index)) drop_streams(record);
  if (image && image->record) forget_loaded_areas(image);
  plugins::forget_rank(p->index);
  end_rank_heap(p->index);
  sched::finish(status & 0xff);
}

/// True if the caller's exit() ends a rank and not the process: a rank's proclet runs, in the
/// process that created it. (In a helper coroutine, exit() ends the process; so it does in the
/// child of a vfork, which shares our memory.)
bool ends_a_rank() {
  return on_proclet() && sched::running()->kind == sched::ProcletKind::kRank && in_own_process();
}

// ---- Threads of ranks ----

enum class ExitFunction : uint8_t { kExit, kQuickExit, kAtOnce };

/// True if the caller is a thread of a rank other than the one that runs main, in the process that
/// created it.
bool is_thread_of_rank() {
  return g_mode != ImageMode::kForeign && !on_scheduler_thread() && sched::rank_of_thread() &&
         in_own_process();
}

struct EndOfRank {
  ExitFunction how;
  int status;
  std::atomic<bool> taken{false};  ///< the rank runs end_rank_now()
};

[[noreturn]] void end_rank_now(void* data) {
  auto& end = *static_cast<EndOfRank*>(data);
  end.taken.store(true, std::memory_order_relaxed);
  if (sched::threads_enabled() && !sched::outside()) sched::EngineEntry::leave();
  if (end.how == ExitFunction::kExit) end_rank(end.status);
  if (end.how == ExitFunction::kQuickExit)
    run_handlers(sched::running(), end.status,
                 [](ExitHandler::Kind k) { return k == ExitHandler::kQuick; });
  finish_rank(end.status);
}

/// Ends the rank that the calling thread belongs to, whatever the rank is doing. Exit handlers run
/// on the scheduler's thread, since they may use state that only that thread has. In a process with
/// one rank, this function runs the handlers and returns, and the caller ends the process: the main
/// thread may be waiting for this thread.
void exit_from_thread(ExitFunction how, int status) {
  sched::Proclet* rank = sched::rank_of_thread();
  if (g_mode == ImageMode::kSingle && !is_guest(rank)) {
    if (how == ExitFunction::kExit)
      run_handlers(rank, status, [](ExitHandler::Kind k) {
        return k != ExitHandler::kQuick && k != ExitHandler::kThreadLocal;
      });
    if (how == ExitFunction::kQuickExit)
      run_handlers(rank, status, [](ExitHandler::Kind k) { return k == ExitHandler::kQuick; });
    if (g_thread_ends_process) g_thread_ends_process(rank, status & 0xff);
    return;
  }
  EndOfRank end{how, status};  // stays valid: this function never returns
  sched::leave_for(rank, end_rank_now, &end);
  if (sched::threads_enabled() && !sched::outside()) sched::EngineEntry::leave();
  constexpr int64_t kFirstLook = 1'000'000, kLongestLook = 1'000'000'000;
  for (int64_t look = kFirstLook; !end.taken.load(std::memory_order_relaxed);
       look = std::min(2 * look, kLongestLook)) {
    interrupt(rank);
    const timespec t = to_timespec(look);
    raw_call(SYS_nanosleep, reinterpret_cast<long>(&t), 0);
  }
  for (;;) raw_call(SYS_ppoll, 0, 0, 0, 0, 0);
}

/// Runs the destructor functions of the current rank's image.
void run_image_destructors() {
  const sched::Proclet* p = sched::running();
  if (is_guest(p)) return plugins::run_destructors(static_cast<Image*>(p->image)->index);
  if (g_mode != ImageMode::kImages) return;
  uint32_t k = static_cast<Image*>(p->image)->index;
  plugins::run_destructors(k);
  for (size_t m = 0; m < g_images.modules().size(); ++m)
    g_images.modules()[m].run_destructors(g_images.base_of(m, k));
}

/// Runs all that exit() runs for a rank: destructors of thread-local variables, then handlers, then
/// destructors of the image; each newest first.
void run_exit_handlers(int status) {
  sched::Proclet* p = sched::running();
  run_handlers(p, status, [](ExitHandler::Kind k) { return k == ExitHandler::kThreadLocal; });
  run_handlers(p, status, [](ExitHandler::Kind k) { return k != ExitHandler::kQuick; });
  run_image_destructors();
}

/// The addresses of the program, by what the kernel has passed to it.
AddressRange range_of_program() {
  const auto segments = segments_of_program();
  uintptr_t base = 0;
  for (const ElfW(Phdr) & segment : segments)
    if (segment.p_type == PT_PHDR)
      base = reinterpret_cast<uintptr_t>(segments.data()) - segment.p_vaddr;
  return range_of(segments, base);
}

}  // namespace

bool in_program(const void* address) {
  static const AddressRange program = range_of_program();
  auto a = reinterpret_cast<uintptr_t>(address);
  Images::ImageLocation where;
  plugins::PluginLocation plugin;
  return program.contains(a) || g_images.locate(a, &where) || plugins::locate(a, &plugin);
}

bool has_thread_destructors_of(const sched::Proclet* rank, uintptr_t low, size_t size) {
  const auto* list = static_cast<const ExitList*>(rank->pending);
  return list &&
         std::any_of(list->handlers.begin(), list->handlers.end(), [&](const ExitHandler& h) {
           return h.kind == ExitHandler::kThreadLocal &&
                  reinterpret_cast<uintptr_t>(h.dso) - low < size;
         });
}

void set_rank_exits(void (*rank_exits)(int status),
                    void (*thread_ends_process)(sched::Proclet* rank, int status)) {
  g_rank_exits = rank_exits;
  g_thread_ends_process = thread_ends_process;
}

void adopt_early_handlers(sched::Proclet* rank0) {
  rank0->pending = std::exchange(g_early_handlers, nullptr);
}

void end_rank(int status) {
  take_home_to_end(status);
  run_exit_handlers(status);
  if (status == 0) report_leaked_memory();
  if (SlotRecord* record = slot_record(sched::running()->index)) flush_streams(record);
  finish_rank(status);
}

namespace {
/// pthread_exit() in main ends the main thread, while other threads go on. In a rank it ends the
/// rank's main; the rank ends when its last thread has ended, or one of its threads calls exit().
/// May switch.
[[noreturn]] void end_main_thread() {
  sched::Proclet* self = sched::running();
  run_handlers(self, 0, [](ExitHandler::Kind k) { return k == ExitHandler::kThreadLocal; });
  destroy_thread_values();
  for (int64_t pause = kFirstPause; sched::has_threads(self);) let_others_run(&pause);
  end_rank(0);
}
}  // namespace

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

FGMPI_INTERPOSE void exit(int status) {
  if (ends_a_rank()) end_rank(status);
  if (is_thread_of_rank()) exit_from_thread(ExitFunction::kExit, status);
  if (first_exit_of_forked_rank()) run_exit_handlers(status);
  static auto* real = next_symbol<void(int)>("exit");
  real(status);
  __builtin_unreachable();
}

FGMPI_INTERPOSE void _exit(int status) {
  if (ends_a_rank()) finish_rank(status);
  if (is_thread_of_rank()) exit_from_thread(ExitFunction::kAtOnce, status);
  static auto* real = next_symbol<void(int)>("_exit");
  real(status);
  __builtin_unreachable();
}

FGMPI_INTERPOSE void _Exit(int status) { _exit(status); }

FGMPI_INTERPOSE void quick_exit(int status) {
  if (ends_a_rank()) {
    run_handlers(fgmpi::sched::running(), status,
                 [](ExitHandler::Kind k) { return k == ExitHandler::kQuick; });
    finish_rank(status);
  }
  if (is_thread_of_rank()) exit_from_thread(ExitFunction::kQuickExit, status);
  static auto* real = next_symbol<void(int)>("quick_exit");
  real(status);
  __builtin_unreachable();
}

// Functions that print a message and exit. The C library's versions would call its own exit().

FGMPI_INTERPOSE void verr(int status, const char* format, va_list arguments) {
  vwarn(format, arguments);
  exit(status);
}

FGMPI_INTERPOSE void verrx(int status, const char* format, va_list arguments) {
  vwarnx(format, arguments);
  exit(status);
}

FGMPI_INTERPOSE void err(int status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  verr(status, format, arguments);
}

FGMPI_INTERPOSE void errx(int status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  verrx(status, format, arguments);
}

namespace {
/// The text of an error message, or nullptr when out of memory. The caller frees it.
char* text_of(const char* format, va_list arguments) {
  char* text = nullptr;
  return vasprintf(&text, format, arguments) < 0 ? nullptr : text;
}
}  // namespace

FGMPI_INTERPOSE void error(int status, int number, const char* format, ...) {
  static auto* real = next_symbol<void(int, int, const char*, ...)>("error");
  va_list arguments;
  va_start(arguments, format);
  char* text = text_of(format, arguments);
  va_end(arguments);
  real(0, number, "%s", text ? text : format);
  free(text);
  if (status != 0) exit(status);
}

FGMPI_INTERPOSE void error_at_line(int status, int number, const char* file, unsigned line,
                                   const char* format, ...) {
  static auto* real =
      next_symbol<void(int, int, const char*, unsigned, const char*, ...)>("error_at_line");
  va_list arguments;
  va_start(arguments, format);
  char* text = text_of(format, arguments);
  va_end(arguments);
  real(0, number, file, line, "%s", text ? text : format);
  free(text);
  if (status != 0) exit(status);
}

FGMPI_INTERPOSE void pthread_exit(void* value) {
  if (ends_a_rank()) end_main_thread();
  static auto* real = next_symbol<void(void*)>("pthread_exit");
  real(value);
  __builtin_unreachable();
}

FGMPI_INTERPOSE void thrd_exit(int value) {
  if (ends_a_rank()) end_main_thread();
  static auto* real = next_symbol<void(int)>("thrd_exit");
  real(value);
  __builtin_unreachable();
}

#ifndef __SANITIZE_THREAD__
extern "C" __attribute__((weak)) void* __tsan_get_current_report();

/// Ends a process of a program with ThreadSanitizer, which mpiexec has not refused. The sanitizer
/// registers its exit handler before any other code runs, and would crash in functions of this
/// library, which call the sanitizer's.
static void refuse_thread_sanitizer() {
  static constexpr char kWords[] =
      "fgmpi: the program is built with ThreadSanitizer, which knows threads, but not ranks that "
      "take "
      "turns on one; allowed are -fsanitize=address, leak and undefined\n";
  syscall(SYS_write, STDERR_FILENO, kWords, sizeof kWords - 1);
  syscall(SYS_exit_group, 1);
}
#endif

FGMPI_INTERPOSE int __cxa_atexit(void (*function)(void*), void* argument, void* dso) {
#ifndef __SANITIZE_THREAD__
  if (__builtin_expect(__tsan_get_current_report != nullptr, 0)) refuse_thread_sanitizer();
#endif
  if (add({ExitHandler::kAtExit, {function}, argument}, dso)) return 0;
  static auto* real = next_symbol<int(void (*)(void*), void*, void*)>("__cxa_atexit");
  return real(function, argument, dso);
}

FGMPI_INTERPOSE int on_exit(void (*function)(int, void*), void* argument) {
  ExitHandler handler{ExitHandler::kOnExit, {.with_status = function}, argument};
  if (add(handler, reinterpret_cast<void*>(function))) return 0;
  static auto* real = next_symbol<int(void (*)(int, void*), void*)>("on_exit");
  return real(function, argument);
}

FGMPI_INTERPOSE int __cxa_at_quick_exit(void (*function)(void*), void* dso) {
  if (add({ExitHandler::kQuick, {function}, nullptr}, dso)) return 0;
  static auto* real = next_symbol<int(void (*)(void*), void*)>("__cxa_at_quick_exit");
  return real(function, dso);
}

FGMPI_INTERPOSE int __cxa_thread_atexit_impl(void (*function)(void*), void* object, void* dso) {
  if (add({ExitHandler::kThreadLocal, {function}, object}, dso)) return 0;
  static auto* real = next_symbol<int(void (*)(void*), void*, void*)>("__cxa_thread_atexit_impl");
  return real(function, object, dso);
}

FGMPI_INTERPOSE void __cxa_finalize(void* dso) {
  if (run_handlers_of(dso)) return;
  static auto* real = next_symbol<void(void*)>("__cxa_finalize");
  real(dso);
}
