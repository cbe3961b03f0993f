// Compares descriptors with their positions, so that a report can say who runs.

#include "proclet-sched/coroutine/identity.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "proclet-sched/coroutine/debug_table.h"
#include "proclet-sched/coroutine/internal.h"
#include "proclet-sched/coroutine/last_call.h"
#include "proclet-sched/coroutine/scheduler.h"
#include "proclet-sched/coroutine/visitors.h"
#include "proclet-sched/threads/threads.h"

// Defined by the linker: where this library begins and ends.
extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start[], _end[];

namespace fgmpi::sched {
namespace {

/// True when any descriptor of a rank contradicts its position.
bool ranks_are_damaged() {
  for (uint32_t i = 0; i < g_scheduler.count; ++i)
    if (!rank_is_sound(i)) return true;
  return false;
}

/// Finds the rank of a helper, which has its rank's objects.
void find_rank_of(const Proclet* helper, Identity* out) {
  for (uint32_t i = 0; helper->rank_state && i < g_scheduler.count && !out->has_rank; ++i) {
    if (g_scheduler.ranks[i].rank_state != helper->rank_state) continue;
    out->rank = i;
    out->has_rank = true;
  }
}

bool identify_proclet(const Proclet* p, Identity* out) {
  if (!p) return false;
  if (const int64_t rank = rank_at(p); rank >= 0) {
    *out = {Identity::kRank, true, static_cast<uint32_t>(rank), false};
    return true;
  }
  for (const auto& [left, end] : g_scheduler.ends) {
    if (end != p) continue;
    *out = {Identity::kRank, true, static_cast<uint32_t>(rank_at(left)), false};
    return true;
  }
  if (const int64_t helper = helper_at(p); helper >= 0) {
    out->who = Identity::kHelper;
    out->damaged = !helper_is_sound(p, static_cast<uint32_t>(helper));
    if (!out->damaged) find_rank_of(p, out);
    return true;
  }
  return false;
}

/// True when `name` is the name of a function of MPI in this library's memory. Anything else, which
/// the word may hold once memory has been overwritten, is never printed.
bool is_name_of_call(const char* name) {
  const auto at = reinterpret_cast<uintptr_t>(name);
  const auto low = reinterpret_cast<uintptr_t>(__ehdr_start);
  constexpr size_t kMostLength = 64;
  if (at < low || at >= reinterpret_cast<uintptr_t>(_end) || strncmp(name, "MPI", 3) != 0)
    return false;
  size_t length = 0;
  while (length < kMostLength &&
         (isalnum(static_cast<unsigned char>(name[length])) || name[length] == '_'))
    ++length;
  return name[length] == '\0';
}

}  // namespace

Identity identify(const Proclet* p, const void* stack_pointer) {
  Identity identity;
  const bool damaged = ranks_are_damaged();
  bool in_guard = false;
  // The host stack of an adopted program is where the rank's stack would be.
  const Proclet* owner = stack_pointer && !caller_is_adopted()
                             ? proclet_of_address(stack_pointer, &in_guard)
                             : nullptr;
  if (!p && identify_proclet(g_scheduler.last_ran, &identity)) identity.who = Identity::kNobody;
  const bool known = !p || identify_proclet(p, &identity);
  if (!known || (!p && owner)) {
    identity.who = Identity::kUnknown;
    if (owner) identify_proclet(owner, &identity);
    identity.damaged = true;
  }
  identity.damaged |= damaged;
  return identity;
}

Identity identify_caller(const void* stack_pointer) {
  const Proclet* rank = rank_of_thread();
  const Proclet* runs = running();
  if (runs == rank || !rank || rank_at(rank) < 0) return identify(runs, stack_pointer);
  return {Identity::kThread, true, static_cast<uint32_t>(rank_at(rank)), ranks_are_damaged()};
}

void name_identity(const Identity& identity, char* words, size_t size) {
  static constexpr const char* kBefore[] = {"", "", "a helper of ", "a thread of ", ""};
  if (!identity.has_rank) {
    static constexpr const char* kOthers[] = {"some rank", "", "a helper of some rank",
                                              "a thread of some rank", "some rank"};
    snprintf(words, size, "%s", kOthers[identity.who]);
  } else if (identity.rank < g_scheduler.count && is_visitor(&g_scheduler.ranks[identity.rank])) {
    snprintf(words, size, "%srank %u", kBefore[identity.who],
             g_scheduler.ranks[identity.rank].slot);
  } else if (identity.rank >= g_scheduler.created) {
    snprintf(words, size, "%sspawned rank %u of this process", kBefore[identity.who],
             identity.rank - g_scheduler.created);
  } else {
    snprintf(words, size, "%srank %llu", kBefore[identity.who],
             static_cast<unsigned long long>(fgmpi_debug_table.first_world_rank + identity.rank));
  }
}

const char* last_call() {
  const char* call = detail::g_last_call;
  return !outside() && is_name_of_call(call) ? call : nullptr;
}

bool is_guard_of_descriptors(const void* address) { return in_descriptor_guards(address); }

void describe_caller(char* words, size_t size) {
  const Identity identity = identify_caller(__builtin_frame_address(0));
  const char* damage = identity.damaged ? "memory of the library has been overwritten" : "";
  if (!identity.has_rank) {
    snprintf(words, size, "%s", damage);
    return;
  }
  char who[kMostIdentityWords];
  name_identity(identity, who, sizeof who);
  const char* call = last_call();
  snprintf(words, size, "%s%s%s ran last%s%s", damage, *damage ? ", " : "", who,
           call ? ", its last call was " : "", call ? call : "");
}

}  // namespace fgmpi::sched
