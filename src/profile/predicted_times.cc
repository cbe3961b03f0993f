// PredictedTimes: the times of ranks under mpiexec -predict, which are those of their clocks.
//
// There is nothing to sample: the simulator says when a rank enters and leaves a call, in the time
// of the predicted machine. What a rank's record says of its present call tells what the time was
// spent on:
//
//   left its latest call            enters a call           leaves it
//   ------ kProgram ----------------|------ the call --------|
//
// Thread rule: the one thread of a predicted process.
#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "predict/hooks.h"
#include "profile/call_times.h"
#include "profile/timeline.h"

#pragma weak fgmpi_prediction_hooks

namespace fgmpi::report {
namespace {

const predict::PredictionHooks* hooks() {
  return &fgmpi_prediction_hooks ? fgmpi_prediction_hooks() : nullptr;
}

class PredictedTimes {
 public:
  PredictedTimes(ProfileHeader* header, Part timeline)
      : header_(header),
        times_(header),
        timeline_(header, timeline, kFirstColumn),
        ranks_(static_cast<size_t>(header->ranks)) {
    const auto rows = static_cast<int32_t>(header->rows);
    for (int32_t row = 0; row < rows; ++row)
      ranks_[static_cast<size_t>(rank_of_row(row, rows, header->ranks))].row = row;
  }

  void enter(uint32_t local, int64_t now) {
    if (local < ranks_.size()) add_program(local, pass(local, now));
  }

  void leave(uint32_t local, int64_t now, int64_t overhead) {
    if (local >= ranks_.size()) return;
    RankRecord* const r = &g_process.ranks[local];
    const PassedTime passed = pass(local, now);
    const uint64_t own = static_cast<uint64_t>(overhead - ranks_[local].overhead);
    ranks_[local].overhead = overhead;
    const uint32_t call = r->now;
    if (call == 0 || call > kCallCount) return add_program(local, passed);  // it sleeps, or yields
    const CallName& name = kCalls[call - 1];
    times_.add_to_call(r, static_cast<uint16_t>(call - 1), passed.length());
    const bool names_peer = name.receives || name.doing == Doing::kMessage;
    if (names_peer && r->peer >= 0 && passed.length() > own)
      times_.add_to_peer(r, r->peer, passed.length() - own);
    draw(local, passed, name.doing);
  }

  void awaited(uint32_t local, uint32_t request, int64_t ns) {
    if (local >= ranks_.size() || !g_hot.peers) return;
    if (const int32_t peer = g_hot.peers[request] + kNoPeer; peer >= 0)
      times_.add_to_peer(&g_process.ranks[local], peer, static_cast<uint64_t>(ns));
  }

 private:
  /// Most runs are longer than 512 columns of this.
  static constexpr uint64_t kFirstColumn = 64;
  struct Seen {
    uint64_t until = 0;    ///< so far its time has been added
    int64_t overhead = 0;  ///< of its messages until then
    int32_t row = -1;      ///< of the timeline
  };
  struct PassedTime {
    uint64_t from, until;
    uint64_t length() const { return until - from; }
  };

  PassedTime pass(uint32_t local, int64_t now) {
    Seen& rank = ranks_[local];
    const uint64_t from = rank.until;
    rank.until = std::max(from, static_cast<uint64_t>(now));
    header_->last_ns = std::max(header_->last_ns, rank.until);
    return {from, rank.until};
  }

  void add_program(uint32_t local, const PassedTime& passed) {
    RankRecord* const r = &g_process.ranks[local];
    r->program_ns += passed.length();
    r->cpu_ns += passed.length();
    draw(local, passed, Doing::kProgram);
  }

  /// A column shows what its rank does in the middle of it.
  void draw(uint32_t local, const PassedTime& passed, Doing doing) {
    const int32_t row = ranks_[local].row;
    if (row < 0 || !timeline_ || passed.length() == 0) return;
    const uint32_t last = timeline_.column_at(passed.until - 1);
    for (uint32_t c = timeline_.column_at(passed.from); c <= last; ++c) {
      const uint64_t middle = c * header_->column_ns + header_->column_ns / 2;
      if (middle >= passed.from && middle < passed.until)
        timeline_.set_doing(static_cast<uint32_t>(row), c, doing);
    }
    header_->columns = std::max(header_->columns, last + 1);
  }

  ProfileHeader* header_;
  CallTimes times_;
  Timeline timeline_;
  std::vector<Seen> ranks_;
};

PredictedTimes* g_predicted = nullptr;

const predict::ClockObserver kObserver = {
    [](uint32_t rank, int64_t now) { g_predicted->enter(rank, now); },
    [](uint32_t rank, int64_t now, int64_t overhead) { g_predicted->leave(rank, now, overhead); },
    [](uint32_t rank, uint32_t request, int64_t ns) { g_predicted->awaited(rank, request, ns); },
    [](uint32_t rank) {
      return rank < static_cast<uint32_t>(g_process.header->ranks)
                 ? program_address(g_process.ranks[rank].site)
                 : 0;
    },
};

}  // namespace

bool is_predicted() { return hooks() != nullptr; }

uint64_t time_now() {
  return static_cast<uint64_t>(is_predicted() ? std::max<int64_t>(hooks()->clock_ns(), 0)
                                              : now_ns());
}

bool observe_prediction() {
  if (!is_predicted()) return false;
  ProfileHeader* const h = g_process.header;
  g_predicted = new PredictedTimes(h, make_part(timeline_bytes(h->rows, h->memory_rows)));
  hooks()->observe(&kObserver);
  return true;
}

}  // namespace fgmpi::report
