// What collectives must do, by point-to-point messages alone: everybody sends what it has to one
// rank, which works the results out one after the other in rank order and sends them back.
//
// The same for intra- and intercommunicators: `all` is an intracommunicator of everybody, the
// members of group 0 first; in an intercommunicator the far group of a member is the other one, in
// an intracommunicator its own.
#ifndef FGMPI_TEST_REFERENCE_H
#define FGMPI_TEST_REFERENCE_H

#include "elements.h"

using Bytes = std::vector<char>;

struct Members {
  MPI_Comm comm;  ///< the collectives' own
  MPI_Comm all;
  bool inter;
  int side, rank, sizes[2];

  int size() const { return sizes[side]; }
  int far(int of_side) const { return inter ? 1 - of_side : of_side; }
  int far_size() const { return sizes[far(side)]; }
  int index(int of_side, int r) const { return of_side == 0 ? r : sizes[0] + r; }
  int total() const { return inter ? sizes[0] + sizes[1] : sizes[0]; }
  int me() const { return index(side, rank); }
};

inline Bytes receive(int from, MPI_Datatype type, size_t size, MPI_Comm comm) {
  MPI_Status status;
  int n;
  OK(MPI_Probe(from, 17, comm, &status));
  OK(MPI_Get_count(&status, type, &n));
  Bytes in(static_cast<size_t>(n) * size);
  OK(MPI_Recv(in.data(), n, type, from, 17, comm, MPI_STATUS_IGNORE));
  return in;
}

inline void send(const Bytes& out, int to, MPI_Datatype type, size_t size, MPI_Comm comm) {
  OK(MPI_Send(out.data(), static_cast<int>(out.size() / size), type, to, 17, comm));
}

/// Everybody's data by index, at index 0 only.
inline std::vector<Bytes> collect(const Members& m, const Bytes& mine, MPI_Datatype type,
                                  size_t size) {
  std::vector<Bytes> in;
  if (m.me() != 0) {
    send(mine, 0, type, size, m.all);
    return in;
  }
  in.push_back(mine);
  for (int i = 1; i < m.total(); ++i) in.push_back(receive(i, type, size, m.all));
  return in;
}

inline std::vector<std::vector<int>> collect(const Members& m, const std::vector<int>& mine) {
  const char* bytes = reinterpret_cast<const char*>(mine.data());
  std::vector<std::vector<int>> in;
  for (const Bytes& b :
       collect(m, Bytes(bytes, bytes + mine.size() * sizeof(int)), MPI_INT, sizeof(int))) {
    const int* values = reinterpret_cast<const int*>(b.data());
    in.emplace_back(values, values + b.size() / sizeof(int));
  }
  return in;
}

/// To everybody what compute(in, side, rank) says, where in is by index.
template <class F>
Bytes reference(const Members& m, const Elements& e, const Bytes& mine, F&& compute) {
  std::vector<Bytes> in = collect(m, mine, e.plain, e.size);
  if (m.me() != 0) return receive(0, e.plain, e.size, m.all);
  Bytes own = compute(in, 0, 0);
  for (int side = 0; side < (m.inter ? 2 : 1); ++side)
    for (int r = 0; r < m.sizes[side]; ++r)
      if (m.index(side, r) != 0)
        send(compute(in, side, r), m.index(side, r), e.plain, e.size, m.all);
  return own;
}

/// Elements first .. first+n-1.
inline Bytes slice(const Bytes& from, const Elements& e, int64_t first, int64_t n) {
  auto at = from.begin() + first * static_cast<int64_t>(e.size);
  return Bytes(at, at + n * static_cast<int64_t>(e.size));
}
inline void append(Bytes* to, const Bytes& more) {
  to->insert(to->end(), more.begin(), more.end());
}

inline Bytes joined(const Members& m, const std::vector<Bytes>& in, int side) {
  Bytes out;
  for (int r = 0; r < m.sizes[side]; ++r) append(&out, in[static_cast<size_t>(m.index(side, r))]);
  return out;
}

/// Ranks 0 .. last of a group folded from the left.
inline Bytes folded(const Members& m, const std::vector<Bytes>& in, const Elements& e, MPI_Op op,
                    int side, int last) {
  Bytes sum = in[static_cast<size_t>(m.index(side, 0))];
  for (int r = 1; r <= last; ++r) {
    Bytes next = in[static_cast<size_t>(m.index(side, r))];
    OK(MPI_Reduce_local(sum.data(), next.data(), static_cast<int>(sum.size() / e.size), e.plain,
                        op));
    sum.swap(next);
  }
  return sum;
}

#endif
