// Records in ranks' slots, and their copies.
#include "profile/moving_ranks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "proclet-sched/coroutine/debug_table.h"
#include "profile/recorder.h"

#pragma weak fgmpi_debug_table

namespace fgmpi::report {

constinit MovingRanks* g_moving = nullptr;

namespace {

/// Numbers of a process: a bound of ranks and visitors together.
constexpr int32_t kMostNumbers = 1 << 22;

void rank_has_come(uint32_t from, uint32_t) {
  if (g_moving) g_moving->arrive(static_cast<int32_t>(from));
}

}  // namespace

MovingRanks* MovingRanks::make() {
  const checkpoint::MovesForTools* tools =
      &fgmpi_moves_for_tools ? fgmpi_moves_for_tools() : nullptr;
  return tools ? new MovingRanks(tools) : nullptr;
}

LiveRecord* MovingRanks::running() const {
  void** word = header_ ? tools_->word() : nullptr;
  return word ? static_cast<LiveRecord*>(*word) : nullptr;
}

uint32_t MovingRanks::cell_of(uint16_t call) const {
  LiveRecord* rank = running();
  if (rank && call == kCall_MPI_Abort) {  // the last look before the process is killed
    header_->flags |= kAborted;
    sample_now();
  }
  return rank ? cell_in(rank, call) : kCellsAt;
}

uint32_t MovingRanks::cell_in(LiveRecord* rank, uint16_t call) {
  const auto number = static_cast<uint16_t>(call + 1);
  uint32_t at = 0;
  while (at < kCallCells - 1 && rank->slots[at] != 0 && rank->slots[at] != number) ++at;
  if (at < kCallCells - 1) rank->slots[at] = number;
  return kCellsAt + at * static_cast<uint32_t>(sizeof(CallCell));
}

void MovingRanks::begin(ProfileHeader* header, RankRecord* copies) {
  void* map = mmap(nullptr, kMostNumbers * sizeof(LiveRecord*), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return;
  live_ = static_cast<LiveRecord**>(map);
  copies_ = copies;
  header_ = header;
  tools_->follow(rank_has_come);
}

RankRecord* MovingRanks::begin_rank(int32_t local, int32_t world) {
  auto* rank = header_ ? static_cast<LiveRecord*>(tools_->memory(sizeof(LiveRecord))) : nullptr;
  if (!rank) return nullptr;
  rank->world = world;
  rank->process = header_->process;
  rank->index = static_cast<uint32_t>(local);
  *tools_->word() = rank;
  __atomic_store_n(&live_[local], rank, __ATOMIC_RELEASE);
  return rank;
}

void MovingRanks::end_rank(int32_t local) {
  copy(local);
  __atomic_store_n(&live_[local], nullptr, __ATOMIC_RELEASE);
  *tools_->word() = nullptr;
}

void MovingRanks::arrive(int32_t from) {
  LiveRecord* rank = running();
  if (!rank || !&fgmpi_debug_table) return;
  const sched::Proclet* p = *fgmpi_debug_table.current;
  if (!p || p->index >= static_cast<uint32_t>(kMostNumbers)) return;
  rank->index = p->index;
  rank->process = header_->process;
  __atomic_store_n(&live_[p->index], rank, __ATOMIC_RELEASE);
  const uint32_t number = header_->moves;
  if (number == 0) header_->moves_recorded = make_part(sizeof(ArrivalRecord) * kMoves);
  auto* moves = in_part<ArrivalRecord>(header_, header_->moves_recorded);
  if (moves && number < kMoves)
    moves[number] = {static_cast<uint64_t>(now_ns()), rank->world, from};
  header_->moves = number + 1;
}

LiveRecord* MovingRanks::record_of(int32_t local) const {
  LiveRecord* rank =
      live_ && local < kMostNumbers ? __atomic_load_n(&live_[local], __ATOMIC_ACQUIRE) : nullptr;
  const bool own = local < (header_ ? header_->ranks : 0);
  // A visitor that has gone has another process or number now.
  const bool here =
      rank && rank->process == header_->process && rank->index == static_cast<uint32_t>(local);
  return own || here ? rank : nullptr;
}

bool MovingRanks::is_away(int32_t local) const {
  const LiveRecord* rank = record_of(local);
  return rank && rank->process != header_->process;
}

Doing MovingRanks::doing_of(int32_t local) const {
  const LiveRecord* rank = record_of(local);
  return rank ? rank->doing : Doing::kNothing;
}

void MovingRanks::copy(int32_t local) {
  const LiveRecord* rank = record_of(local);
  if (!rank) return;
  RankRecord copied = *rank;
  std::memset(copied.calls_made, 0, sizeof copied.calls_made);
  std::memset(copied.call_times, 0, sizeof copied.call_times);
  constexpr int kLast = kCallCells - 1;
  for (int i = 0; i < kCallCells; ++i) {
    uint16_t* slots = header_->slots;
    uint16_t* const at =
        i < kLast ? std::find_if(slots, slots + kLast,
                                 [&](uint16_t s) { return s == 0 || s == rank->slots[i]; })
                  : slots + kLast;
    if (i < kLast && rank->slots[i] == 0) continue;
    if (at < slots + kLast) *at = rank->slots[i];
    CallCell& sum = copied.calls_made[at - slots];
    sum.count += rank->calls_made[i].count;
    sum.bytes += rank->calls_made[i].bytes;
    copied.call_times[at - slots] += rank->call_times[i];
  }
  std::memcpy(&copies_[local], &copied, sizeof copied);
}

}  // namespace fgmpi::report
