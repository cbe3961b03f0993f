// Ranks that go to another process of the host, and that come from there.
#include "privatize/load/visitors.h"

#include <fcntl.h>
#include <fenv.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/checkpoint_link.h"
#include "base/error_line.h"
#include "base/hash.h"
#include "base/modules.h"
#include "privatize/image/images.h"
#include "privatize/image/slot_record.h"
#include "privatize/image/swap.h"
#include "privatize/internal.h"
#include "privatize/libc/children.h"
#include "privatize/libc/handlers.h"
#include "privatize/libc/output.h"
#include "privatize/libc/rank_descriptors.h"
#include "privatize/libc/rank_streams.h"
#include "privatize/load/rank_heaps.h"
#include "privatize/load/saved_ranks.h"
#include "proclet-sched/coroutine/jump.h"
#include "proclet-sched/coroutine/visitors.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::privatize {
namespace {

using checkpoint::MovingRank;
using Deliver = void(const MovingRank*, void*);

struct VisitingRank {
  uint32_t index;
  std::unique_ptr<Image> image;
  MovingRank came;  ///< the record by which it has come
};

/// Slots of another process that are mapped here.
struct MappedSlots {
  uint64_t first;
  uint32_t count;
  int file;
};

/// A rank that has left this process, as far as it is known not to have arrived yet.
struct GivenRank {
  uint64_t world_rank, departure;
};

struct RankMoves {
  uint64_t code = 0;  ///< MovingRank::code of this process
  const char* impossible = nullptr;
  std::vector<VisitingRank> visitors;
  std::vector<MappedSlots> mapped;
  std::vector<GivenRank> given;
  uint64_t departures = 0;
  std::vector<uint64_t> prepared;  ///< world ranks whose slots have code and a guard here
  std::string reason;              ///< outlives the call that returns it
  /// The rank that is leaving, when nothing of it runs any more.
  MovingRank leaving;
  Deliver* deliver = nullptr;
  void* data = nullptr;
  uint32_t index = 0;
};
/// Made when it is first used, and never destroyed: ranks may move until the process ends.
RankMoves& moves() {
  static auto* made = new RankMoves;
  return *made;
}

uint64_t hash_of_code() {
  uint64_t hash = reinterpret_cast<uint64_t>(__builtin_thread_pointer());
  for_each_loaded_module([&](const dl_phdr_info& module) {
    const std::string path = path_of(module);
    if (path.find('/') == path.npos) return;  // the kernel's own
    hash = mix(hash, hash_bytes(path.data(), path.size(), module.dlpi_addr));
  });
  return hash;
}

VisitingRank* find_visitor(uint32_t index) {
  for (VisitingRank& visitor : moves().visitors)
    if (visitor.index == index) return &visitor;
  return nullptr;
}

}  // namespace

void prepare_for_visitors() {
  moves().code = hash_of_code();
  const int now = personality(0xffffffff);
  if (now < 0 || !(now & ADDR_NO_RANDOMIZE)) moves().impossible = "addresses are random";
}

Image* image_of_visitor(uint32_t index) {
  const VisitingRank* visitor = find_visitor(index);
  return visitor ? visitor->image.get() : nullptr;
}

bool find_slot_in_file(const sched::Proclet* rank, SlotInFile* out) {
  const heap::SlotPlaces& places = slot_places();
  if (!rank || rank->kind != sched::ProcletKind::kRank || !has_slot_in_file(rank->index))
    return false;
  out->at = slot_of_rank(rank->index);
  out->bytes = places.stride;
  out->file = places.file;
  uint64_t first = first_world_rank();
  for (const MappedSlots& other : moves().mapped)
    if (rank->slot - other.first < other.count) {
      out->file = other.file;
      first = other.first;
    }
  out->offset = (rank->slot - first) * places.stride;
  return out->at != nullptr;
}

void refuse_end_of_visitor() {
  const sched::Proclet* p = sched::running();
  if (!p || !sched::is_visitor(p)) return;
  write_error_line("rank " + std::to_string(p->slot) +
                   " has ended in a process that is not its home");
  end_process(1);
}

}  // namespace fgmpi::privatize
