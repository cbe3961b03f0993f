// The functions of layers above that are called when the process ends itself.

#include "base/end_hooks.h"

#include <utility>

namespace fgmpi {
namespace {
void (*g_announce_end)(int status) = nullptr;
void (*g_leave_mark)() = nullptr;
void (*g_describe_caller)(char* words, size_t size) = nullptr;
}  // namespace

void set_end_announcer(void (*announce)(int status)) { g_announce_end = announce; }

void announce_end(int status) {
  if (auto announce = std::exchange(g_announce_end, nullptr)) announce(status);
}

void set_describe_caller(void (*describe)(char* words, size_t size)) {
  g_describe_caller = describe;
}

void describe_caller(char* words, size_t size) {
  if (size > 0) words[0] = '\0';
  if (g_describe_caller) g_describe_caller(words, size);
}

void set_leave_end_mark(void (*leave)()) { g_leave_mark = leave; }

void leave_end_mark() {
  if (g_leave_mark) g_leave_mark();
}

}  // namespace fgmpi
