// Unification of all ranks' communicators, and the written form of definitions.

#include "track/definitions.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/hash.h"
#include "base/strings.h"

namespace fgmpi::track {
namespace {

/// A hash of some members, the first and last among them. Groups of equal hashes are compared.
template <class At>
uint64_t hash_of(int32_t size, At at) {
  auto h = static_cast<uint64_t>(size);
  for (int32_t i = 0; i < size; i += std::max(1, size / 61))
    h = mix(h, static_cast<uint32_t>(at(i)));
  return size > 0 ? mix(h, static_cast<uint32_t>(at(size - 1))) : h;
}

bool is_world(const RankMap& map, int32_t world_size) {
  return map.size() == world_size && map.identical(RankMap::direct(world_size));
}

/// A key as one pair of numbers, for the tables below.
struct DefinitionKey {
  uint64_t definer, counter;
  auto operator<=>(const DefinitionKey&) const = default;
};

constexpr uint32_t kUnknownComm = 0xfffffffeu;

/// The steps of unify_records(). Each one goes through all records.
class Unifier {
 public:
  Unifier(std::span<const RankRecords> ranks, bool context_keys,
          std::vector<std::vector<uint32_t>>* mapping)
      : ranks_(ranks), context_keys_(context_keys), mapping_(*mapping) {}

  Definitions run() {
    mapping_.assign(ranks_.size(), {});
    for (size_t r = 0; r < ranks_.size(); ++r)
      mapping_[r].assign(ranks_[r].records.size(), kUnknownComm);
    number_several();
    number_inter();
    number_self();
    fill_groups();
    return std::move(out_);
  }

 private:
  /// The key of a record, equal at all members. `r`: the rank that has the record.
  DefinitionKey key_of(size_t r, const CommRecord& record) const {
    if (context_keys_) return {record.definer, record.counter};
    if (!(record.flags & kKeyed)) return {~uint64_t{0}, r};
    for (const RankRecords& other : jobs(record.job))
      return {static_cast<uint64_t>(other.first_of_job) + record.definer, record.counter};
    return {uint64_t{record.job} << 32 | record.definer, record.counter};
  }
  /// The rank of the job with this key: one element, or none.
  std::span<const RankRecords> jobs(uint32_t job) const {
    auto it = job_.find(job);
    if (it == job_.end()) {
      const RankRecords* found = nullptr;
      for (const RankRecords& r : ranks_)
        if (r.job == job) {
          found = &r;
          break;
        }
      it = job_.emplace(job, found).first;
    }
    return {it->second, it->second ? size_t{1} : size_t{0}};
  }

  uint32_t new_comm(const CommRecord& record, size_t rank) {
    GlobalComm c;
    c.call = record.call;
    c.inter = record.flags & kInter;
    c.self = record.flags & kSelfLike;
    out_.comms.push_back(c);
    first_.emplace_back(&record, rank);
    return static_cast<uint32_t>(out_.comms.size() - 1);
  }

  void number_several() {
    std::map<DefinitionKey, uint32_t> numbers;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      uint32_t counter = 0;
      for (const CommRecord& record : ranks_[r].records) {
        if (record.rank != 0 || record.flags & (kSelfLike | kInter)) continue;
        // Rank 0 knows its key before other members do.
        const DefinitionKey key = context_keys_ ? key_of(r, record) : DefinitionKey{r, counter};
        ++counter;
        numbers.emplace(key, new_comm(record, r));
      }
    }
    assign(numbers, kInter | kSelfLike, 0);
    out_.several = static_cast<uint32_t>(out_.comms.size());
  }

  /// Gives a number to each record that has the flags in `with` and none of those in `without`. A
  /// record that rank 0 does not have (an aborted job) gets a number of its own behind the others.
  void assign(std::map<DefinitionKey, uint32_t>& numbers, uint16_t without, uint16_t with) {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      uint32_t counter = 0;
      for (size_t i = 0; i < ranks_[r].records.size(); ++i) {
        const CommRecord& record = ranks_[r].records[i];
        if (record.flags & without || (record.flags & with) != with) continue;
        DefinitionKey key = key_of(r, record);
        if (!context_keys_ && !with && record.rank == 0) key = {r, counter++};
        auto it = numbers.find(key);
        if (it == numbers.end()) it = numbers.emplace(key, new_comm(record, r)).first;
        mapping_[r][i] = it->second;
      }
    }
  }

  void number_inter() {
    std::map<DefinitionKey, uint32_t> numbers;
    // The key was broadcast, so members have that of the other group's rank 0.
    std::map<DefinitionKey, bool> of_side_b;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      uint32_t counter = 0;
      for (const CommRecord& record : ranks_[r].records) {
        if (!(record.flags & kInter) || record.rank != 0) continue;
        const DefinitionKey key = key_of(r, record),
                            own = context_keys_ ? key : DefinitionKey{r, counter};
        ++counter;
        if (numbers.contains(own)) continue;  // the lower rank came first
        const uint32_t id = new_comm(record, r);
        numbers.emplace(own, id);
        numbers.emplace(key, id);
        if (!context_keys_) of_side_b[own] = true;
      }
    }
    for (size_t r = 0; r < ranks_.size(); ++r)
      for (CommRecord& record : ranks_[r].records)
        if (record.flags & kInter && of_side_b.contains(key_of(r, record))) record.flags |= kSideB;
    assign(numbers, 0, kInter);
    out_.inter = static_cast<uint32_t>(out_.comms.size()) - out_.several;
  }

  void number_self() {
    const auto first = static_cast<uint32_t>(out_.comms.size());
    for (size_t r = 0; r < ranks_.size(); ++r) {
      uint32_t number = first;
      for (size_t i = 0; i < ranks_[r].records.size(); ++i) {
        const CommRecord& record = ranks_[r].records[i];
        if (!(record.flags & kSelfLike)) continue;
        if (number == out_.comms.size()) new_comm(record, r);
        mapping_[r][i] = number++;
      }
    }
  }

  void fill_groups() {
    const auto n = out_.comms.size();
    std::vector<std::vector<int32_t>> members(n), others(n);
    const auto place = [this](std::vector<int32_t>* list, int32_t size, int32_t rank, size_t who) {
      if (size < 1 || static_cast<size_t>(size) > ranks_.size()) return;  // a damaged file
      if (list->empty()) list->assign(static_cast<size_t>(size), -1);
      if (rank >= 0 && rank < size && size == static_cast<int32_t>(list->size()))
        (*list)[static_cast<size_t>(rank)] = static_cast<int32_t>(who);
    };
    for (size_t r = 0; r < ranks_.size(); ++r)
      for (size_t i = 0; i < ranks_[r].records.size(); ++i) {
        const CommRecord& record = ranks_[r].records[i];
        if (record.flags & kSelfLike) continue;
        const uint32_t id = mapping_[r][i];
        place((record.flags & kSideB ? others : members).data() + id, record.size, record.rank, r);
      }
    const auto world_size = static_cast<int32_t>(ranks_.size());
    for (size_t id = 0; id < n; ++id) {
      GlobalComm& c = out_.comms[id];
      const auto& [record, rank] = first_[id];
      if (record->parent < mapping_[rank].size()) c.parent = mapping_[rank][record->parent];
      if (c.self) {
        c.group = out_.self_group();
      } else {
        c.group = out_.add_group(std::move(members[id]), world_size);
        if (c.inter) c.remote = out_.add_group(std::move(others[id]), world_size);
      }
    }
  }

  const std::span<const RankRecords> ranks_;
  const bool context_keys_;
  std::vector<std::vector<uint32_t>>& mapping_;
  /// By number: a record and its rank.
  std::vector<std::pair<const CommRecord*, size_t>> first_;
  mutable std::map<uint32_t, const RankRecords*> job_;
  Definitions out_;
};

void put32(std::vector<uint8_t>* out, uint32_t v) {
  for (int i = 0; i < 4; ++i) out->push_back(static_cast<uint8_t>(v >> 8 * i));
}

struct DefinitionReader {
  std::span<const uint8_t> bytes;
  bool get32(uint32_t* v) {
    if (bytes.size() < 4) return false;
    *v = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<uint32_t>(bytes[3]) << 24;
    bytes = bytes.subspan(4);
    return true;
  }
};

}  // namespace

int32_t GlobalGroup::size() const {
  if (kind == kSelf) return 1;
  return partial.empty() ? map.size() : static_cast<int32_t>(partial.size());
}

int32_t GlobalGroup::world_of(int32_t rank) const {
  return partial.empty() ? map.world_of(rank) : partial[static_cast<size_t>(rank)];
}

uint32_t Definitions::add_group(RankMap map, int32_t world_size) {
  const uint64_t hash = hash_of(map.size(), [&](int32_t i) { return map.world_of(i); });
  auto [low, high] = by_hash_.equal_range(hash);
  for (auto it = low; it != high; ++it)
    if (groups[it->second].partial.empty() && groups[it->second].map.identical(map))
      return it->second;
  GlobalGroup group;
  group.kind = is_world(map, world_size) ? GlobalGroup::kWorld : GlobalGroup::kList;
  group.map = std::move(map);
  groups.push_back(std::move(group));
  const auto number = static_cast<uint32_t>(groups.size() - 1);
  by_hash_.emplace(hash, number);
  return number;
}

uint32_t Definitions::add_group(std::vector<int32_t> members, int32_t world_size) {
  if (std::find(members.begin(), members.end(), -1) == members.end())
    return add_group(RankMap::from_ranks(members, groupmap::Strategy::hybrid()), world_size);
  const uint64_t hash = ~hash_of(static_cast<int32_t>(members.size()),
                                 [&](int32_t i) { return members[static_cast<size_t>(i)]; });
  auto [low, high] = by_hash_.equal_range(hash);
  for (auto it = low; it != high; ++it)
    if (groups[it->second].partial == members) return it->second;
  GlobalGroup group;
  group.partial = std::move(members);
  groups.push_back(std::move(group));
  const auto number = static_cast<uint32_t>(groups.size() - 1);
  by_hash_.emplace(hash, number);
  return number;
}

uint32_t Definitions::self_group() {
  if (self_ == kNoGroup) {
    self_ = static_cast<uint32_t>(groups.size());
    GlobalGroup group;
    group.kind = GlobalGroup::kSelf;
    groups.push_back(std::move(group));
  }
  return self_;
}

//  several  inter  groups  comms | kind, bytes, map ... | group remote parent call+flags ... |
void Definitions::write(std::vector<uint8_t>* out) const {
  for (uint32_t v :
       {several, inter, static_cast<uint32_t>(groups.size()), static_cast<uint32_t>(comms.size())})
    put32(out, v);
  for (const GlobalGroup& g : groups) {
    std::vector<uint8_t> map;
    if (g.kind != GlobalGroup::kSelf) g.map.serialize(&map);
    put32(out, g.kind);
    put32(out, static_cast<uint32_t>(map.size()));
    out->insert(out->end(), map.begin(), map.end());
  }
  for (const GlobalComm& c : comms) {
    put32(out, c.group);
    put32(out, c.remote);
    put32(out, c.parent);
    put32(out, c.call | (c.inter ? 1u << 16 : 0) | (c.self ? 1u << 17 : 0));
  }
}

bool Definitions::read(std::span<const char> bytes, std::string* reason) {
  DefinitionReader in{{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}};
  uint32_t group_count = 0, comm_count = 0, kind = 0, size = 0, what = 0;
  *reason = "the job's definitions are cut off";
  if (!in.get32(&several) || !in.get32(&inter) || !in.get32(&group_count) || !in.get32(&comm_count))
    return false;
  for (uint32_t i = 0; i < group_count; ++i) {
    if (!in.get32(&kind) || !in.get32(&size) || size > in.bytes.size()) return false;
    GlobalGroup g;
    g.kind = static_cast<GlobalGroup::GroupMapKind>(kind);
    if (g.kind == GlobalGroup::kSelf) {
      self_ = i;
    } else {
      size_t used = 0;
      if (Status s = RankMap::deserialize(in.bytes.first(size), &used, &g.map); !s.ok()) {
        *reason = s.what();
        return false;
      }
    }
    in.bytes = in.bytes.subspan(size);
    groups.push_back(std::move(g));
  }
  for (uint32_t i = 0; i < comm_count; ++i) {
    GlobalComm c;
    if (!in.get32(&c.group) || !in.get32(&c.remote) || !in.get32(&c.parent) || !in.get32(&what))
      return false;
    c.call = static_cast<uint16_t>(what);
    c.inter = what >> 16 & 1;
    c.self = what >> 17 & 1;
    if (c.group >= groups.size() || (c.remote != kNoGroup && c.remote >= groups.size())) {
      *reason = "a communicator names a group that is not there";
      return false;
    }
    comms.push_back(c);
  }
  return true;
}

Definitions unify_records(std::span<const RankRecords> ranks, bool context_keys,
                          std::vector<std::vector<uint32_t>>* mapping) {
  return Unifier(ranks, context_keys, mapping).run();
}

bool same_definitions(const Definitions& a, const Definitions& b, std::string* difference) {
  const auto differ = [&](const std::string& text) {
    *difference = text;
    return false;
  };
  if (a.comms.size() != b.comms.size() || a.several != b.several || a.inter != b.inter)
    return differ(format("%zu communicators (%u of several, %u inter), and %zu (%u, %u)",
                         a.comms.size(), a.several, a.inter, b.comms.size(), b.several, b.inter));
  if (a.groups.size() != b.groups.size())
    return differ(format("%zu groups, and %zu", a.groups.size(), b.groups.size()));
  for (size_t i = 0; i < a.comms.size(); ++i) {
    const GlobalComm &x = a.comms[i], &y = b.comms[i];
    if (x.group != y.group || x.remote != y.remote || x.parent != y.parent || x.call != y.call ||
        x.inter != y.inter || x.self != y.self)
      return differ(
          format("communicator %zu: group %u remote %u parent %u call %u, and %u %u %u %u", i,
                 x.group, x.remote, x.parent, x.call, y.group, y.remote, y.parent, y.call));
  }
  for (size_t i = 0; i < a.groups.size(); ++i) {
    const GlobalGroup &x = a.groups[i], &y = b.groups[i];
    if (x.kind != y.kind || x.partial != y.partial ||
        (x.kind != GlobalGroup::kSelf && x.partial.empty() && !x.map.identical(y.map)))
      return differ(format("group %zu", i));
  }
  return true;
}

}  // namespace fgmpi::track
