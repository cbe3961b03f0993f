// Every collective, blocking, nonblocking and persistent, with counts of int and of MPI_Count, on
// random communicators, types, counts, layouts, roots and operations, against what point-to-point
// messages and a fold in rank order give (reference.h).
//
//   random [seed [rounds]]     the default is a small sample
#include "forms.h"
#include "reference.h"

namespace {

struct Case {
  Members m;
  const Elements& e;
  uint64_t salt;
  int mode, root_side, root_rank, stride;  // stride: what all have; own_stride: mine
  bool in_place;

  bool is_root() const { return m.side == root_side && m.rank == root_rank; }
  /// In the group whose data the root gets, or that gets the root's.
  bool other() const { return m.side == m.far(root_side); }
  int root() const {
    if (!m.inter || m.side != root_side) return root_rank;
    return is_root() ? MPI_ROOT : MPI_PROC_NULL;
  }
  size_t root_index() const { return static_cast<size_t>(m.index(root_side, root_rank)); }
  int own_stride(int which) const {
    Random r(salt * 131 + static_cast<uint64_t>(m.me() * 2 + which));
    r.next();
    return r.below(3) == 0 ? 3 : 1;
  }
  uint64_t own_salt() const { return salt * 1009 + static_cast<uint64_t>(m.me()); }
};

/// How many elements each rank of a group has, and where.
struct Parts {
  std::vector<int> counts, displs, before;  ///< before: elements of lower ranks
  int room = 0, total = 0;
  bool holes;

  Parts(std::vector<int> c, bool with_holes) : counts(std::move(c)), holes(with_holes) {
    for (int n : counts) {
      displs.push_back(room + holes);
      before.push_back(total);
      room += n + holes;
      total += n;
    }
    room += holes;
  }
  int count(int r) const { return counts[static_cast<size_t>(r)]; }
  int at(int r) const { return displs[static_cast<size_t>(r)]; }
  int start(int r) const { return before[static_cast<size_t>(r)]; }
  std::vector<MPI_Count> wide_counts() const { return {counts.begin(), counts.end()}; }
  std::vector<MPI_Aint> wide_displs() const { return {displs.begin(), displs.end()}; }
  int ranks() const { return static_cast<int>(counts.size()); }
};

/// The same for all parts (regular forms), or different ones with a hole before each.
Parts parts_of(const Case& c, int side, int n, bool uneven) {
  std::vector<int> counts(static_cast<size_t>(c.m.sizes[side]), n);
  Random r(c.salt * 17 + static_cast<uint64_t>(side));
  for (int& count : counts)
    if (uneven && n) count = r.below(2 * n);
  return Parts(counts, uneven);
}

void fill_parts(Room& room, const Parts& p, uint64_t salt) {
  for (int r = 0; r < p.ranks(); ++r)
    room.fill(salt + static_cast<uint64_t>(r) * 7, p.at(r), p.count(r));
}
Bytes packed_parts(Room& room, const Parts& p) {
  Bytes out;
  for (int r = 0; r < p.ranks(); ++r) append(&out, room.packed(p.at(r), p.count(r)));
  return out;
}
void check_parts(Room& room, const Parts& p, const Bytes& expected) {
  CHECK(expected.size() == static_cast<size_t>(p.total) * room.of.size);
  for (int r = 0; r < p.ranks(); ++r) {
    CHECK(room.holds(slice(expected, room.of, p.start(r), p.count(r)), p.at(r), p.count(r)));
    if (p.holes) CHECK(room.untouched(p.at(r) - 1, 1));
  }
  CHECK(room.gaps_untouched());
}

void test_barrier(const Case& c) {
  MPI_Request request;
  if (c.mode < 2) {
    OK(MPI_Barrier(c.m.comm));
  } else if (c.mode < 4) {
    OK(MPI_Ibarrier(c.m.comm, &request));
    COMPLETE;
  } else {
    OK(MPI_Barrier_init(c.m.comm, MPI_INFO_NULL, &request));
    RUN_PERSISTENT;
  }
}

void test_bcast(const Case& c, int n) {
  Room b(c.e, c.own_stride(0), n);
  if (c.is_root()) b.fill(c.own_salt(), 0, n);
  Bytes expected = reference(c.m, c.e, c.is_root() ? b.packed(0, n) : Bytes(),
                             [&](const std::vector<Bytes>& in, int side, int) {
                               return side == c.m.far(c.root_side) ? in[c.root_index()] : Bytes();
                             });
  CALL(Bcast, Ibcast, (b.address(), n, b.type(), c.root(), c.m.comm));
  if (c.other())
    CHECK(b.holds(expected, 0, n));
  else
    CHECK(c.is_root() || b.untouched(0, n));
  CHECK(b.gaps_untouched());
}

void test_gather(const Case& c, int n, bool v) {
  Parts parts = parts_of(c, c.m.far(c.root_side), n, v);
  int mine = c.other() ? parts.count(c.m.rank) : 0;
  bool in_place = c.in_place && c.is_root() && !c.m.inter;
  Room one(c.e, c.own_stride(0), mine), many(c.e, c.own_stride(1), c.is_root() ? parts.room : 0);
  one.fill(c.own_salt(), 0, mine);
  if (in_place) many.unpack(one.packed(0, mine), parts.at(c.m.rank));
  Bytes expected =
      reference(c.m, c.e, one.packed(0, mine), [&](const std::vector<Bytes>& in, int side, int r) {
        bool root = side == c.root_side && r == c.root_rank;
        return root ? joined(c.m, in, c.m.far(c.root_side)) : Bytes();
      });
  const void* from = in_place ? MPI_IN_PLACE : one.address();
  if (v) {
    auto wide_counts = parts.wide_counts();
    auto wide_displs = parts.wide_displs();
    CALL_V(Gatherv, Igatherv,
           (from, mine, one.type(), many.address(), parts.counts.data(), parts.displs.data(),
            many.type(), c.root(), c.m.comm),
           (from, mine, one.type(), many.address(), wide_counts.data(), wide_displs.data(),
            many.type(), c.root(), c.m.comm));
  } else {
    CALL(Gather, Igather,
         (from, mine, one.type(), many.address(), n, many.type(), c.root(), c.m.comm));
  }
  if (c.is_root()) check_parts(many, parts, expected);
}

void test_scatter(const Case& c, int n, bool v) {
  Parts parts = parts_of(c, c.m.far(c.root_side), n, v);
  int mine = c.other() ? parts.count(c.m.rank) : 0;
  bool in_place = c.in_place && c.is_root() && !c.m.inter;
  Room one(c.e, c.own_stride(0), mine), many(c.e, c.own_stride(1), c.is_root() ? parts.room : 0);
  if (c.is_root()) fill_parts(many, parts, c.own_salt());
  Bytes expected =
      reference(c.m, c.e, c.is_root() ? packed_parts(many, parts) : Bytes(),
                [&](const std::vector<Bytes>& in, int side, int r) {
                  if (side != c.m.far(c.root_side)) return Bytes();
                  return slice(in[c.root_index()], c.e, parts.start(r), parts.count(r));
                });
  void* to = in_place ? MPI_IN_PLACE : one.address();
  if (v) {
    auto wide_counts = parts.wide_counts();
    auto wide_displs = parts.wide_displs();
    CALL_V(Scatterv, Iscatterv,
           (many.address(), parts.counts.data(), parts.displs.data(), many.type(), to, mine,
            one.type(), c.root(), c.m.comm),
           (many.address(), wide_counts.data(), wide_displs.data(), many.type(), to, mine,
            one.type(), c.root(), c.m.comm));
  } else {
    CALL(Scatter, Iscatter,
         (many.address(), n, many.type(), to, mine, one.type(), c.root(), c.m.comm));
  }
  if (c.other() && !in_place) CHECK(one.holds(expected, 0, mine));
  CHECK(one.gaps_untouched());
}

void test_allgather(const Case& c, int n, bool v) {
  Parts parts = parts_of(c, c.m.far(c.m.side), n, v);
  int mine = parts_of(c, c.m.side, n, v).count(c.m.rank);
  bool in_place = c.in_place && !c.m.inter;
  Room one(c.e, c.own_stride(0), mine), many(c.e, c.own_stride(1), parts.room);
  one.fill(c.own_salt(), 0, mine);
  if (in_place) many.unpack(one.packed(0, mine), parts.at(c.m.rank));
  Bytes expected = reference(
      c.m, c.e, one.packed(0, mine),
      [&](const std::vector<Bytes>& in, int side, int) { return joined(c.m, in, c.m.far(side)); });
  const void* from = in_place ? MPI_IN_PLACE : one.address();
  if (v) {
    auto wide_counts = parts.wide_counts();
    auto wide_displs = parts.wide_displs();
    CALL_V(Allgatherv, Iallgatherv,
           (from, mine, one.type(), many.address(), parts.counts.data(), parts.displs.data(),
            many.type(), c.m.comm),
           (from, mine, one.type(), many.address(), wide_counts.data(), wide_displs.data(),
            many.type(), c.m.comm));
  } else {
    CALL(Allgather, Iallgather, (from, mine, one.type(), many.address(), n, many.type(), c.m.comm));
  }
  check_parts(many, parts, expected);
}

enum class Form { kPlain, kV, kW };

/// What passes between two members, the same both ways (MPI_IN_PLACE demands it).
Parts pairs_of(const Case& c, int side, int rank, int n, bool uneven) {
  std::vector<int> counts;
  int self = c.m.index(side, rank);
  for (int r = 0; r < c.m.sizes[c.m.far(side)]; ++r) {
    int peer = c.m.index(c.m.far(side), r);
    Random random(c.salt * 29 + static_cast<uint64_t>(std::max(self, peer)) * 1000 +
                  static_cast<uint64_t>(std::min(self, peer)));
    random.next();
    counts.push_back(uneven && n ? random.below(2 * n) : n);
  }
  return Parts(counts, uneven);
}

struct InBytes {  ///< of the w forms
  std::vector<int> displs;
  std::vector<MPI_Aint> wide;
  std::vector<MPI_Datatype> types;
  InBytes(const Room& room, const Parts& p) : types(p.counts.size(), room.type()) {
    for (int d : p.displs) {
      displs.push_back(static_cast<int>(room.bytes(d)));
      wide.push_back(static_cast<MPI_Aint>(room.bytes(d)));
    }
  }
};

void call_alltoall(const Case& c, Form form, const void* from, Room& out, Room& in, const Parts& p,
                   int n) {
  auto counts = p.wide_counts();
  auto displs = p.wide_displs();
  if (form == Form::kPlain) {
    CALL(Alltoall, Ialltoall, (from, n, out.type(), in.address(), n, in.type(), c.m.comm));
  } else if (form == Form::kV) {
    CALL_V(Alltoallv, Ialltoallv,
           (from, p.counts.data(), p.displs.data(), out.type(), in.address(), p.counts.data(),
            p.displs.data(), in.type(), c.m.comm),
           (from, counts.data(), displs.data(), out.type(), in.address(), counts.data(),
            displs.data(), in.type(), c.m.comm));
  } else {
    InBytes w_out(out, p), w_in(in, p);
    CALL_V(Alltoallw, Ialltoallw,
           (from, p.counts.data(), w_out.displs.data(), w_out.types.data(), in.address(),
            p.counts.data(), w_in.displs.data(), w_in.types.data(), c.m.comm),
           (from, counts.data(), w_out.wide.data(), w_out.types.data(), in.address(), counts.data(),
            w_in.wide.data(), w_in.types.data(), c.m.comm));
  }
}

void test_alltoall(const Case& c, int n, Form form) {
  bool v = form != Form::kPlain, in_place = c.in_place && !c.m.inter;
  Parts parts = pairs_of(c, c.m.side, c.m.rank, n, v);
  Room out(c.e, c.own_stride(0), parts.room), in(c.e, c.own_stride(1), parts.room);
  fill_parts(out, parts, c.own_salt());
  if (in_place)
    for (int r = 0; r < parts.ranks(); ++r)
      in.unpack(out.packed(parts.at(r), parts.count(r)), parts.at(r));
  std::vector<std::vector<int>> starts = collect(c.m, parts.before);
  Bytes expected = reference(
      c.m, c.e, packed_parts(out, parts), [&](const std::vector<Bytes>& all, int side, int rank) {
        Parts theirs = pairs_of(c, side, rank, n, v);
        Bytes result;
        for (int r = 0; r < theirs.ranks(); ++r) {
          size_t from = static_cast<size_t>(c.m.index(c.m.far(side), r));
          append(&result,
                 slice(all[from], c.e, starts[from][static_cast<size_t>(rank)], theirs.count(r)));
        }
        return result;
      });
  call_alltoall(c, form, in_place ? MPI_IN_PLACE : out.address(), out, in, parts, n);
  check_parts(in, parts, expected);
}

MPI_Op operation(const Case& c) {
  if (c.stride == 3) return c.e.user[1];
  Random r(c.salt * 3 + 1);
  r.next();
  int plain = static_cast<int>(c.e.ops.size());
  int which = r.below(plain + (c.e.user[0] == MPI_OP_NULL ? 0 : 1));
  return which < plain ? c.e.ops[static_cast<size_t>(which)] : c.e.user[0];
}
/// The same operation on plain elements, for the reference.
MPI_Op plain_operation(const Case& c) { return c.stride == 3 ? c.e.user[0] : operation(c); }

void test_reduce(const Case& c, int n, bool all) {
  bool gets = all || c.is_root(), gives = all || c.other();
  bool in_place = c.in_place && gets && !c.m.inter;
  Room out(c.e, c.stride, gives ? n : 0), in(c.e, c.stride, gets ? n : 0);
  if (gives) out.fill(c.own_salt(), 0, n);
  Bytes mine = gives ? out.packed(0, n) : Bytes();
  if (in_place) in.unpack(mine, 0);
  Bytes expected =
      reference(c.m, c.e, mine, [&](const std::vector<Bytes>& all_data, int side, int r) {
        if (!all && (side != c.root_side || r != c.root_rank)) return Bytes();
        int far = c.m.far(side);
        return folded(c.m, all_data, c.e, plain_operation(c), far, c.m.sizes[far] - 1);
      });
  const void* from = in_place ? MPI_IN_PLACE : out.address();
  if (all)
    CALL(Allreduce, Iallreduce, (from, in.address(), n, in.type(), operation(c), c.m.comm));
  else
    CALL(Reduce, Ireduce, (from, in.address(), n, in.type(), operation(c), c.root(), c.m.comm));
  if (gets) CHECK(in.holds(expected, 0, n));
  CHECK(in.gaps_untouched() && (!gives || out.holds(mine, 0, n)));
}

void test_scan(const Case& c, int n, bool exclusive) {
  if (c.m.inter) return;
  Room out(c.e, c.stride, n), in(c.e, c.stride, n);
  out.fill(c.own_salt(), 0, n);
  Bytes mine = out.packed(0, n);
  if (c.in_place) in.unpack(mine, 0);
  Bytes expected = reference(c.m, c.e, mine, [&](const std::vector<Bytes>& all, int side, int r) {
    int last = exclusive ? r - 1 : r;
    return last < 0 ? Bytes() : folded(c.m, all, c.e, plain_operation(c), side, last);
  });
  const void* from = c.in_place ? MPI_IN_PLACE : out.address();
  if (exclusive)
    CALL(Exscan, Iexscan, (from, in.address(), n, in.type(), operation(c), c.m.comm));
  else
    CALL(Scan, Iscan, (from, in.address(), n, in.type(), operation(c), c.m.comm));
  if (c.m.rank > 0 || !exclusive)
    CHECK(in.holds(expected, 0, n));
  else
    CHECK(c.in_place ? in.holds(mine, 0, n) : in.untouched(0, n));
  CHECK(in.gaps_untouched());
}

void test_reduce_scatter(const Case& c, int n, bool block) {
  // Both groups of an intercommunicator have vectors of the same length.
  auto blocks = [&](int side) {
    return c.m.inter ? parts_of(c, side, n * c.m.sizes[1 - side], false)
                     : parts_of(c, side, n, !block);
  };
  Parts parts(blocks(c.m.side).counts, false);
  int mine = parts.count(c.m.rank);
  bool in_place = c.in_place && !c.m.inter;
  Room out(c.e, c.stride, parts.total), in(c.e, c.stride, in_place ? parts.total : mine);
  out.fill(c.own_salt(), 0, parts.total);
  Bytes data = out.packed(0, parts.total);
  if (in_place) in.unpack(data, 0);
  Bytes expected = reference(c.m, c.e, data, [&](const std::vector<Bytes>& all, int side, int r) {
    int far = c.m.far(side);
    Parts theirs(blocks(side).counts, false);
    return slice(folded(c.m, all, c.e, plain_operation(c), far, c.m.sizes[far] - 1), c.e,
                 theirs.start(r), theirs.count(r));
  });
  const void* from = in_place ? MPI_IN_PLACE : out.address();
  if (block) {
    CALL(Reduce_scatter_block, Ireduce_scatter_block,
         (from, in.address(), mine, in.type(), operation(c), c.m.comm));
  } else {
    auto wide_counts = parts.wide_counts();
    CALL_V(Reduce_scatter, Ireduce_scatter,
           (from, in.address(), parts.counts.data(), in.type(), operation(c), c.m.comm),
           (from, in.address(), wide_counts.data(), in.type(), operation(c), c.m.comm));
  }
  CHECK(in.holds(expected, 0, mine) && in.gaps_untouched());
}

constexpr int kForms = 18;
constexpr int kFirstReduction = 11, kFirstReduceScatter = 15;

/// Elements of a part, of forms that have one for every rank: fewer.
int part_of_each(const Case& c, int n) { return std::max(n / c.m.total(), std::min(n, 3)); }

void run_one(const Case& c, int which, int n) {
  const int each = part_of_each(c, n);
  switch (which) {
    case 0:
      return test_barrier(c);
    case 1:
      return test_bcast(c, n);
    case 2:
    case 3:
      return test_gather(c, each, which == 3);
    case 4:
    case 5:
      return test_scatter(c, each, which == 5);
    case 6:
    case 7:
      return test_allgather(c, each, which == 7);
    case 8:
      return test_alltoall(c, each, Form::kPlain);
    case 9:
      return test_alltoall(c, each, Form::kV);
    case 10:
      return test_alltoall(c, each, Form::kW);
    case 11:
    case 12:
      return test_reduce(c, n, which == 12);
    case 13:
    case 14:
      return test_scan(c, n, which == 14);
    case 15:
      return test_reduce_scatter(c, each, false);
    case 16:
      return test_reduce_scatter(c, each, true);
    default:
      return test_reduce(c, std::min(n, 1000), true);  // short ones go another way
  }
}

/// All communicators; a null one for those who are not in it.
std::vector<Members> all_members(Random& random, std::vector<Shape>* shapes) {
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  std::vector<Members> all;
  *shapes = make_shapes(random);
  for (const Shape& s : *shapes) {
    Members m{s.comm, s.comm, false, 0, 0, {0, 0}};
    if (s.comm != MPI_COMM_NULL) {
      OK(MPI_Comm_rank(s.comm, &m.rank));
      OK(MPI_Comm_size(s.comm, &m.sizes[0]));
    }
    all.push_back(m);
  }
  // Odd and even; one and the rest; a third and the rest with ranks in reverse.
  for (int kind = 0; kind < 3 && size > 1; ++kind) {
    int cut = kind == 1 ? 1 : (size + 2) / 3;
    int side = kind == 0 ? rank % 2 : rank >= cut;
    int leaders[2] = {0, kind == 0 ? 1 : cut};
    if (kind == 2) leaders[0] = cut - 1, leaders[1] = size - 1;
    MPI_Comm local;
    Members m{MPI_COMM_NULL, MPI_COMM_NULL, true, side, 0, {0, 0}};
    int key = kind == 2 ? -rank : rank;
    OK(MPI_Comm_split(MPI_COMM_WORLD, side, key, &local));
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, leaders[1 - side], kind, &m.comm));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, side * size + (kind == 2 ? size - rank : rank), &m.all));
    OK(MPI_Comm_free(&local));
    OK(MPI_Comm_rank(m.comm, &m.rank));
    OK(MPI_Comm_size(m.comm, &m.sizes[side]));
    OK(MPI_Comm_remote_size(m.comm, &m.sizes[1 - side]));
    all.push_back(m);
  }
  return all;
}

/// Elements so that what one rank must hold for the reference stays moderate, and what all `world`
/// ranks hold.
int moderate(int n, const Members& m, const Elements& e, int world) {
  const int64_t most = std::min<int64_t>(16 << 20, (int64_t{2} << 30) / world);
  for (int less : {n, 1000, 7})
    if (less <= n && int64_t{less} * m.total() * static_cast<int64_t>(e.size) <= most) return less;
  return std::min(n, 1);
}

/// In a reduce-scatter of an intercommunicator each rank has so many elements for each pair of
/// ranks of the two groups.
bool is_too_large(const Case& c, int which, int n, int world) {
  constexpr double kMost = 4e9;  // bytes of all ranks
  if (!c.m.inter || (which != kFirstReduceScatter && which != kFirstReduceScatter + 1))
    return false;
  const double pairs = double(c.m.sizes[0]) * c.m.sizes[1], each = part_of_each(c, n);
  return pairs * each * static_cast<double>(c.e.size) * world > kMost;
}

/// sample: half of all that there is.
void run_round(const std::vector<Members>& all, const AllElements& elements, Random& random,
               int world, bool sample) {
  const int counts[] = {0, 1, 7, 1000, 100003};
  for (const Members& m : all)
    for (int which = 0; which < kForms; ++which) {
      // Drawn by all ranks alike, members or not.
      uint64_t salt = random.next() >> 20;
      int mode = random.below(6), side = random.below(2), root = random.below(1 << 20);
      bool in_place = random.below(3) == 0;
      const Elements& e =
          elements.list[static_cast<size_t>(random.below(static_cast<int>(elements.list.size())))];
      bool gapped = which >= kFirstReduction && e.user[1] != MPI_OP_NULL && random.below(2);
      int n = counts[random.below(5)];
      bool left_out = sample && random.below(2);
      if (m.comm == MPI_COMM_NULL || left_out) continue;
      if (!m.inter) side = 0;
      Case c{m, e, salt, mode, side, root % m.sizes[side], gapped ? 3 : 1, in_place};
      n = moderate(n, m, e, world);
      if (!is_too_large(c, which, n, world)) run_one(c, which, n);
    }
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  int world;
  OK(MPI_Comm_size(MPI_COMM_WORLD, &world));
  uint64_t seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
  int rounds = argc > 2 ? atoi(argv[2]) : world > 64 ? 1 : 4;
  Random random(seed + static_cast<uint64_t>(world));
  {
    AllElements elements;
    std::vector<Shape> shapes;
    std::vector<Members> all = all_members(random, &shapes);
    for (int round = 0; round < rounds; ++round)
      run_round(all, elements, random, world, world > 64 && argc <= 2);
    for (Members& m : all)
      if (m.inter) {
        OK(MPI_Comm_free(&m.comm));
        OK(MPI_Comm_free(&m.all));
      }
    free_shapes(shapes);
  }
  return finish();
}
