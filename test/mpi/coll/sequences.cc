// Random sequences of collectives on up to twenty overlapping communicators: nonblocking and
// persistent ones in another order across the communicators at each rank and completed in any
// order, blocking ones between them, against a serial model that every rank works out from the
// plan.
//
//   sequences [seed [epochs]]     the default is a small sample
//
// The plan is drawn by all ranks alike. An epoch is a list of operations: those of one communicator
// begin in the plan's order at every rank, blocking ones (and the initialisation of persistent
// ones) in the plan's order over all communicators, and nobody waits for a nonblocking one before
// it is through with the blocking ones. Everything else each rank does as it likes.
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "mpitest.h"

namespace {

using Value = uint64_t;
using Dice = std::mt19937_64;
int below(Dice& dice, int n) { return static_cast<int>(dice() % static_cast<uint64_t>(n)); }

/// Element i of what member `rank` brings for part `part`.
Value brought(uint64_t salt, int rank, int part, int i) {
  uint64_t x = salt + static_cast<uint64_t>(rank) * 0x9e3779b97f4a7c15u +
               static_cast<uint64_t>(part) * 0xc2b2ae3d27d4eb4fu + static_cast<uint64_t>(i);
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 32)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Affine maps y = a x + b over 32-bit numbers, a above b: composing does not commute.
Value then(Value f, Value g) {
  uint32_t a = static_cast<uint32_t>(f >> 32), b = static_cast<uint32_t>(f);
  uint32_t c = static_cast<uint32_t>(g >> 32), d = static_cast<uint32_t>(g);
  return uint64_t{a * c} << 32 | (b * c + d);
}
void compose(void* in, void* inout, int* length, MPI_Datatype* type) {
  MPI_Aint lb, extent;
  MPI_Type_get_extent(*type, &lb, &extent);
  for (int i = 0; i < *length; ++i) {
    Value f, g;
    memcpy(&f, static_cast<char*>(in) + i * extent, sizeof f);
    memcpy(&g, static_cast<char*>(inout) + i * extent, sizeof g);
    g = then(f, g);
    memcpy(static_cast<char*>(inout) + i * extent, &g, sizeof g);
  }
}

enum Operation { kSum, kXor, kMax, kCompose, kOperations };
Value apply(int op, Value x, Value y) {
  switch (op) {
    case kSum:
      return x + y;
    case kXor:
      return x ^ y;
    case kMax:
      return std::max(x, y);
    default:
      return then(x, y);
  }
}

/// How elements lie: one after the other, with gaps below and above, or falling.
struct Layout {
  MPI_Datatype type;
  int step;  ///< in elements
};

struct Setting {
  Layout layouts[3];
  MPI_Op ops[kOperations] = {MPI_SUM, MPI_BXOR, MPI_MAX, MPI_OP_NULL};
  Setting() {
    layouts[0] = {MPI_UINT64_T, 1};
    OK(MPI_Type_create_resized(MPI_UINT64_T, -8, 24, &layouts[1].type));
    OK(MPI_Type_create_resized(MPI_UINT64_T, 0, -8, &layouts[2].type));
    layouts[1].step = 3;
    layouts[2].step = -1;
    OK(MPI_Type_commit(&layouts[1].type));
    OK(MPI_Type_commit(&layouts[2].type));
    OK(MPI_Op_create(compose, 0, &ops[kCompose]));
  }
  ~Setting() {
    OK(MPI_Type_free(&layouts[1].type));
    OK(MPI_Type_free(&layouts[2].type));
    OK(MPI_Op_free(&ops[kCompose]));
  }
};

/// Elements in a layout; all other memory must stay as it is.
class Room {
 public:
  static constexpr Value kFiller = 0x7b7b7b7b7b7b7b7b;
  Room(const Layout& layout, int count)
      : layout_(layout),
        count_(count),
        memory_(static_cast<size_t>(count * std::abs(layout.step)) + 8, kFiller),
        known_(static_cast<size_t>(count), kFiller) {}
  void* address() { return &at(0); }
  MPI_Datatype type() const { return layout_.type; }
  /// Now, and expected later unless expect() says otherwise.
  void put(int i, Value v) { at(i) = known_[static_cast<size_t>(i)] = v; }
  void expect(int i, Value v) { known_[static_cast<size_t>(i)] = v; }
  bool as_expected() {
    size_t others = 0;
    for (Value v : memory_) others += v == kFiller;
    for (int i = 0; i < count_; ++i) {
      if (at(i) != known_[static_cast<size_t>(i)]) return false;
      others -= at(i) == kFiller;
    }
    return others == memory_.size() - static_cast<size_t>(count_);
  }

 private:
  Value& at(int i) {
    int first = layout_.step < 0 ? count_ + 3 : 4;
    return memory_[static_cast<size_t>(first + i * layout_.step)];
  }
  Layout layout_;
  int count_;
  std::vector<Value> memory_, known_;
};

struct Team {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = -1, size = 0;
};

enum Kind {
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kExscan,
  kKinds
};
enum Mode { kBlocking, kNonblocking, kPersistent, kModes };

/// What the plan says, the same for all.
struct Step {
  int team, kind, mode, root, count, op;
  uint64_t salt;
  bool in_place;
};

/// A step at this rank: its buffers, what they must hold in the end, its request.
class Work {
 public:
  Work(const Setting& setting, const Team& team, const Step& step, Dice& own)
      : s_(step),
        t_(team),
        root_(step.root % team.size),
        op_(setting.ops[step.op]),
        in_(setting.layouts[layout(own)], elements_in()),
        out_(setting.layouts[layout(own)], elements_out()) {
    if (reduces() && s_.op == kCompose) {
      // One datatype for all members and both sides.
      const Layout& same = setting.layouts[s_.salt % 3];
      in_ = Room(same, elements_in());
      out_ = Room(same, elements_out());
    }
    for (int r = 0; r < t_.size; ++r) {
      counts_.push_back(part(r));
      displs_.push_back(at(r));
      pair_counts_.push_back(pair(r));
      pair_displs_.push_back(r * s_.count);
    }
  }

  const Step& step() const { return s_; }
  MPI_Request* request() { return &request_; }
  bool persistent() const { return s_.mode == kPersistent; }

  /// Fresh data and what must become of it; round: of a persistent one.
  void prepare(int round) {
    salt_ = s_.salt + static_cast<uint64_t>(round) * 1000003;
    fill();
    foresee();
  }
  void check() {
    if (in_.as_expected() && out_.as_expected()) return;
    fprintf(stderr,
            "sequences: kind %d mode %d op %d count %d root %d in place %d, member %d of %d\n",
            s_.kind, s_.mode, s_.op, s_.count, root_, s_.in_place, t_.rank, t_.size);
    CHECK(!"the result of the serial model");
  }
  void begin();  ///< blocking: all of it; nonblocking: starts; persistent: initialises

 private:
  bool reduces() const { return s_.kind >= kReduce; }
  bool is_root() const { return t_.rank == root_; }
  int layout(Dice& own) const { return reduces() ? 0 : below(own, 4) == 0 ? 1 + below(own, 2) : 0; }
  /// Elements of member r in the v forms, and where; of this member and r between each other.
  int part(int r) const {
    bool v = s_.kind == kGatherv || s_.kind == kScatterv || s_.kind == kAllgatherv ||
             s_.kind == kReduceScatter;
    return v ? static_cast<int>(brought(s_.salt, r, 1 << 20, 0) % (s_.count + 1)) : s_.count;
  }
  int at(int r) const { return r * s_.count; }
  int pair(int r) const {
    int low = std::min(r, t_.rank), high = std::max(r, t_.rank);
    return static_cast<int>(brought(s_.salt, low, 2 << 20, high) % (s_.count + 1));
  }
  int total() const {
    int sum = 0;
    for (int r = 0; r < t_.size; ++r) sum += part(r);
    return sum;
  }
  int before(int rank) const {
    int sum = 0;
    for (int r = 0; r < rank; ++r) sum += part(r);
    return sum;
  }
  bool scatters() const { return s_.kind == kScatter || s_.kind == kScatterv; }
  bool gathers() const { return s_.kind == kGather || s_.kind == kGatherv; }
  bool all_to_all() const { return s_.kind == kAlltoall || s_.kind == kAlltoallv; }
  bool scatters_sums() const { return s_.kind == kReduceScatter || s_.kind == kReduceScatterBlock; }
  bool takes_in_place() const {
    switch (s_.kind) {
      case kBarrier:
      case kBcast:
        return false;
      case kGather:
      case kGatherv:
      case kScatter:
      case kScatterv:
      case kReduce:
        return s_.in_place && is_root();
      default:
        return s_.in_place;
    }
  }
  int elements_in() const {
    if (s_.kind == kBarrier || s_.kind == kBcast) return 0;
    if (scatters()) return is_root() ? t_.size * s_.count : 0;
    if (all_to_all()) return t_.size * s_.count;
    return scatters_sums() ? total() : part(t_.rank);
  }
  int elements_out() const {
    if (s_.kind == kBarrier) return 0;
    if (gathers()) return is_root() ? t_.size * s_.count : 0;
    if (s_.kind == kAllgather || s_.kind == kAllgatherv || all_to_all()) return t_.size * s_.count;
    if (scatters_sums()) return takes_in_place() ? total() : part(t_.rank);
    return scatters() ? part(t_.rank) : s_.count;
  }

  void fill();
  void foresee();
  /// Members 0 .. last folded in rank order.
  Value folded(int last, int i) const {
    Value sum = brought(salt_, 0, 0, i);
    for (int r = 1; r <= last; ++r) sum = apply(s_.op, sum, brought(salt_, r, 0, i));
    return sum;
  }

  Step s_;
  Team t_;
  int root_;
  MPI_Op op_;
  uint64_t salt_ = 0;
  Room in_, out_;
  std::vector<int> counts_, displs_, pair_counts_, pair_displs_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

void Work::fill() {
  for (int i = 0; i < elements_out(); ++i) out_.put(i, Room::kFiller - 1);
  if (s_.kind == kBcast) {
    for (int i = 0; i < s_.count && is_root(); ++i) out_.put(i, brought(salt_, root_, 0, i));
    return;
  }
  // In place, what is given lies where the result goes.
  bool in_place = takes_in_place();
  if (all_to_all() || scatters()) {
    Room& from = in_place && all_to_all() ? out_ : in_;
    for (int r = 0; r < t_.size && (all_to_all() || is_root()); ++r)
      for (int i = 0; i < (s_.kind == kAlltoallv ? pair(r) : part(r)); ++i)
        from.put(at(r) + i, brought(salt_, t_.rank, r, i));
    return;
  }
  bool own_part = in_place && !reduces();  // gather and allgather: at this member's place
  int n = scatters_sums() ? total() : s_.kind == kBarrier ? 0 : part(t_.rank);
  for (int i = 0; i < n; ++i)
    (in_place ? out_ : in_).put(own_part ? at(t_.rank) + i : i, brought(salt_, t_.rank, 0, i));
}

void Work::foresee() {
  switch (s_.kind) {
    case kBarrier:
      return;
    case kBcast:
      for (int i = 0; i < s_.count; ++i) out_.expect(i, brought(salt_, root_, 0, i));
      return;
    case kGather:
    case kGatherv:
    case kAllgather:
    case kAllgatherv:
      if (gathers() && !is_root()) return;
      for (int r = 0; r < t_.size; ++r)
        for (int i = 0; i < part(r); ++i) out_.expect(at(r) + i, brought(salt_, r, 0, i));
      return;
    case kScatter:
    case kScatterv:
      if (takes_in_place()) return;
      for (int i = 0; i < part(t_.rank); ++i) out_.expect(i, brought(salt_, root_, t_.rank, i));
      return;
    case kAlltoall:
    case kAlltoallv:
      for (int r = 0; r < t_.size; ++r)
        for (int i = 0; i < (s_.kind == kAlltoallv ? pair(r) : s_.count); ++i)
          out_.expect(at(r) + i, brought(salt_, r, t_.rank, i));
      return;
    case kReduce:
      for (int i = 0; i < s_.count && is_root(); ++i) out_.expect(i, folded(t_.size - 1, i));
      return;
    case kAllreduce:
      for (int i = 0; i < s_.count; ++i) out_.expect(i, folded(t_.size - 1, i));
      return;
    case kReduceScatter:
    case kReduceScatterBlock:
      for (int i = 0; i < part(t_.rank); ++i)
        out_.expect(i, folded(t_.size - 1, before(t_.rank) + i));
      return;
    case kScan:
      for (int i = 0; i < s_.count; ++i) out_.expect(i, folded(t_.rank, i));
      return;
    default:
      for (int i = 0; i < s_.count && t_.rank > 0; ++i) out_.expect(i, folded(t_.rank - 1, i));
  }
}

#define CALL(Name, Iname, ...)                                      \
  do {                                                              \
    if (s_.mode == kBlocking)                                       \
      OK(MPI_##Name(__VA_ARGS__));                                  \
    else if (s_.mode == kNonblocking)                               \
      OK(MPI_##Iname(__VA_ARGS__, &request_));                      \
    else                                                            \
      OK(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_)); \
    return;                                                         \
  } while (0)

void Work::begin() {
  bool in_place = takes_in_place();
  const void* in = in_place ? MPI_IN_PLACE : in_.address();
  void *out = out_.address(), *scattered = in_place ? MPI_IN_PLACE : out;
  MPI_Datatype from = in_.type(), to = out_.type();
  MPI_Comm comm = t_.comm;
  int n = s_.count, mine = part(t_.rank);
  switch (s_.kind) {
    case kBarrier:
      CALL(Barrier, Ibarrier, comm);
    case kBcast:
      CALL(Bcast, Ibcast, out, n, to, root_, comm);
    case kGather:
      CALL(Gather, Igather, in, n, from, out, n, to, root_, comm);
    case kGatherv:
      CALL(Gatherv, Igatherv, in, mine, from, out, counts_.data(), displs_.data(), to, root_, comm);
    case kScatter:
      CALL(Scatter, Iscatter, in_.address(), n, from, scattered, n, to, root_, comm);
    case kScatterv:
      CALL(Scatterv, Iscatterv, in_.address(), counts_.data(), displs_.data(), from, scattered,
           mine, to, root_, comm);
    case kAllgather:
      CALL(Allgather, Iallgather, in, n, from, out, n, to, comm);
    case kAllgatherv:
      CALL(Allgatherv, Iallgatherv, in, mine, from, out, counts_.data(), displs_.data(), to, comm);
    case kAlltoall:
      CALL(Alltoall, Ialltoall, in, n, from, out, n, to, comm);
    case kAlltoallv:
      CALL(Alltoallv, Ialltoallv, in, pair_counts_.data(), pair_displs_.data(), from, out,
           pair_counts_.data(), pair_displs_.data(), to, comm);
    case kReduce:
      CALL(Reduce, Ireduce, in, out, n, to, op_, root_, comm);
    case kAllreduce:
      CALL(Allreduce, Iallreduce, in, out, n, to, op_, comm);
    case kReduceScatter:
      CALL(Reduce_scatter, Ireduce_scatter, in, out, counts_.data(), to, op_, comm);
    case kReduceScatterBlock:
      CALL(Reduce_scatter_block, Ireduce_scatter_block, in, out, n, to, op_, comm);
    case kScan:
      CALL(Scan, Iscan, in, out, n, to, op_, comm);
    default:
      CALL(Exscan, Iexscan, in, out, n, to, op_, comm);
  }
}

/// Random subsets of the world in random order, some of them whole; members of others have no comm.
std::vector<Team> make_teams(Dice& dice, int n) {
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  std::vector<Team> teams(static_cast<size_t>(n));
  for (int k = 0; k < n; ++k) {
    std::vector<int> keys(static_cast<size_t>(size));
    bool whole = k % 5 == 0, ordered = below(dice, 3) == 0;
    bool in = false;
    int fewest = below(dice, size);  // somebody is in
    for (int r = 0; r < size; ++r) {
      bool member = whole || r == fewest || below(dice, 2);
      keys[static_cast<size_t>(r)] = ordered ? r : below(dice, 1 << 20);
      if (r == rank) in = member;
    }
    Team& t = teams[static_cast<size_t>(k)];
    OK(MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, keys[static_cast<size_t>(rank)],
                      &t.comm));
    if (!in) continue;
    OK(MPI_Comm_rank(t.comm, &t.rank));
    OK(MPI_Comm_size(t.comm, &t.size));
  }
  return teams;
}

std::vector<Step> draw(Dice& dice, int teams, int size) {
  static const int counts[] = {0, 1, 1, 3, 17, 130, 600};
  std::vector<Step> steps;
  for (int i = 0; i < 40; ++i) {
    Step s;
    s.team = below(dice, teams);
    s.kind = below(dice, kKinds);
    s.mode = below(dice, kModes);
    s.root = below(dice, 1 << 20);
    s.count = counts[below(dice, size > 32 ? 6 : 7)];
    if (s.kind < kReduce && s.kind != kBcast) s.count = std::min(s.count, size > 32 ? 17 : 130);
    // Rarely, what no longer fits a frame or the short path.
    if (below(dice, 40) == 0 && size <= 32) s.count = 9000;
    s.op = below(dice, kOperations);
    s.salt = dice() >> 8;
    s.in_place = below(dice, 3) == 0;
    steps.push_back(s);
  }
  return steps;
}

/// Completes those of `pending` that a random way of asking finds, or all of them.
void complete(std::vector<Work*>* pending, Dice& own, bool all) {
  while (!pending->empty()) {
    std::vector<MPI_Request> requests;
    for (Work* w : *pending) requests.push_back(*w->request());
    int n = static_cast<int>(requests.size()), done = 0;
    std::vector<int> which(requests.size());
    switch (all ? below(own, 4) : 4 + below(own, 2)) {
      case 0:
        OK(MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE));
        for (int i = 0; i < n; ++i) which[static_cast<size_t>(i)] = i;
        done = n;
        break;
      case 1:
        OK(MPI_Waitany(n, requests.data(), &which[0], MPI_STATUS_IGNORE));
        done = 1;
        break;
      case 2:
        OK(MPI_Waitsome(n, requests.data(), &done, which.data(), MPI_STATUSES_IGNORE));
        break;
      case 3:
        which[0] = below(own, n);
        OK(MPI_Wait(&requests[static_cast<size_t>(which[0])], MPI_STATUS_IGNORE));
        done = 1;
        break;
      case 4:
        OK(MPI_Testsome(n, requests.data(), &done, which.data(), MPI_STATUSES_IGNORE));
        break;
      default:
        which[0] = below(own, n);
        OK(MPI_Test(&requests[static_cast<size_t>(which[0])], &done, MPI_STATUS_IGNORE));
    }
    std::vector<bool> gone(requests.size());
    for (int i = 0; i < done; ++i) {
      size_t k = static_cast<size_t>(which[static_cast<size_t>(i)]);
      *(*pending)[k]->request() = requests[k];
      (*pending)[k]->check();
      gone[k] = true;
    }
    std::vector<Work*> left;
    for (size_t k = 0; k < pending->size(); ++k)
      if (!gone[k]) left.push_back((*pending)[k]);
    pending->swap(left);
    if (!all) return;
  }
}

void run_epoch(const Setting& setting, const std::vector<Team>& teams, Dice& dice, Dice& own) {
  int size;
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  std::vector<std::unique_ptr<Work>> mine;
  for (const Step& s : draw(dice, static_cast<int>(teams.size()), size))
    if (teams[static_cast<size_t>(s.team)].comm != MPI_COMM_NULL)
      mine.push_back(std::make_unique<Work>(setting, teams[static_cast<size_t>(s.team)], s, own));
  std::vector<Work*> pending, persistent;
  std::vector<bool> begun(mine.size());
  for (size_t left = mine.size(); left > 0; --left) {
    // Any that is not behind another of its communicator, nor behind a blocking one if it is one.
    std::vector<size_t> ready;
    std::vector<bool> busy(teams.size());
    bool behind = false;
    for (size_t i = 0; i < mine.size(); ++i) {
      if (begun[i]) continue;
      size_t team = static_cast<size_t>(mine[i]->step().team);
      bool ordered = mine[i]->step().mode != kNonblocking;
      if (!busy[team] && !(ordered && behind)) ready.push_back(i);
      busy[team] = true;
      behind |= ordered;
    }
    size_t i = ready[static_cast<size_t>(below(own, static_cast<int>(ready.size())))];
    Work* w = mine[i].get();
    begun[i] = true;
    w->prepare(0);
    w->begin();
    if (w->persistent())
      persistent.push_back(w);
    else if (w->step().mode == kNonblocking)
      pending.push_back(w);
    else
      w->check();
    if (below(own, 3) == 0) complete(&pending, own, false);
  }
  for (int round = 0; round < 3; ++round) {
    std::shuffle(persistent.begin(), persistent.end(), own);
    std::vector<MPI_Request> together;
    for (size_t i = 0; i < persistent.size(); ++i) {
      persistent[i]->prepare(round);
      if (i % 2)
        OK(MPI_Start(persistent[i]->request()));
      else
        together.push_back(*persistent[i]->request());
      pending.push_back(persistent[i]);
    }
    OK(MPI_Startall(static_cast<int>(together.size()), together.data()));
    complete(&pending, own, true);
  }
  complete(&pending, own, true);
  for (Work* w : persistent) OK(MPI_Request_free(w->request()));
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  uint64_t seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
  int epochs = argc > 2 ? atoi(argv[2]) : size > 32 ? 3 : 12;
  Dice dice(seed), own(seed * 1000003 + static_cast<uint64_t>(rank));
  {
    Setting setting;
    for (int e = 0; e < epochs; ++e) {
      std::vector<Team> teams = make_teams(dice, 1 + below(dice, 20));
      run_epoch(setting, teams, dice, own);
      // Freed in an order of the plan's own, while others may still be completing theirs.
      for (Team& t : teams)
        if (t.comm != MPI_COMM_NULL) OK(MPI_Comm_free(&t.comm));
    }
  }
  return finish();
}
