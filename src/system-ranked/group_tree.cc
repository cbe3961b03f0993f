// Questions about ranks of a system-ranked group, passed along its tree, and the map that asks them
// lazily.

#include "system-ranked/group_tree.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/strings.h"
#include "comm/broken.h"
#include "comm/create.h"
#include "groupmap/codec.h"
#include "pt2pt/pt2pt.h"
#include "system-ranked/learning.h"

namespace fgmpi::system_ranked {
namespace {

enum Step : uint8_t {
  kFind,
  kFound,
  kWant,
  kAskMembers,
  kMembers,
  kMap,
  kLastOfMap,
  kDropped,
  kForget
};

/// An answer's run reaches this far to either side of the rank, where the members' map
/// is irregular.
constexpr int32_t kReach = 64;
/// Bytes of a notice that carry a list or a map.
constexpr size_t kMostEncoded = 960;

struct TreeKey {
  uint64_t context;
  uint32_t serial;
  auto operator<=>(const TreeKey&) const = default;
};
struct Early {
  Address from;
  std::vector<uint8_t> message;
};

std::map<TreeKey, std::shared_ptr<GroupTree>> g_trees;
std::map<TreeKey, std::vector<Early>> g_early_notices;

TreeKey key_of(const GroupId& id) { return {id.context, id.serial}; }

MessageWriter step(Step s) {
  // The first byte is the step, where other messages have a kind.
  return MessageWriter(static_cast<MessageKind>(s));
}

void on_tree_notice(uint32_t from, uint64_t ctx, const void* data, size_t bytes) {
  const auto* at = static_cast<const uint8_t*>(data);
  TreeKey key{ctx, 0};
  FGMPI_CHECK(bytes > sizeof key.serial);
  std::memcpy(&key.serial, at, sizeof key.serial);
  std::span<const uint8_t> message(at + sizeof key.serial, bytes - sizeof key.serial);
  auto it = g_trees.find(key);
  if (it == g_trees.end()) {
    g_early_notices[key].push_back({from, {message.begin(), message.end()}});
    return;
  }
  std::shared_ptr<GroupTree> tree = it->second;  // the tree may erase itself
  tree->receive(from, message);
}

void describe_find(const sched::WaitSite*, std::string* out) {
  *out += "asking where a rank of a system-ranked communicator is";
}
void describe_map(const sched::WaitSite*, std::string* out) {
  *out += "asking for the map of a system-ranked communicator";
}

}  // namespace

/// The map of a communicator whose group this process does not have: its own members and the cached
/// answers. An unknown rank is kUnknownWorld. A caller that needs more than single ranks asks for
/// the whole map (materialise_map()).
class LazyMap final : public groupmap::GroupMap {
 public:
  explicit LazyMap(std::shared_ptr<GroupTree> tree)
      : GroupMap(groupmap::Encoding::array, tree->place().size, false), tree_(std::move(tree)) {}
  int32_t select(int32_t i) const override {
    static_assert(static_cast<int32_t>(kUnknownWorld) == -1);
    return tree_->known(i);
  }
  int32_t rank(int32_t w) const override {
    return tree_->is_local(w) ? tree_->rank_of_local(w) : whole().rank_of(w);
  }
  void select_range(int32_t first, int32_t count, int32_t* out) const override {
    whole().world_range(first, count, out);
  }
  void ordered_range(int32_t first, int32_t count, int32_t* out) const override {
    whole().encoded().ordered_range(first, count, out);
  }
  size_t bytes() const override { return sizeof *this; }
  bool validate(std::string* reason) const override { return whole().validate(reason); }
  void write(groupmap::ByteWriter& out) const override {
    std::vector<int32_t> all = whole().encoded().expand();
    out.bytes(all.data(), all.size() * sizeof(int32_t));
  }
  std::string describe() const override { return "system-ranked tree"; }

 private:
  /// Where nothing may park, the caller has asked for the map before (materialise_map()).
  RankMap whole() const {
    std::shared_ptr<GroupTree> tree = tree_;  // this map may be destroyed while the caller waits
    return tree->whole();
  }
  std::shared_ptr<GroupTree> tree_;
};

/// A proclet that waits for an answer.
struct GroupTree::Finder {
  int32_t rank;  ///< -1: waits for the whole map
  int32_t world = -1;
  sched::Proclet* proclet = nullptr;
  Finder* next = nullptr;
};

/// A question under way: which process hosts `rank`? Where vertices have numbers, the vertices
/// [low, high) host the ranks [low_rank, high_rank).
struct GroupTree::Search {
  Address requester;
  int32_t rank;
  uint32_t target = 0, low = 0, high = 0, probes = 0;
  int32_t low_rank = 0, high_rank = 0;
};

GroupTree::GroupTree(const TreePosition& place, uint32_t k, RankMap members)
    : place_(place), k_(k), members_(std::move(members)) {}

GroupTree::~GroupTree() = default;

std::shared_ptr<GroupTree> GroupTree::make(const TreePosition& place, uint32_t k, RankMap members) {
  std::shared_ptr<GroupTree> tree(new GroupTree(place, k, std::move(members)));
  tree->enlist();
  return tree;
}

/// Enters the tree in the table, so that notices reach it, and processes the messages that
/// arrived early.
void GroupTree::enlist() {
  TreeKey key = key_of(place_.id);
  g_trees[key] = shared_from_this();
  auto early = g_early_notices.find(key);
  if (early == g_early_notices.end()) return;
  std::vector<Early> messages = std::move(early->second);
  g_early_notices.erase(early);
  for (const Early& e : messages) receive(e.from, e.message);
}

RankMap GroupTree::lazy_map() { return RankMap(groupmap::MapRef(new LazyMap(shared_from_this()))); }

// ---- Ranks --------------------------------------------------------------------------------------

int32_t GroupTree::known(int32_t rank) const {
  int32_t index = rank - place_.first;
  if (index >= 0 && index < members_.size()) return members_.world_of(index);
  if (has_whole()) return whole_.world_of(rank);
  auto after = std::upper_bound(cache_.begin(), cache_.end(), rank,
                                [](int32_t r, const KnownRun& k) { return r < k.rank; });
  if (after == cache_.begin()) return -1;
  const KnownRun& k = after[-1];
  return rank < k.rank + k.count ? k.world + (rank - k.rank) : -1;
}

/// The run of consecutive world ranks around one of this process's members.
GroupTree::KnownRun GroupTree::run_around(int32_t rank) const {
  const int32_t index = rank - place_.first, world = members_.world_of(index);
  int32_t first = 0, past = members_.size();
  if (members_.model() > RankMap::Model::kOffset) {
    first = std::max(first, index - kReach);
    past = std::min(past, index + kReach);
  }
  int32_t low = index, high = index + 1;
  if (members_.model() <= RankMap::Model::kOffset) {
    low = first;
    high = past;
  }
  while (low > first && members_.world_of(low - 1) == world - (index - low) - 1) --low;
  while (high < past && members_.world_of(high) == world + (high - index)) ++high;
  return {place_.first + low, world - (index - low), high - low};
}

void GroupTree::learn(const KnownRun& run) {
  auto before = [](const KnownRun& k, int32_t r) { return k.rank < r; };
  auto first = std::lower_bound(cache_.begin(), cache_.end(), run.rank, before);
  auto past = std::lower_bound(first, cache_.end(), run.rank + run.count, before);
  // An earlier answer that overlaps this one is cut.
  if (first != cache_.begin())
    first[-1].count = std::min(first[-1].count, run.rank - first[-1].rank);
  cache_.insert(cache_.erase(first, past), run);
  if (cache_.size() > kMostKnownRuns) {
    size_t next = oldest_++ % kMostKnownRuns;
    cache_.erase(cache_.begin() + static_cast<ptrdiff_t>(next + (cache_[next].rank == run.rank)));
  }
  start_sends(run.rank, run.rank + run.count);
}

/// Starts the sends that wait for ranks in [low, high), as these are known now: later sends must
/// not overtake them.
void GroupTree::start_sends(int32_t low, int32_t high) {
  for (int32_t rank : pt2pt::awaited_ranks(place_.id.context, low, high))
    if (int32_t world = known(rank); world >= 0)
      pt2pt::start_waiting_sends(place_.id.context, rank,
                                 g_av.locate(static_cast<uint32_t>(world)));
}

bool GroupTree::is_local(int32_t world) const {
  uint32_t local;
  return world >= 0 && g_av.is_mine(static_cast<uint32_t>(world), &local);
}

int32_t GroupTree::rank_of_local(int32_t world) const {
  int32_t index = members_.rank_of(world);
  return index < 0 ? -1 : place_.first + index;
}

void GroupTree::ask(int32_t rank) {
  Search question{g_av.me(), rank};
  question.high = place_.vertices;
  question.high_rank = place_.size;
  question.target = place_.number;
  ++asked_;
  search(question);
}

int32_t GroupTree::find(int32_t rank) {
  if (int32_t world = known(rank); world >= 0) return world;
  std::shared_ptr<GroupTree> keep = shared_from_this();
  Finder finder{rank, -1, sched::current(), finders_};
  finders_ = &finder;
  ask(rank);
  sched::WaitSite site{"a message's first use of a rank", describe_find, true};
  while (finder.world < 0) sched::park(&site);
  return finder.world;
}

/// The neighbour on the path to the vertex with this number.
Address GroupTree::towards(uint32_t number) const {
  uint32_t child = number;
  while (number > place_.number) {
    child = number;
    number = parent_of(number, k_);
  }
  return number == place_.number ? place_.children[child - (place_.number * k_ + 1)]
                                 : place_.parent;
}

void GroupTree::search(Search s) {
  int32_t first = place_.first, past = first + static_cast<int32_t>(place_.weight);
  if (s.rank >= first && s.rank < past) {
    KnownRun run = run_around(s.rank);
    MessageWriter out = step(kFound);
    for (int32_t value : {run.rank, run.world, run.count}) out.put(static_cast<uint32_t>(value));
    return send(s.requester, out.take());
  }
  Address next = place_.parent;
  if (place_.number == kNobody) {
    if (s.rank > first && s.rank < place_.end)
      for (size_t i = 0; i < place_.children.size() && place_.child_first[i] <= s.rank; ++i)
        next = place_.children[i];
  } else {
    // This vertex narrows the bounds. The next guess is by proportion, every third one by half.
    if (s.rank < first && place_.number < s.high) {
      s.high = place_.number;
      s.high_rank = first;
    } else if (s.rank >= past && place_.number >= s.low) {
      s.low = place_.number + 1;
      s.low_rank = past;
    }
    if (s.target < s.low || s.target >= s.high || s.target == place_.number) {
      uint64_t span = s.high - s.low, ranks = static_cast<uint64_t>(s.high_rank - s.low_rank);
      s.target = s.low + static_cast<uint32_t>(
                             ++s.probes % 3 == 0
                                 ? span / 2
                                 : span * static_cast<uint64_t>(s.rank - s.low_rank) / ranks);
    }
    next = towards(s.target);
  }
  MessageWriter out = step(kFind);
  out.put(s.requester);
  out.put(static_cast<uint32_t>(s.rank));
  for (uint32_t value : {s.target, s.low, s.high, s.probes, static_cast<uint32_t>(s.low_rank),
                         static_cast<uint32_t>(s.high_rank)})
    out.put(value);
  send(next, out.take());
}

// ---- The whole map ------------------------------------------------------------------------------

const RankMap& GroupTree::whole() {
  if (has_whole()) return whole_;
  FGMPI_CHECK(!sched::on_host_stack());
  std::shared_ptr<GroupTree> keep = shared_from_this();
  Finder finder{-1, -1, sched::current(), finders_};
  finders_ = &finder;
  if (!std::exchange(wanted_, true)) receive_want(g_av.me());
  sched::WaitSite site{"a call that needs the whole group", describe_map, true};
  while (!has_whole()) sched::park(&site);
  return whole_;
}

/// Wakes the proclets whose answer has arrived.
void GroupTree::wake_answered() {
  if (has_whole()) {
    start_sends(0, place_.size);
    wake_learners();
  }
  Finder* f = std::exchange(finders_, nullptr);
  while (f) {
    Finder* next = f->next;
    if (f->rank >= 0) f->world = known(f->rank);
    if (f->rank < 0 ? has_whole() : f->world >= 0) {
      sched::ready(f->proclet);
    } else {
      f->next = finders_;
      finders_ = f;
    }
    f = next;
  }
}

void GroupTree::receive_want(Address requester) {
  if (place_.parent != kNobody) {
    MessageWriter out = step(kWant);
    out.put(requester);
    return send(place_.parent, out.take());
  }
  if (has_whole()) return send_map(requester);
  requesters_.push_back(requester);
  if (to_gather_ > 0) return;
  gathered_.resize(static_cast<size_t>(place_.size));
  to_gather_ = place_.size;
  ask_members(g_av.me());
}

void GroupTree::ask_members(Address root) {
  for (Address child : place_.children) {
    MessageWriter out = step(kAskMembers);
    out.put(root);
    send(child, out.take());
  }
  send_members(root);
}

/// Sends this process's members to the root as runs of consecutive world ranks, in as many notices
/// as needed.
void GroupTree::send_members(Address root) {
  int32_t count = members_.size();
  for (int32_t i = 0; i < count;) {
    MessageWriter out = step(kMembers);
    out.put(static_cast<uint32_t>(place_.first + i));
    while (i < count && out.size() < kMostEncoded) {
      int32_t start = members_.world_of(i), length = 1;
      while (i + length < count && members_.world_of(i + length) == start + length) ++length;
      out.put(static_cast<uint32_t>(start));
      out.put(static_cast<uint32_t>(length));
      i += length;
    }
    send(root, out.take());
  }
}

void GroupTree::receive_members(MessageReader& in) {
  uint32_t rank = in.get32();
  while (!in.empty()) {
    uint32_t start = in.get32(), length = in.get32();
    FGMPI_CHECK(rank + length <= gathered_.size());
    for (uint32_t i = 0; i < length; ++i) gathered_[rank++] = static_cast<int32_t>(start + i);
    to_gather_ -= static_cast<int32_t>(length);
  }
  if (to_gather_ > 0) return;
  sched::call_on_host([&] { whole_ = RankMap::from_ranks(gathered_); });
  std::vector<int32_t>().swap(gathered_);
  for (Address requester : std::exchange(requesters_, {})) send_map(requester);
  wake_answered();
}

void GroupTree::send_map(Address to) {
  if (to == g_av.me()) return;
  std::vector<uint8_t> encoded;
  sched::call_on_host([&] { whole_.serialize(&encoded); });
  for (size_t at = 0; at < encoded.size(); at += kMostEncoded) {
    size_t n = std::min(kMostEncoded, encoded.size() - at);
    std::vector<uint8_t> message{at + n < encoded.size() ? kMap : kLastOfMap};
    message.insert(message.end(), encoded.begin() + static_cast<ptrdiff_t>(at),
                   encoded.begin() + static_cast<ptrdiff_t>(at + n));
    send(to, std::move(message));
  }
}

void GroupTree::receive_map(std::span<const uint8_t> part) {
  received_.insert(received_.end(), part.begin() + 1, part.end());
  if (part[0] == kMap) return;
  size_t used;
  Status status;
  sched::call_on_host([&] { status = RankMap::deserialize(received_, &used, &whole_); });
  FGMPI_CHECK(status.ok());
  std::vector<uint8_t>().swap(received_);
  wake_answered();
}

// ---- Duplicates ---------------------------------------------------------------------------------

namespace {
/// Makes all processes of the tree agree on the name of a new communicator: bids go up, the name in
/// the best comes down, 2 (P - 1) messages. May switch. Errors: no member has a context id left.
Status agree_over_tree(const comm::SharedComm& parent, uint32_t number,
                       const comm::LeaderCandidate& mine, const char* call, GroupId* out) {
  const TreePosition& place = tree_of(parent)->place();
  const uint64_t ctx = parent.id.plane(comm::kPlaneInternal);
  Bid best{mine, next_serial()};
  for (Address child : place.children) {
    Bid other;
    FGMPI_TRY(pt2pt::process_recv(child, ctx, comm::tag_of(parent, number, comm::kStepGather),
                                  &other, sizeof other, call));
    if (other.before(best)) best = other;
  }
  *out = best.id();
  if (place.parent != kNobody) {
    FGMPI_TRY(pt2pt::process_send(place.parent, ctx,
                                  comm::tag_of(parent, number, comm::kStepGather), &best,
                                  sizeof best, call));
    FGMPI_TRY(pt2pt::process_recv(place.parent, ctx,
                                  comm::tag_of(parent, number, comm::kStepAnswer), out, sizeof *out,
                                  call));
  }
  for (Address child : place.children)
    FGMPI_TRY(pt2pt::process_send(child, ctx, comm::tag_of(parent, number, comm::kStepAnswer), out,
                                  sizeof *out, call));
  comm::settle(mine, {out->context});
  return out->context ? Status() : comm::none_left(call);
}

}  // namespace

/// Makes a tree with the same shape and members under a new name, with the answers and the map that
/// this process has.
std::shared_ptr<GroupTree> GroupTree::copy_as(const GroupId& id) const {
  TreePosition place = place_;
  place.id = id;
  std::shared_ptr<GroupTree> tree(new GroupTree(place, k_, members_));
  tree->cache_ = cache_;
  tree->whole_ = whole_;
  tree->enlist();
  return tree;
}

Status GroupTree::duplicate(comm::SharedComm* shared, uint32_t number,
                            const comm::LeaderCandidate& mine,
                            const std::optional<groupmap::Strategy>& strategy, const char* call,
                            comm::SharedComm** made) {
  GroupId id;
  FGMPI_TRY(agree_over_tree(*shared, number, mine, call, &id));
  std::shared_ptr<GroupTree> tree = copy_as(id);
  RankMap map = strategy || tree->has_whole() ? tree->whole() : tree->lazy_map();
  if (strategy && !map.regular())
    sched::call_on_host([&] { map = RankMap::from_ranks(map.encoded().expand(), *strategy); });
  *made =
      comm::make_shared({{id.context}, &map, nullptr, shared->members, shared->processes, 0, call});
  (*made)->tree = std::move(tree);
  (*made)->hierarchy = shared->hierarchy;
  return {};
}

// ---- The end ------------------------------------------------------------------------------------

void GroupTree::drop() {
  dropped_ = true;
  pass_drop();
}

void GroupTree::pass_drop() {
  if (!dropped_ || asked_ > 0 || children_dropped_ < place_.children.size()) return;
  if (place_.parent != kNobody) return send(place_.parent, step(kDropped).take());
  comm::drop({place_.id.context}, 1);
  forget();
}

void GroupTree::forget() {
  std::shared_ptr<GroupTree> keep = shared_from_this();
  for (Address child : place_.children) send(child, step(kForget).take());
  g_trees.erase(key_of(place_.id));
}

// ---- Notices ------------------------------------------------------------------------------------

void GroupTree::send(Address to, std::vector<uint8_t> message) {
  if (to == g_av.me()) return receive(to, message);
  uint8_t notice[1024];
  FGMPI_CHECK(message.size() + sizeof place_.id.serial <= sizeof notice);
  std::memcpy(notice, &place_.id.serial, sizeof place_.id.serial);
  std::memcpy(notice + sizeof place_.id.serial, message.data(), message.size());
  pt2pt::notify(to, pt2pt::kNoticeGroupTree, place_.id.context, notice,
                sizeof place_.id.serial + message.size());
}

void GroupTree::receive(Address, std::span<const uint8_t> message) {
  MessageReader in(message.subspan(1));
  switch (static_cast<Step>(message[0])) {
    case kFind: {
      Search s{in.get32(), static_cast<int32_t>(in.get32())};
      for (uint32_t* value : {&s.target, &s.low, &s.high, &s.probes}) *value = in.get32();
      s.low_rank = static_cast<int32_t>(in.get32());
      s.high_rank = static_cast<int32_t>(in.get32());
      return search(s);
    }
    case kFound: {
      KnownRun run{};
      for (int32_t* value : {&run.rank, &run.world, &run.count})
        *value = static_cast<int32_t>(in.get32());
      learn(run);
      wake_answered();
      --asked_;
      return pass_drop();
    }
    case kWant:
      return receive_want(in.get32());
    case kAskMembers:
      return ask_members(in.get32());
    case kMembers:
      return receive_members(in);
    case kMap:
    case kLastOfMap:
      return receive_map(message);
    case kDropped:
      ++children_dropped_;
      return pass_drop();
    case kForget:
      return forget();
  }
}

size_t GroupTree::bytes() const {
  return sizeof *this + place_.children.capacity() * sizeof(Address) +
         place_.child_first.capacity() * sizeof(int32_t) + cache_.capacity() * sizeof(KnownRun) +
         members_.bytes() - sizeof(RankMap);
}

uint32_t next_serial() {
  static uint32_t serial = 0;
  return ++serial;
}

namespace {
bool find_peer(uint64_t ctx, int32_t rank, pt2pt::Peer* out) {
  const comm::SharedComm* shared = comm::find_shared({ctx & ~uint64_t{0xff}});
  FGMPI_CHECK(shared && shared->tree);
  GroupTree* tree = tree_of(*shared);
  int32_t world = tree->known(rank);
  if (world < 0) {
    tree->ask(rank);
    return false;
  }
  *out = g_av.locate(static_cast<uint32_t>(world));
  return true;
}
}  // namespace

std::vector<uint8_t> question_for_map() {
  MessageWriter out = step(kWant);
  out.put(g_av.me());
  return out.take();
}

void init_group_trees() {
  comm::add_broken_handler([](comm::SharedComm*, const Status&) { wake_learners(); });
  pt2pt::set_notice_handler(pt2pt::kNoticeGroupTree, on_tree_notice);
  pt2pt::set_address_source(find_peer);
}

}  // namespace fgmpi::system_ranked
