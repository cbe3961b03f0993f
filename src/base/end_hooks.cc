// The functions of layers above that are called when the process ends itself.

#include "base/end_hooks.h"

#include <utility>

namespace fgmpi {
namespace {
struct EndHooks {
  void (*announce)(int status) = nullptr;
  void (*leave_mark)() = nullptr;
  void (*describe_caller)(char* words, size_t size) = nullptr;
};
constinit EndHooks g_hooks;
}  // namespace

void set_end_announcer(void (*announce)(int status)) { g_hooks.announce = announce; }

void announce_end(int status) {
  if (auto announce = std::exchange(g_hooks.announce, nullptr)) announce(status);
}

void set_describe_caller(void (*describe)(char* words, size_t size)) {
  g_hooks.describe_caller = describe;
}

void describe_caller(char* words, size_t size) {
  if (size > 0) words[0] = '\0';
  if (g_hooks.describe_caller) g_hooks.describe_caller(words, size);
}

void set_leave_end_mark(void (*leave)()) { g_hooks.leave_mark = leave; }

void leave_end_mark() {
  if (g_hooks.leave_mark) g_hooks.leave_mark();
}

}  // namespace fgmpi
