// The table of algorithms, the choice of a row, and its run.

#include "coll/selector.h"

#include <iterator>
#include <type_traits>
#include <utility>

#include "base/count_words.h"
#include "base/settings.h"
#include "coll/algorithm_runs.h"
#include "coll/board_use.h"
#include "coll/team_caller.h"
#include "datatype/basic_type.h"
#include "multicast/multicast.h"

namespace fgmpi::coll {
namespace {

/// Conditions without which an algorithm gives no correct result.
enum Needs : uint8_t { kNothing = 0, kCommutative = 1, kDense = 2, kRegular = 4 };

// What rows of the table say of shapes.
constexpr uint32_t kMany = UINT32_MAX, kNever = 0;
constexpr size_t kAny = SIZE_MAX, KiB = 1024;

/// The function of an algorithm, whose way decides its type: the other pointers are null.
template <class Function>
struct AlgorithmFunction;
template <class... Args>
struct AlgorithmFunction<Status(const Team&, Args...)> {
  using Run = Status(const Team&, Args...);
  using RunByMulticast = Status(const Team&, const Multicast&, Args...);
  constexpr AlgorithmFunction(Run* function) : run(function) {}
  constexpr AlgorithmFunction(RunByMulticast* function) : run_by_multicast(function) {}
  using RunOnBoard = Status(const Team&, BoardRun&, Args...);
  constexpr AlgorithmFunction(RunOnBoard* function) : run_on_board(function) {}
  Run* run = nullptr;
  RunOnBoard* run_on_board = nullptr;
  RunByMulticast* run_by_multicast = nullptr;
};

template <class Function>
struct AlgorithmRow {
  const char* name;
  counters::CounterId runs;
  AlgorithmFunction<Function> function;
  AlgorithmWay way;
  uint8_t needs;
  uint32_t max_processes;
  size_t least_bytes, max_bytes;
};

// The rows of each collective: kRows_barrier, kRows_bcast, ...
#define FGMPI_COLLECTIVE(collective, ...) \
  constexpr AlgorithmRow<algorithm_type::collective> kRows_##collective[] = {
#define FGMPI_ALGORITHM(collective, algorithm, way, ...)                             \
  {#algorithm, counters::kRuns_##collective##_##algorithm, collective##_##algorithm, \
   AlgorithmWay::way, __VA_ARGS__},
#define FGMPI_MORE_SHAPES FGMPI_ALGORITHM
#define FGMPI_COLLECTIVE_END \
  }                          \
  ;
#include "base/algorithms.def"

template <const auto& rows>
using RowOf = const std::remove_reference_t<decltype(rows[0])>;

/// True if algorithms that split vectors can run this reduction.
bool splits(const Reduction& r) { return r.dense() && r.divisible(); }

CollectiveShape shape_of(const Team& team, const Reduction& r) {
  return {team.count(), r.bytes(), r.commutative, splits(r)};
}

/// False for sums and products of rounded numbers.
bool is_exact(const Reduction& r) {
  if (r.op != MPI_SUM && r.op != MPI_PROD) return true;
  const datatype::BasicType* basic = datatype::basic_type(datatype::values_of(*r.type));
  return basic && basic->kind == datatype::BasicKind::kInteger;
}

/// The shape of a gather or scatter.
CollectiveShape shape_of(const Team& team, const ProcessBlocks& blocks) {
  return {team.count(), blocks.regular ? blocks.total() : 0, true, true, blocks.regular};
}

bool is_able(uint8_t needs, const CollectiveShape& shape) {
  return !((needs & kCommutative && !shape.commutative) || (needs & kDense && !shape.dense) ||
           (needs & kRegular && !shape.regular));
}

/// The first row of a way, or nullptr.
template <class Row, size_t n>
constexpr const Row* first_row(const Row (&rows)[n], AlgorithmWay way) {
  for (const Row& row : rows)
    if (row.way == way) return &row;
  return nullptr;
}

/// The row of the algorithm that the setting names, or nullptr where it goes another way or cannot
/// be used.
template <class Row, size_t n>
[[gnu::cold, gnu::noinline]] const Row* named_row(const Row (&rows)[n], AlgorithmWay way,
                                                  settings::SettingId setting,
                                                  const CollectiveShape& shape) {
  for (const Row& row : rows)
    if (row.way == way && settings::text(setting) == row.name && is_able(row.needs, shape))
      return &row;
  return nullptr;
}

/// The first row of a way, from row i on, that is taken for a shape where the setting names none,
/// or nullptr. The recursion is in line, so rows of other ways and conditions that always hold cost
/// nothing.
template <const auto& rows, AlgorithmWay way, size_t i = 0>
inline RowOf<rows>* default_row(const CollectiveShape& shape) {
  if constexpr (i == std::size(rows)) {
    return nullptr;
  } else {
    RowOf<rows>& row = rows[i];
    if (row.way == way && is_able(row.needs, shape) && shape.processes <= row.max_processes &&
        shape.bytes >= row.least_bytes && shape.bytes <= row.max_bytes)
      return &row;
    return default_row<rows, way, i + 1>(shape);
  }
}

/// The row that is taken by messages between any two processes, or nullptr where none can.
template <const auto& rows>
inline RowOf<rows>* pick_by_messages(settings::SettingId setting, const CollectiveShape& shape) {
  RowOf<rows>* row = nullptr;
  if (__builtin_expect(settings::is_set(setting), 0))
    row = named_row(rows, AlgorithmWay::kMessages, setting, shape);
  return row ? row : default_row<rows, AlgorithmWay::kMessages>(shape);
}

[[gnu::cold, gnu::noinline]] Status no_algorithm(uint32_t processes, size_t bytes) {
  return error(MPI_ERR_INTERN, "no algorithm for %s and %s",
               count_words(processes, "process").c_str(), count_words(bytes, "byte").c_str());
}

/// The row that a team goes by multicast, or nullptr. No message is sent to find out.
template <const auto& rows>
inline RowOf<rows>* pick_by_multicast(settings::SettingId setting, const Team& team,
                                      const CollectiveShape& shape) {
  const bool is_set = settings::is_set(setting);
  if (__builtin_expect(!may_multicast(team, is_set), 1)) return nullptr;
  if (is_set) return named_row(rows, AlgorithmWay::kMulticast, setting, shape);
  RowOf<rows>* row = default_row<rows, AlgorithmWay::kMulticast>(shape);
  return row && count_hosts(team) >= multicast::least_hosts() ? row : nullptr;
}

/// The row by which a team uses its board, or nullptr.
template <const auto& rows>
inline RowOf<rows>* pick_on_board(settings::SettingId setting, const Team& team,
                                  const CollectiveShape& shape) {
  RowOf<rows>* row = __builtin_expect(settings::is_set(setting), 0)
                         ? named_row(rows, AlgorithmWay::kBoard, setting, shape)
                         : default_row<rows, AlgorithmWay::kBoard>(shape);
  const bool fits = row && shape.bytes <= row->max_bytes;
  return fits && may_use_board(team, settings::is_set(setting)) ? row : nullptr;
}

/// Runs a collective on the team's board, where it has one; else *done is false.
template <const auto& rows, class... Args>
Status run_on_board(settings::SettingId setting, const Team& team, const CollectiveShape& shape,
                    bool* done, const Args&... args) {
  RowOf<rows>* row = pick_on_board<rows>(setting, team, shape);
  if (!row) return {};
  std::shared_ptr<Board> board;
  // A sum of rounded numbers has the same result each time, so each goes by the board.
  FGMPI_TRY(board_of(team, settings::is_set(setting) || !shape.exact, &board));
  if (!board) return {};
  BoardRun run(team, std::move(board));
  Status status = row->function.run_on_board(team, run, args...);
  *done = !run.declined();
  if (*done && !shape.counted) count_run(team.open(), row->runs);
  return status;
}

/// Runs a collective: the one way of a team of neighbours; else on the board of the processes, by
/// multicast, where that is wanted and the processes have a group, or by messages.
template <const auto& rows, class... Args>
Status run(settings::SettingId setting, const Team& team, const CollectiveShape& shape,
           const Args&... args) {
  constexpr RowOf<rows>* tree = first_row(rows, AlgorithmWay::kTree);
  if constexpr (tree != nullptr) {
    if (team.tree_size() > 0) {
      if (!shape.counted) count_run(team.open(), tree->runs);
      return tree->function.run(team, args...);
    }
  }
  if (team.count() < 2) return {};
  if constexpr (first_row(rows, AlgorithmWay::kBoard) != nullptr) {
    bool done = false;
    Status status = run_on_board<rows>(setting, team, shape, &done, args...);
    if (done || !status.ok()) return status;
  }
  if constexpr (first_row(rows, AlgorithmWay::kMulticast) != nullptr) {
    if (RowOf<rows>* row = pick_by_multicast<rows>(setting, team, shape);
        __builtin_expect(row != nullptr, 0)) {
      const TeamCaller caller(team);
      multicast::Membership* group;
      FGMPI_TRY(multicast::group_of(caller, &group));
      if (group) {
        if (!shape.counted) count_run(team.open(), row->runs);
        return row->function.run_by_multicast(team, Multicast(caller, group, team.types()),
                                              args...);
      }
    }
  }
  RowOf<rows>* row = pick_by_messages<rows>(setting, shape);
  if (__builtin_expect(!row, 0)) return no_algorithm(shape.processes, shape.bytes);
  if (!shape.counted) count_run(team.open(), row->runs);
  return row->function.run(team, args...);
}

}  // namespace

#define FGMPI_COLLECTIVE(collective, Collective, ...)                                           \
  Status pick_##collective(const CollectiveShape& shape, algorithm_type::collective** out) {    \
    const auto* row = pick_by_messages<kRows_##collective>(settings::kColl##Collective, shape); \
    if (!row) return no_algorithm(shape.processes, shape.bytes);                                \
    *out = row->function.run;                                                                   \
    return {};                                                                                  \
  }
#include "base/algorithms.def"

bool picks_multicast(settings::SettingId setting, const CollectiveShape& shape) {
  switch (setting) {
#define FGMPI_COLLECTIVE(collective, Collective, ...) \
  case settings::kColl##Collective:                   \
    return default_row<kRows_##collective, AlgorithmWay::kMulticast>(shape) != nullptr;
#include "base/algorithms.def"
    default:
      return false;
  }
}

bool allreduce_is_set() { return settings::is_set(settings::kCollAllreduce); }

Status team_barrier(const Team& team) {
  return run<kRows_barrier>(settings::kCollBarrier, team, {team.count(), 0});
}

Status team_bcast(const Team& team, uint32_t root, char* data, size_t bytes) {
  return team_bcast(team, root, data, bytes, {bytes, 0});
}

Status team_bcast(const Team& team, uint32_t root, char* data, size_t bytes, PieceOfWhole piece) {
  CollectiveShape shape{team.count(), piece.whole};
  shape.counted = piece.at > 0;
  return run<kRows_bcast>(settings::kCollBcast, team, shape, root, data, bytes);
}

Status team_reduce(const Team& team, uint32_t root, const Reduction& r, char* data) {
  return run<kRows_reduce>(settings::kCollReduce, team, shape_of(team, r), root, r, data);
}

Status team_allreduce(const Team& team, const Reduction& r, char* data) {
  CollectiveShape shape = shape_of(team, r);
  shape.exact = is_exact(r);
  return run<kRows_allreduce>(settings::kCollAllreduce, team, shape, r, data);
}

Status team_reduce_scatter(const Team& team, const Reduction& r, char* data,
                           const ProcessBlocks& blocks) {
  const CollectiveShape shape{team.count(), r.bytes(), r.commutative, true};
  return run<kRows_reduce_scatter>(settings::kCollReduceScatter, team, shape, r, data, blocks);
}

Status team_scan(const Team& team, const Reduction& r, char* data, char* before) {
  return run<kRows_scan>(settings::kCollScan, team, shape_of(team, r), r, data, before);
}

Status team_gather(const Team& team, uint32_t root, char* buffer, const ProcessBlocks& blocks) {
  return run<kRows_gather>(settings::kCollGather, team, shape_of(team, blocks), root, buffer,
                           blocks);
}

Status team_scatter(const Team& team, uint32_t root, char* buffer, const ProcessBlocks& blocks) {
  return run<kRows_scatter>(settings::kCollScatter, team, shape_of(team, blocks), root, buffer,
                            blocks);
}

Status team_allgather(const Team& team, char* buffer, const ProcessBlocks& blocks) {
  return run<kRows_allgather>(settings::kCollAllgather, team, {team.count(), blocks.total()},
                              buffer, blocks);
}

Status team_alltoall(const Team& team, const char* out, char* in, const AlltoallSizes& sizes,
                     size_t bytes, bool regular) {
  const CollectiveShape shape{team.count(), bytes, true, true, regular};
  return run<kRows_alltoall>(settings::kCollAlltoall, team, shape, out, in, sizes);
}

}  // namespace fgmpi::coll
