// What the tests of collectives share: data that any rank can compute for any other, buffers with
// and without gaps whose untouched parts are checked, and communicators of many shapes. The same
// random numbers are drawn by all ranks.
#ifndef FGMPI_TEST_COLL_DATA_H
#define FGMPI_TEST_COLL_DATA_H

#include <fgmpi.h>
#include <stdint.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "mpitest.h"

struct Random {
  uint64_t state;
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1du;
  }
  int below(int n) { return static_cast<int>((next() >> 33) % static_cast<uint64_t>(n)); }
};

/// Element i of what rank `from` has for rank `to` in the round `salt`. Small, so that sums do not
/// overflow.
inline int64_t element(uint64_t salt, int from, int to, int64_t i) {
  uint64_t x = salt * 1000003 + static_cast<uint64_t>(from) * 7919 +
               static_cast<uint64_t>(to) * 104729 + static_cast<uint64_t>(i) * 31;
  x ^= x >> 31;
  x *= 0x9e3779b97f4a7c15u;
  return static_cast<int64_t>((x >> 40) & 0xfffff) - 0x7ffff;
}

/// How 64-bit integers lie: one after the other, or every third with a negative lower bound.
struct Layout {
  MPI_Datatype type = MPI_INT64_T;
  int stride = 1;
};

struct Layouts {
  Layout plain, gapped;
  Layouts() {
    OK(MPI_Type_create_resized(MPI_INT64_T, -8, 24, &gapped.type));
    OK(MPI_Type_commit(&gapped.type));
    gapped.stride = 3;
  }
  ~Layouts() { MPI_Type_free(&gapped.type); }
  const Layout& pick(Random& r) const { return r.below(3) == 0 ? gapped : plain; }
};

/// Room for `count` elements; everything else must stay as it is.
struct Buffer {
  static constexpr int64_t kUntouched = 0x5a5a5a5a5a5a5a5a;
  Layout layout;
  int64_t count;
  std::vector<int64_t> memory;
  Buffer(const Layout& l, int64_t n)
      : layout(l), count(n), memory(static_cast<size_t>(n * l.stride + 4), kUntouched) {}
  void* address() { return memory.data() + 2; }
  int64_t& at(int64_t i) { return memory[static_cast<size_t>(2 + i * layout.stride)]; }
  void check_gaps() {
    CHECK(memory[0] == kUntouched && memory[1] == kUntouched);
    for (int64_t i = 0; i < count; ++i)
      for (int k = 1; k < layout.stride; ++k) CHECK((&at(i))[k] == kUntouched);
    CHECK(memory[static_cast<size_t>(2 + count * layout.stride)] == kUntouched);
  }
};

struct Shape {
  const char* name;
  MPI_Comm comm;  ///< MPI_COMM_NULL for those who are not in it
};

/// World, reversed, odd and even, a random permutation, a random subset, single members, members
/// unevenly spread, and groups whose ranks the system picks.
inline std::vector<Shape> make_shapes(Random& random) {
  int rank, size;
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  std::vector<int> key(static_cast<size_t>(size)), in(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) {
    key[static_cast<size_t>(i)] = random.below(1 << 20);
    in[static_cast<size_t>(i)] = random.below(2);
  }
  size_t me = static_cast<size_t>(rank);
  std::vector<Shape> shapes;
  auto split = [&](const char* name, int color, int k) {
    MPI_Comm c;
    OK(MPIX_Comm_split(MPI_COMM_WORLD, color, k, &c));
    shapes.push_back({name, c});
  };
  MPI_Comm dup;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  shapes.push_back({"world", dup});
  split("reversed", 0, -rank);
  split("odd and even", rank % 2, rank);
  split("permuted", 0, key[me]);
  split("random halves", in[me], key[me]);
  split("single", rank, 0);
  split("uneven", rank < (3 * size + 3) / 4 ? 0 : MPI_UNDEFINED, rank);
  split("system-ranked", 0, MPIX_SYSTEM_RANKED);
  split("system-ranked random halves", in[me], MPIX_SYSTEM_RANKED);
  return shapes;
}

inline void free_shapes(std::vector<Shape>& shapes) {
  for (Shape& s : shapes)
    if (s.comm != MPI_COMM_NULL) OK(MPI_Comm_free(&s.comm));
}

/// 2x2 matrices modulo a prime: products associate but do not commute.
struct Matrix {
  int32_t a[4];
  bool operator==(const Matrix& o) const { return std::equal(a, a + 4, o.a); }
};
inline Matrix operator*(const Matrix& x, const Matrix& y) {
  constexpr int64_t kPrime = 10007;
  auto mod = [](int64_t v) { return static_cast<int32_t>(v % kPrime); };
  return {{mod(int64_t{x.a[0]} * y.a[0] + int64_t{x.a[1]} * y.a[2]),
           mod(int64_t{x.a[0]} * y.a[1] + int64_t{x.a[1]} * y.a[3]),
           mod(int64_t{x.a[2]} * y.a[0] + int64_t{x.a[3]} * y.a[2]),
           mod(int64_t{x.a[2]} * y.a[1] + int64_t{x.a[3]} * y.a[3])}};
}
inline Matrix matrix(uint64_t salt, int rank, int64_t i) {
  Matrix m;
  for (int k = 0; k < 4; ++k)
    m.a[k] = static_cast<int32_t>((element(salt, rank, k, i) + 0x7ffff) % 10007);
  return m;
}
inline void multiply(void* in, void* inout, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i)
    static_cast<Matrix*>(inout)[i] = static_cast<Matrix*>(in)[i] * static_cast<Matrix*>(inout)[i];
}

#endif
