// The exported table that leads a debugger to all proclets.

#include "proclet-sched/coroutine/debug_table.h"

namespace fgmpi::sched {

void show_to_debugger(DebugImages* images) {
  images->next = fgmpi_debug_table.images;
  fgmpi_debug_table.images = images;
}

void hide_from_debugger(DebugImages* images) {
  for (DebugImages** at = &fgmpi_debug_table.images; *at; at = &(*at)->next) {
    if (*at != images) continue;
    *at = images->next;
    return;
  }
}

}  // namespace fgmpi::sched
