// The unification by the job itself, in MPI_Finalize (EuroMPI'11 section 4.2).
//
// One rank of each process acts for all of them (the "speaker"). With one rank in each process this
// is the paper's algorithm:
//   1. an exclusive scan over how many communicators each rank defined, and an allgather of its
//      results: the number of a communicator is the offset of the rank that defined it plus the
//      key's counter; the world gets 0;
//   2. the last speaker broadcasts the total c;
//   3. the root learns the members: by c gathers of local ranks (-1: not a member), or, where
//      the library has encoded maps, by one gather of the maps of the communicators that each
//      process defined: nothing of the size of the world;
//   4. the root stores each group once, encoded, and writes the definitions; each rank's table
//      of numbers is written into its process's file.
// Intercommunicators are numbered behind the others, by a scan of their own. Their keys' counters
// have gaps, so their keys and numbers are allgathered as pairs; so are all keys that are context
// ids of the library. Self-like communicators are last: the k-th of any rank has the k-th number.
//
// Communication: O(c log p). Bytes at the root: O(c p) by gathers, O(sum of the encoded
// maps) with maps.
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unordered_map>

#include "base/clock.h"
#include "track/definitions.h"
#include "track/recorder.h"

namespace fgmpi::track {
namespace {

/// What the rank that defined a communicator sends to the root about it.
struct DefinerReport {
  uint32_t id, parent;
  uint16_t call;
  uint8_t inter, self, side, same_group;
  uint16_t unused;
  uint32_t map_bytes;  ///< size of the map that follows, padded to 4
};
static_assert(sizeof(DefinerReport) == 20);

/// A key and its global number.
struct Numbered {
  uint32_t definer, counter, id, kind;  ///< kind: 0, or kNumberedInter with kHeldByB
};
constexpr uint32_t kNumberedInter = 1, kHeldByB = 2;

uint64_t joined(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }

double seconds() { return static_cast<double>(now_ns()) * 1e-9; }

/// Runs function(argument) on a large stack, because ranks may have small ones and encoding
/// maps needs more.
void on_large_stack(void* (*function)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16 << 20);
  if (pthread_create(&thread, &attributes, function, argument) == 0)
    pthread_join(thread, nullptr);
  else
    function(argument);
  pthread_attr_destroy(&attributes);
}

class Unification {
 public:
  Unification(MPI_Comm speakers, TrackedRank* self)
      : comm_(speakers), world_size_(self->world_size) {
    g_next.MPI_Comm_rank(comm_, &me_);
    g_next.MPI_Comm_size(comm_, &size_);
    first_ = g_process.spool.header().first_rank;
  }

  void run() {
    const double start = seconds();
    scan();
    gather_offsets();
    gather_keys();
    number();
    if (g_process.short_way)
      gather_maps();
    else
      gather_members();
    const double numbered = seconds() - start;
    if (me_ == 0)
      on_large_stack([](void* u) { return static_cast<Unification*>(u)->write(); }, this);
    if (me_ == 0 && g_process.settings.report) report(numbered, seconds() - start);
  }

 private:
  static bool defines_several(const CommRecord& r) {
    return r.rank == 0 && !(r.flags & (kSelfLike | kInter));
  }
  static bool defines_inter(const CommRecord& r) {
    return r.rank == 0 && r.flags & kInter && !(r.flags & kSideB);
  }

  void scan() {
    int64_t own[2] = {}, before[2] = {};
    int32_t most_self = 0;
    for (TrackedRank* rank : g_process.all) {
      offsets_.push_back(static_cast<int32_t>(own[0]));
      int32_t self = 0;
      for (uint32_t i = 0; i < rank->comm_count; ++i) {
        const CommRecord& r = rank->comm(i);
        own[0] += defines_several(r);
        own[1] += defines_inter(r);
        self += (r.flags & kSelfLike) != 0;
      }
      most_self = std::max(most_self, self);
    }
    g_next.MPI_Exscan(own, before, 2, MPI_INT64_T, MPI_SUM, comm_);
    if (me_ == 0) before[0] = before[1] = 0;
    g_next.MPI_Exscan(&most_self, &self_before_, 1, MPI_INT32_T, MPI_MAX, comm_);
    if (me_ == 0) self_before_ = 0;
    for (int32_t& offset : offsets_) offset += static_cast<int32_t>(before[0]);
    inter_offset_ = static_cast<uint32_t>(before[1]);
    // The last speaker knows the totals.
    int64_t total[3] = {before[0] + own[0], before[1] + own[1], std::max(self_before_, most_self)};
    g_next.MPI_Bcast(total, 3, MPI_INT64_T, size_ - 1, comm_);
    several_ = static_cast<uint32_t>(total[0]);
    inter_ = static_cast<uint32_t>(total[1]);
    self_ = static_cast<uint32_t>(total[2]);
  }

  /// Every process receives every rank's offset.
  void gather_offsets() {
    counts_.resize(static_cast<size_t>(size_));
    starts_.resize(static_cast<size_t>(size_));
    const int own = static_cast<int>(offsets_.size());
    g_next.MPI_Allgather(&own, 1, MPI_INT, counts_.data(), 1, MPI_INT, comm_);
    for (size_t i = 1; i < starts_.size(); ++i) starts_[i] = starts_[i - 1] + counts_[i - 1];
    if (g_process.context_keys) return;  // keys and numbers are allgathered as pairs
    all_offsets_.resize(static_cast<size_t>(world_size_));
    g_next.MPI_Allgatherv(offsets_.data(), own, MPI_INT32_T, all_offsets_.data(), counts_.data(),
                          starts_.data(), MPI_INT32_T, comm_);
  }

  void gather_keys() {
    std::vector<Numbered> own;
    uint32_t inter = several_ + inter_offset_;
    for (size_t l = 0; l < g_process.all.size(); ++l) {
      auto several = static_cast<uint32_t>(offsets_[l]);
      const auto world = static_cast<uint32_t>(first_) + static_cast<uint32_t>(l);
      uint32_t reserved = 0;
      for (uint32_t i = 0; i < g_process.all[l]->comm_count; ++i) {
        const CommRecord& r = g_process.all[l]->comm(i);
        if (defines_several(r)) {
          if (g_process.context_keys) own.push_back({r.definer, r.counter, several, 0});
          ++several;
        } else if (defines_inter(r)) {
          own.push_back({r.definer, r.counter, inter, kNumberedInter});
          // The key was broadcast, so the other group has this rank's own key.
          if (!g_process.context_keys)
            own.push_back({world, reserved, inter, kNumberedInter | kHeldByB});
          ++inter;
        }
        reserved += r.rank == 0 && r.flags & kInter;
      }
    }
    std::vector<Numbered> all;
    all_to_all(own, &all, true);
    for (const Numbered& n : all) (n.kind ? inter_ids_ : ids_)[joined(n.definer, n.counter)] = n;
  }

  /// Gathers the speakers' lists at all of them, or at the root.
  template <class T>
  void all_to_all(const std::vector<T>& own, std::vector<T>* all, bool at_all) {
    const int bytes = static_cast<int>(own.size() * sizeof(T));
    std::vector<int> counts(static_cast<size_t>(size_)), starts(counts.size());
    g_next.MPI_Allgather(&bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, comm_);
    for (size_t i = 1; i < starts.size(); ++i) starts[i] = starts[i - 1] + counts[i - 1];
    if (at_all || me_ == 0)
      all->resize(static_cast<size_t>(starts.back() + counts.back()) / sizeof(T));
    if (at_all)
      g_next.MPI_Allgatherv(own.data(), bytes, MPI_BYTE, all->data(), counts.data(), starts.data(),
                            MPI_BYTE, comm_);
    else
      g_next.MPI_Gatherv(own.data(), bytes, MPI_BYTE, all->data(), counts.data(), starts.data(),
                         MPI_BYTE, 0, comm_);
  }

  uint32_t number_of(const CommRecord& r) const {
    const bool inter = r.flags & kInter;
    if (!inter && !g_process.context_keys)
      return static_cast<uint32_t>(all_offsets_[r.definer]) + r.counter;
    const auto& ids = inter ? inter_ids_ : ids_;
    auto it = ids.find(joined(r.definer, r.counter));
    return it == ids.end() ? kNoComm : it->second.id;
  }
  bool is_held_by_b(const CommRecord& r) const {
    auto it = inter_ids_.find(joined(r.definer, r.counter));
    return it != inter_ids_.end() && it->second.kind & kHeldByB;
  }

  /// Writes each rank's table from local to global numbers to the file, and lists the members of
  /// each communicator in members_.
  void number() {
    int32_t self_seen = self_before_;
    for (size_t l = 0; l < g_process.all.size(); ++l) {
      TrackedRank* rank = g_process.all[l];
      std::vector<uint32_t> table(rank->comm_count);
      uint32_t self = several_ + inter_;
      const auto world = first_ + static_cast<int32_t>(l);
      for (uint32_t i = 0; i < rank->comm_count; ++i) {
        CommRecord& r = rank->comm(i);
        if (r.flags & kInter && is_held_by_b(r)) r.flags |= kSideB;
        table[i] = r.flags & kSelfLike ? self++ : number_of(r);
        if (r.flags & kSelfLike) {
          const auto k = static_cast<int32_t>(table[i] - several_ - inter_);
          if (k == self_seen) {
            ++self_seen;
            add_definer_report(table, r, i, rank);
          }
          continue;
        }
        if (!g_process.short_way)
          members_.push_back(
              {table[i], world - first_,
               r.flags & kInter ? r.rank << 1 | (r.flags & kSideB ? 1 : 0) : r.rank});
        if (r.rank == 0) add_definer_report(table, r, i, rank);
      }
      g_process.spool.put(ChunkKind::kMapping, world, table.data(), table.size() * sizeof table[0]);
      mapping_bytes_ += table.size() * sizeof table[0];
    }
  }

  /// Appends a communicator to the list for the root.
  void add_definer_report(const std::vector<uint32_t>& table, const CommRecord& r, uint32_t local,
                          TrackedRank* rank) {
    const ChunkHeader* group = nullptr;
    if (g_process.short_way && !(r.flags & (kSelfLike | kSameGroup)))
      for (const auto& [id, chunk] : rank->stored_groups)
        if (id == local) group = chunk;
    DefinerReport t{};
    t.id = table[local];
    t.parent = r.parent < table.size() ? table[r.parent] : kNoComm;
    t.call = r.call;
    t.inter = (r.flags & kInter) != 0;
    t.self = (r.flags & kSelfLike) != 0;
    t.side = (r.flags & kSideB) != 0;
    t.same_group = (r.flags & kSameGroup) != 0;
    t.map_bytes = group ? static_cast<uint32_t>(group->used - sizeof(GroupRecord)) : 0;
    const auto* bytes = reinterpret_cast<const uint8_t*>(&t);
    told_.insert(told_.end(), bytes, bytes + sizeof t);
    if (group) {
      bytes = reinterpret_cast<const uint8_t*>(group + 1) + sizeof(GroupRecord);
      told_.insert(told_.end(), bytes, bytes + t.map_bytes);
      told_.resize((told_.size() + 3) / 4 * 4);
    }
  }

  void gather_maps() { all_to_all(told_, &all_told_, false); }

  /// The paper's way: one gather for each communicator, which needs an array of the world's
  /// size at the root.
  void gather_members() {
    all_to_all(told_, &all_told_, false);
    std::sort(members_.begin(), members_.end(),
              [](const DefinedMember& a, const DefinedMember& b) { return a.id < b.id; });
    const size_t ranks = g_process.all.size();
    std::vector<int32_t> own(ranks, -1), all(me_ == 0 ? static_cast<size_t>(world_size_) : 0);
    size_t at = 0;
    for (uint32_t id = 0; id < several_ + inter_; ++id) {
      const size_t begin = at;
      for (; at < members_.size() && members_[at].id == id; ++at)
        own[static_cast<size_t>(members_[at].local)] = members_[at].rank;
      g_next.MPI_Gatherv(own.data(), static_cast<int>(ranks), MPI_INT32_T, all.data(),
                         counts_.data(), starts_.data(), MPI_INT32_T, 0, comm_);
      for (size_t i = begin; i < at; ++i) own[static_cast<size_t>(members_[i].local)] = -1;
      if (me_ == 0) store_members(id, all);
    }
  }

  void store_members(uint32_t id, const std::vector<int32_t>& gathered) {
    const bool inter = id >= several_;
    std::vector<int32_t> lists[2];
    for (size_t world = 0; world < gathered.size(); ++world) {
      if (gathered[world] < 0) continue;
      auto& list = lists[inter ? gathered[world] & 1 : 0];
      const auto rank = static_cast<size_t>(inter ? gathered[world] >> 1 : gathered[world]);
      if (list.size() <= rank) list.resize(rank + 1, -1);
      list[rank] = static_cast<int32_t>(world);
    }
    gathered_.push_back(std::move(lists[0]));
    if (inter) gathered_.push_back(std::move(lists[1]));
    if (gathered_.size() >= 256) encode_gathered();
  }

  /// Turns the gathered lists into groups, so that the root stores encoded ones.
  void encode_gathered() {
    on_large_stack(
        [](void* u) -> void* {
          auto* self = static_cast<Unification*>(u);
          for (auto& list : self->gathered_)
            self->groups_of_.push_back(self->out_.add_group(std::move(list), self->world_size_));
          return nullptr;
        },
        this);
    gathered_.clear();
  }

  /// The root's step, without communication: makes the definitions from the gathered lists.
  void* write() {
    for (auto& list : gathered_) groups_of_.push_back(out_.add_group(std::move(list), world_size_));
    out_.several = several_;
    out_.inter = inter_;
    out_.comms.resize(several_ + inter_ + self_);
    std::vector<RankMap> maps(several_ + 2 * inter_);
    std::vector<uint8_t> same(several_ + inter_);
    for (size_t at = 0; at + sizeof(DefinerReport) <= all_told_.size();) {
      DefinerReport t;
      std::memcpy(&t, all_told_.data() + at, sizeof t);
      at += sizeof t;
      const uint8_t* map = all_told_.data() + at;
      at += (t.map_bytes + 3) / 4 * 4;
      if (t.id >= out_.comms.size()) continue;
      GlobalComm& c = out_.comms[t.id];
      if (t.side == 0) {
        c.parent = t.parent;
        c.call = t.call;
        c.inter = t.inter;
        c.self = t.self;
        if (!t.self) same[t.id] = t.same_group;
      }
      size_t used = 0;
      if (t.map_bytes && !t.self)
        if (!RankMap::deserialize({map, t.map_bytes}, &used, &maps[place_of_group(t.id) + t.side])
                 .ok())
          std::fprintf(stderr, "fgmpi-track: the group of communicator %u is damaged\n", t.id);
    }
    for (uint32_t id = 0; id < several_ + inter_; ++id) {
      GlobalComm& c = out_.comms[id];
      const size_t at = place_of_group(id);
      if (!g_process.short_way) {
        c.group = groups_of_[at];
        if (c.inter) c.remote = groups_of_[at + 1];
      } else if (same[id] && c.parent < id) {
        // Numbers follow the order of creation at the rank that defines, so the parent has a lower
        // number and exists already.
        c.group = out_.comms[c.parent].group;
        c.remote = out_.comms[c.parent].remote;
      } else {
        c.group = out_.add_group(std::move(maps[at]), world_size_);
        if (c.inter) c.remote = out_.add_group(std::move(maps[at + 1]), world_size_);
      }
    }
    for (uint32_t id = several_ + inter_; id < out_.comms.size(); ++id)
      out_.comms[id].group = out_.self_group();
    std::vector<uint8_t> bytes;
    out_.write(&bytes);
    definition_bytes_ = bytes.size();
    g_process.spool.put(ChunkKind::kUnified, -1, bytes.data(), bytes.size());
    return nullptr;
  }

  size_t place_of_group(uint32_t id) const {
    return id < several_ ? id : several_ + 2 * size_t{id - several_};
  }

  void report(double numbered, double all) const {
    std::fprintf(stderr,
                 "fgmpi-track: unified %zu communicators in %zu groups of %d ranks by %s in %.3f s "
                 "(%.3f s numbering and gathering), definitions %zu bytes, mapping %zu bytes in "
                 "this process\n",
                 out_.comms.size(), out_.groups.size(), world_size_,
                 g_process.short_way ? "maps" : "gathers", all, numbered, definition_bytes_,
                 mapping_bytes_);
  }

  struct DefinedMember {
    uint32_t id;
    int32_t local, rank;
  };

  const MPI_Comm comm_;
  int me_ = 0, size_ = 1;
  int32_t first_ = 0;
  const int32_t world_size_;
  uint32_t several_ = 0, inter_ = 0, self_ = 0, inter_offset_ = 0;
  int32_t self_before_ = 0;
  std::vector<int32_t> offsets_, all_offsets_;
  std::vector<int> counts_, starts_;  ///< numbers of ranks in each process
  std::unordered_map<uint64_t, Numbered> ids_, inter_ids_;
  std::vector<DefinedMember> members_;
  std::vector<uint8_t> told_, all_told_;
  std::vector<std::vector<int32_t>> gathered_;
  std::vector<uint32_t> groups_of_;
  Definitions out_;
  size_t definition_bytes_ = 0, mapping_bytes_ = 0;
};

}  // namespace

void unify(TrackedRank* rank) {
  // When this allreduce is complete all ranks have all their keys, and g_process.all has all ranks
  // of the process. fgmpi-track-dump unifies from all files where there are several jobs, or
  // sessions with other communicators.
  int later = rank->foreign || rank->unify_later || rank->sessions > 0, any = 0;
  g_next.MPI_Allreduce(&later, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (any) return;
  const bool speaks = rank->world_rank == g_process.spool.header().first_rank;
  MPI_Comm speakers = MPI_COMM_NULL;
  g_next.MPI_Comm_split(MPI_COMM_WORLD, speaks ? 0 : MPI_UNDEFINED, rank->world_rank, &speakers);
  if (speaks) {
    Unification(speakers, rank).run();
    g_next.MPI_Comm_free(&speakers);
  }
  g_next.MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace fgmpi::track
