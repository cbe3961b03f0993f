// Saved ranks: the library's part.
#include "privatize/load/saved_ranks.h"

#include <mpi.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/checkpoint_link.h"
#include "privatize/image/images.h"
#include "privatize/image/slot_record.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/libc/environment_strings.h"
#include "privatize/libc/handlers.h"
#include "privatize/libc/kernel_state.h"
#include "privatize/libc/output.h"
#include "privatize/libc/rank_descriptors.h"
#include "privatize/libc/rank_streams.h"
#include "privatize/load/file_mappings.h"
#include "privatize/load/rank_heaps.h"
#include "privatize/load/saved_plugins.h"
#include "proclet-sched/coroutine/jump.h"
#include "proclet-sched/threads/threads.h"

#pragma weak fgmpi_checkpoint_hooks

namespace fgmpi::privatize {

using checkpoint::ProcessSlots;
using checkpoint::RankRoot;

const char* reason_against_saving() {
  if (!ranks_have_heaps()) return "ranks have no memory of their own (FGMPI_HEAP=rank)";
  if (g_mode != ImageMode::kImages || !g_images.in_slots())
    return "the program has no image for each rank (FGMPI_PRIVATIZE)";
  return nullptr;
}

namespace {

ProcessSlots process_slots() {
  const heap::SlotPlaces& places = slot_places();
  ProcessSlots slots;
  slots.slots = places.slots;
  slots.stride = places.stride;
  slots.stack_bytes = sched::rank_proclet(0)->stack_size;
  slots.count = g_program.ranks;
  const PresumedRanks ranks = presumed_ranks(g_program.ranks);
  slots.first = ranks.first;
  slots.total = ranks.total;
  slots.process = ranks.process;
  slots.processes = ranks.processes;
  return slots;
}

/// Runs at first on the stack of a rank that goes on, below what was saved.
void resume_rank(void* actions) {
  if (sched::threads_enabled()) sched::EngineEntry::leave();
  install_handlers(actions);
  fgmpi_checkpoint_hooks()->resume();
}

}  // namespace

sched::Proclet* adopt_rank(uint32_t index, const RankRoot& root) {
  Image* image = image_of_rank(index);
  image->areas = static_cast<char*>(root.areas);
  image->handlers = root.handlers;
  image->argv = root.argv;
  image->libc = static_cast<LibcState*>(root.libc);
  image->values = static_cast<ThreadValues*>(root.values);
  image->record = static_cast<SlotRecord*>(root.record);
  sched::Proclet* p = sched::rank_proclet(index);
  p->image = image;
  p->tool = root.layer;
  p->pending = root.pending;
  p->exception_state[0] = root.exceptions[0];
  p->exception_state[1] = root.exceptions[1];
  restore_environ(index);
  link_streams(image->record);
  make_room_for_output(index);
  restore_output(index, root.lines);
  return p;
}

namespace {

void adopt(uint32_t index, const RankRoot& root) {
  block_signals_of_saved_rank(root.blocked_signals);
  reopen_descriptors(index, root.files);
  sched::Proclet* p = adopt_rank(index, root);
  sched::begin_below(p, static_cast<char*>(root.stack), resume_rank, root.actions);
}

/// The first of the pointers that leads out of the rank's slot, in words; nullptr: there is none.
const char* outside_of_slot(const RankRoot& root, const char* slot, size_t bytes) {
  const struct {
    const void* at;
    const char* what;
  } kPointers[] = {{root.areas, "thread-local variables"},
                   {root.handlers, "handlers of the C++ library"},
                   {root.argv, "arguments"},
                   {root.libc, "random numbers of the C library"},
                   {root.values, "thread-specific values"},
                   {root.pending, "exit handlers"},
                   {root.exceptions[0], "a caught exception"}};
  for (const auto& pointer : kPointers)
    if (pointer.at && static_cast<size_t>(static_cast<const char*>(pointer.at) - slot) >= bytes)
      return pointer.what;
  return nullptr;
}

}  // namespace

Status restore_ranks() {
  if (!&fgmpi_checkpoint_hooks || !fgmpi_checkpoint_hooks()->restarts()) return {};
  if (const char* reason = reason_against_saving())
    return error(MPI_ERR_OTHER, "saved ranks cannot go on: %s", reason);
  for (uint32_t k = 0; k < g_program.ranks; ++k)
    if (!g_images.is_loaded(k)) FGMPI_TRY(g_images.make(k));
  std::vector<RankRoot> roots(g_program.ranks);
  if (const char* reason = fgmpi_checkpoint_hooks()->restore(process_slots(), roots.data()))
    return error(MPI_ERR_IO, "%s", reason);
  for (uint32_t k = 0; k < g_program.ranks; ++k) {
    if (roots[k].areas_bytes != swapped_bytes())
      return error(MPI_ERR_OTHER,
                   "saved ranks cannot go on: they have %llu bytes of thread-local variables and "
                   "the like, here %llu are needed",
                   static_cast<unsigned long long>(roots[k].areas_bytes),
                   static_cast<unsigned long long>(swapped_bytes()));
    if (roots[k].record != slot_record(k))
      return error(MPI_ERR_OTHER,
                   "saved ranks cannot go on: what the library keeps of rank %llu has another size "
                   "here",
                   static_cast<unsigned long long>(first_world_rank() + k));
    adopt(k, roots[k]);
  }
  return {};
}

const char* describe_rank(RankRoot* root) {
  const sched::Proclet* p = sched::running();
  const auto* image = static_cast<const Image*>(p->image);
  if (!image) return "it has no image of the program";
  if (image->guest) return "it was spawned";
  if (sched::has_threads(p)) return "it has threads";
  if (const char* reason = reason_of_kernel_state()) return reason;
  if (p->locale) return "it has a locale of its own (uselocale)";
  root->areas = image->areas;
  root->handlers = reinterpret_cast<void**>(image->handlers);
  root->argv = image->argv;
  root->libc = image->libc;
  root->values = image->values;
  root->record = image->record;
  root->pending = p->pending;
  root->areas_bytes = swapped_bytes();
  root->blocked_signals = blocked_signals();
  sched::read_exceptions(root->exceptions);
  if (const char* reason = describe_output(&root->lines)) return reason;
  if (const char* reason = describe_handlers(&root->actions)) return reason;
  return outside_of_slot(*root, slot_of_rank(image->index), slot_places().stride);
}

}  // namespace fgmpi::privatize

using namespace fgmpi::privatize;

fgmpi::checkpoint::ProcessSlots fgmpi_process_slots(const char** reason) {
  *reason = reason_against_saving();
  return *reason ? fgmpi::checkpoint::ProcessSlots() : process_slots();
}

const char* fgmpi_describe_rank(fgmpi::checkpoint::RankRoot* root) {
  if (const char* reason = describe_rank(root)) return reason;
  const auto* image = static_cast<const Image*>(fgmpi::sched::running()->image);
  if (const char* reason =
          describe_file_mappings(image->index, &root->mappings, &root->mappings_bytes))
    return reason;
  if (const char* reason = describe_descriptors(image->index, &root->files)) return reason;
  return plugins::describe_libraries(image->index, &root->libraries, &root->libraries_bytes);
}

const char* fgmpi_load_libraries_of_rank(uint32_t index, const void* libraries, size_t bytes) {
  static std::string reason;  // must outlive the call
  const fgmpi::Status loaded = plugins::load_libraries(index, libraries, bytes);
  reason = loaded.what();
  return loaded.ok() ? nullptr : reason.c_str();
}

const char* fgmpi_map_files_of_rank(uint32_t index, const void* mappings, size_t bytes) {
  static std::string reason;  // must outlive the call
  const fgmpi::Status mapped = map_files(index, mappings, bytes);
  reason = mapped.what();
  return mapped.ok() ? nullptr : reason.c_str();
}

void fgmpi_leave_rank() {
  drop_output();
  _exit(0);
}

void fgmpi_call_on_host(void (*function)(void*), void* data) {
  fgmpi::sched::call_on_host([&] { function(data); });
}
