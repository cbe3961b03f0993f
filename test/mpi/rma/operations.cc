// Every predefined operation on every predefined type in accumulates, by every way to the target:
// compared byte by byte with a model, so that what lies in gaps (of pairs, of derived types) at the
// target and in results must stay as it was.
#include <vector>

#include "error_class.h"
#include "operations.h"

namespace {

int g_rank, g_size;
constexpr int kElements = 3, kSlot = 2048;

/// A window of kSlot bytes for each rank at each rank: `mine` is this rank's at the target.
struct Target {
  MPI_Win win;
  int rank;
  MPI_Aint mine;
  bool exclusive;  ///< locked for each access by itself

  void begin() const {
    if (exclusive) OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
  }
  void end() const { OK(exclusive ? MPI_Win_unlock(rank, win) : MPI_Win_flush(rank, win)); }
  void write(const unsigned char* image) const {
    begin();
    OK(MPI_Put(image, kSlot, MPI_BYTE, rank, mine, kSlot, MPI_BYTE, win));
    end();
  }
  void read(unsigned char* image) const {
    begin();
    OK(MPI_Get(image, kSlot, MPI_BYTE, rank, mine, kSlot, MPI_BYTE, win));
    end();
  }
  void expect(const unsigned char* image) const {
    unsigned char seen[kSlot];
    read(seen);
    CHECK(!memcmp(seen, image, kSlot));
  }
};

/// How elements lie in memory: each `stride` bytes behind the one before.
struct Shape {
  MPI_Datatype type;
  int count;
  size_t stride;
};

/// Elements in a row, each second one of a row, and with an extent that is larger.
struct Shapes {
  Shapes(MPI_Datatype type, size_t element) {
    MPI_Datatype vector, resized;
    OK(MPI_Type_vector(kElements, 1, 2, type, &vector));
    OK(MPI_Type_create_resized(type, 0, static_cast<MPI_Aint>(element + 8), &resized));
    OK(MPI_Type_commit(&vector));
    OK(MPI_Type_commit(&resized));
    all[0] = {type, kElements, element};
    all[1] = {vector, 1, 2 * element};
    all[2] = {resized, kElements, element + 8};
  }
  ~Shapes() {
    OK(MPI_Type_free(&all[1].type));
    OK(MPI_Type_free(&all[2].type));
  }
  Shape all[3];
};

template <class T>
void fill(unsigned char* image, size_t stride, int first) {
  memset(image, kGap, kSlot);
  for (int i = 0; i < kElements; ++i)
    store(image + static_cast<size_t>(i) * stride, number<T>(first + 2 * i));
}

int run(const Target& t, const Operation& o, const Shape& from, const unsigned char* origin,
        const Shape& to, const Shape& back, unsigned char* result, bool fetches, bool request) {
  MPI_Request r = MPI_REQUEST_NULL;
  t.begin();
  const void* in = o.op == MPI_NO_OP ? nullptr : origin;
  const int n = o.op == MPI_NO_OP ? 0 : from.count;
  int code;
  if (fetches && request)
    code = MPI_Rget_accumulate(in, n, from.type, result, back.count, back.type, t.rank, t.mine,
                               to.count, to.type, o.op, t.win, &r);
  else if (fetches)
    code = MPI_Get_accumulate(in, n, from.type, result, back.count, back.type, t.rank, t.mine,
                              to.count, to.type, o.op, t.win);
  else if (request)
    code = MPI_Raccumulate(in, n, from.type, t.rank, t.mine, to.count, to.type, o.op, t.win, &r);
  else
    code = MPI_Accumulate(in, n, from.type, t.rank, t.mine, to.count, to.type, o.op, t.win);
  OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  t.end();
  return code;
}

/// One operation with these shapes: the target, the result and the gaps of both are as the model
/// says.
template <class T>
void compare(const Target& t, const Operation& o, const Shape& from, const Shape& to,
             const Shape& back, bool request) {
  for (const bool fetches : {false, true}) {
    if (!fetches && o.op == MPI_NO_OP) continue;
    unsigned char origin[kSlot], image[kSlot], result[kSlot], before[kSlot];
    fill<T>(origin, from.stride, o.op == MPI_PROD ? 3 : 5);
    fill<T>(image, to.stride, 4);
    memset(result, kGap, kSlot);
    memset(before, kGap, kSlot);
    t.write(image);
    OK(run(t, o, from, origin, to, back, result, fetches, request));
    for (int i = 0; i < kElements; ++i) {
      const T a = number<T>((o.op == MPI_PROD ? 3 : 5) + 2 * i), b = number<T>(4 + 2 * i);
      store(image + static_cast<size_t>(i) * to.stride, applied(o.op, a, b));
      if (fetches) store(before + static_cast<size_t>(i) * back.stride, b);
    }
    unsigned char seen[kSlot];
    t.read(seen);
    forget_padding<T>(seen, to.stride, kElements);
    forget_padding<T>(image, to.stride, kElements);
    forget_padding<T>(result, back.stride, kElements);
    forget_padding<T>(before, back.stride, kElements);
    CHECK(!memcmp(seen, image, kSlot));
    CHECK(!memcmp(result, before, kSlot));
  }
}

template <class T>
void fetch_and_op(const Target& t, const Operation& o, MPI_Datatype type) {
  unsigned char origin[kSlot], image[kSlot], result[kSlot], before[kSlot];
  fill<T>(origin, sizeof(T), 3);
  fill<T>(image, sizeof(T), 4);
  memset(result, kGap, kSlot);
  memset(before, kGap, kSlot);
  t.write(image);
  t.begin();
  OK(MPI_Fetch_and_op(o.op == MPI_NO_OP ? nullptr : origin, result, type, t.rank, t.mine, o.op,
                      t.win));
  t.end();
  store(image, applied(o.op, number<T>(3), number<T>(4)));
  store(before, number<T>(4));
  unsigned char seen[kSlot];
  t.read(seen);
  for (auto* bytes : {seen, image, result, before}) forget_padding<T>(bytes, sizeof(T), kElements);
  CHECK(!memcmp(seen, image, kSlot));
  CHECK(!memcmp(result, before, kSlot));
}

void no_fetch(const Target& t, const Operation& o, MPI_Datatype type, int error_class) {
  unsigned char origin[kSlot] = {}, result[kSlot];
  t.begin();
  CHECK(class_of(MPI_Fetch_and_op(origin, result, type, t.rank, t.mine, o.op, t.win)) ==
        error_class);
  t.end();
}

/// An error of the operation, after which the target is as before. Of no elements there is none.
void undefined(const Target& t, const Operation& o, MPI_Datatype type, bool derived) {
  unsigned char origin[kSlot] = {}, image[kSlot], result[kSlot];
  memset(image, kGap, kSlot);
  t.write(image);
  const Shape some{type, kElements, 0}, none{type, 0, 0};
  for (const bool fetches : {false, true})
    for (const bool request : {false, true}) {
      CHECK(class_of(run(t, o, some, origin, some, some, result, fetches, request)) == MPI_ERR_OP);
      OK(run(t, o, none, origin, none, none, result, fetches, request));
    }
  no_fetch(t, o, type, derived ? MPI_ERR_TYPE : MPI_ERR_OP);
  t.expect(image);
}

/// `sets`: the operations that the type has. MPI_Fetch_and_op is for predefined ones.
template <class T>
void test(const Target& t, MPI_Datatype type, unsigned sets, bool derived = false) {
  if (type == MPI_DATATYPE_NULL) return;
  const Shapes shapes(type, sizeof(T));
  int round = 0;
  for (const Operation& o : kOps) {
    if (!(o.set & (sets | kMoving))) {
      undefined(t, o, type, derived);
      continue;
    }
    const auto& s = shapes.all;
    compare<T>(t, o, s[0], s[0], s[0], ++round % 2);
    compare<T>(t, o, s[1], s[2], s[0], false);
    compare<T>(t, o, s[2], s[0], s[1], ++round % 2);
    compare<T>(t, o, s[0], s[1], s[2], false);
    if (derived)
      no_fetch(t, o, type, MPI_ERR_TYPE);
    else
      fetch_and_op<T>(t, o, type);
  }
}

void c_types(const Target& t) {
  test<char>(t, MPI_CHAR, kAll);
  test<signed char>(t, MPI_SIGNED_CHAR, kAll);
  test<unsigned char>(t, MPI_UNSIGNED_CHAR, kAll);
  test<short>(t, MPI_SHORT, kAll);
  test<unsigned short>(t, MPI_UNSIGNED_SHORT, kAll);
  test<int>(t, MPI_INT, kAll);
  test<unsigned>(t, MPI_UNSIGNED, kAll);
  test<long>(t, MPI_LONG, kAll);
  test<unsigned long>(t, MPI_UNSIGNED_LONG, kAll);
  test<long long>(t, MPI_LONG_LONG, kAll);
  test<unsigned long long>(t, MPI_UNSIGNED_LONG_LONG, kAll);
  test<int8_t>(t, MPI_INT8_T, kAll);
  test<int16_t>(t, MPI_INT16_T, kAll);
  test<int32_t>(t, MPI_INT32_T, kAll);
  test<int64_t>(t, MPI_INT64_T, kAll);
  test<uint8_t>(t, MPI_UINT8_T, kAll);
  test<uint16_t>(t, MPI_UINT16_T, kAll);
  test<uint32_t>(t, MPI_UINT32_T, kAll);
  test<uint64_t>(t, MPI_UINT64_T, kAll);
  test<MPI_Aint>(t, MPI_AINT, kAll);
  test<MPI_Offset>(t, MPI_OFFSET, kAll);
  test<MPI_Count>(t, MPI_COUNT, kAll);
  test<float>(t, MPI_FLOAT, kOrder | kSums | kLogical);
  test<double>(t, MPI_DOUBLE, kOrder | kSums | kLogical);
  test<long double>(t, MPI_LONG_DOUBLE, kOrder | kSums | kLogical);
  // As integers of their size, as in MPICH.
  test<unsigned char>(t, MPI_BYTE, kAll);
  test<unsigned char>(t, MPI_PACKED, kAll);
  test<unsigned char>(t, MPI_C_BOOL, kAll);
  test<unsigned char>(t, MPI_CXX_BOOL, kAll);
  test<wchar_t>(t, MPI_WCHAR, 0);
  test<std::complex<float>>(t, MPI_C_FLOAT_COMPLEX, kSums);
  test<std::complex<double>>(t, MPI_C_DOUBLE_COMPLEX, kSums);
  test<std::complex<long double>>(t, MPI_C_LONG_DOUBLE_COMPLEX, kSums);
  test<std::complex<float>>(t, MPI_CXX_FLOAT_COMPLEX, kSums);
  test<std::complex<double>>(t, MPI_CXX_DOUBLE_COMPLEX, kSums);
  test<std::complex<long double>>(t, MPI_CXX_LONG_DOUBLE_COMPLEX, kSums);
}

void fortran_types(const Target& t) {
  test<int>(t, MPI_INTEGER, kAll);
  test<int8_t>(t, MPI_INTEGER1, kAll);
  test<int16_t>(t, MPI_INTEGER2, kAll);
  test<int32_t>(t, MPI_INTEGER4, kAll);
  test<int64_t>(t, MPI_INTEGER8, kAll);
  test<int>(t, MPI_LOGICAL, kAll);
  test<char>(t, MPI_CHARACTER, kAll);
  test<float>(t, MPI_REAL, kOrder | kSums | kLogical);
  test<double>(t, MPI_DOUBLE_PRECISION, kOrder | kSums | kLogical);
  test<float>(t, MPI_REAL4, kOrder | kSums | kLogical);
  test<double>(t, MPI_REAL8, kOrder | kSums | kLogical);
  test<std::complex<float>>(t, MPI_COMPLEX, kSums);
  test<std::complex<double>>(t, MPI_DOUBLE_COMPLEX, kSums);
  test<std::complex<float>>(t, MPI_COMPLEX8, kSums);
  test<std::complex<double>>(t, MPI_COMPLEX16, kSums);
  MPI_Datatype type;
  OK(MPI_Type_create_f90_integer(2, &type));
  test<int8_t>(t, type, kAll);
  OK(MPI_Type_create_f90_integer(9, &type));
  test<int32_t>(t, type, kAll);
  OK(MPI_Type_create_f90_integer(18, &type));
  test<int64_t>(t, type, kAll);
  OK(MPI_Type_create_f90_real(6, MPI_UNDEFINED, &type));
  test<float>(t, type, kOrder | kSums | kLogical);
  OK(MPI_Type_create_f90_real(15, 300, &type));
  test<double>(t, type, kOrder | kSums | kLogical);
  OK(MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &type));
  test<std::complex<double>>(t, type, kSums);
}

void pairs(const Target& t) {
  test<Located<float, int>>(t, MPI_FLOAT_INT, kLocating);
  test<Located<double, int>>(t, MPI_DOUBLE_INT, kLocating);
  test<Located<long, int>>(t, MPI_LONG_INT, kLocating);
  test<Located<short, int>>(t, MPI_SHORT_INT, kLocating);
  test<Located<long double, int>>(t, MPI_LONG_DOUBLE_INT, kLocating);
  test<Located<int, int>>(t, MPI_2INT, kLocating);
  test<Located<int, int>>(t, MPI_2INTEGER, kLocating);
  test<Located<float, float>>(t, MPI_2REAL, kLocating);
  test<Located<double, double>>(t, MPI_2DOUBLE_PRECISION, kLocating);
}

/// Duplicates have the operations of what they are duplicates of; structures of one type those of
/// that.
void derived(const Target& t) {
  MPI_Datatype type;
  OK(MPI_Type_dup(MPI_INT, &type));
  test<int>(t, type, kAll, true);
  OK(MPI_Type_free(&type));
  OK(MPI_Type_dup(MPI_SHORT_INT, &type));
  test<Located<short, int>>(t, type, kLocating, true);
  OK(MPI_Type_free(&type));
}

template <class T>
void swap(const Target& t, MPI_Datatype type) {
  for (const bool equal : {true, false}) {
    unsigned char image[kSlot];
    const T there = static_cast<T>(7), other = static_cast<T>(9), wanted = equal ? there : other;
    T old = 0;
    fill<T>(image, sizeof(T), 7);
    t.write(image);
    t.begin();
    OK(MPI_Compare_and_swap(&other, &wanted, &old, type, t.rank, t.mine, t.win));
    t.end();
    CHECK(old == there);
    if (equal) store(image, other);
    t.expect(image);
  }
}

void swaps(const Target& t) {
  MPI_Datatype type;
  OK(MPI_Type_create_f90_integer(9, &type));
  swap<int32_t>(t, type);
  OK(MPI_Type_create_f90_integer(4, &type));
  swap<int16_t>(t, type);
  swap<unsigned char>(t, MPI_BYTE);
  swap<int>(t, MPI_LOGICAL);
  swap<long>(t, MPI_LONG);
  double one = 1, two = 2, old;
  OK(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &type));
  t.begin();
  for (MPI_Datatype wrong :
       {type, static_cast<MPI_Datatype>(MPI_DOUBLE), static_cast<MPI_Datatype>(MPI_SHORT_INT)})
    CHECK(class_of(MPI_Compare_and_swap(&one, &two, &old, wrong, t.rank, t.mine, t.win)) ==
          MPI_ERR_TYPE);
  t.end();
}

enum class Kind { kAllocated, kCreated, kDynamic };

/// `bytes` at each rank. Returns where displacements of the target begin.
MPI_Aint make_window(Kind kind, MPI_Aint bytes, int to, char** memory, MPI_Win* win) {
  MPI_Aint base = 0;
  if (kind == Kind::kAllocated) {
    OK(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, memory, win));
  } else {
    *memory = static_cast<char*>(malloc(static_cast<size_t>(bytes)));
    if (kind == Kind::kCreated) {
      OK(MPI_Win_create(*memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, win));
    } else {
      std::vector<MPI_Aint> all(static_cast<size_t>(g_size));
      OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win));
      OK(MPI_Win_attach(*win, *memory, bytes));
      OK(MPI_Get_address(*memory, &base));
      OK(MPI_Allgather(&base, 1, MPI_AINT, all.data(), 1, MPI_AINT, MPI_COMM_WORLD));
      base = all[static_cast<size_t>(to)];
    }
  }
  memset(*memory, kGap, static_cast<size_t>(bytes));
  OK(MPI_Win_set_errhandler(*win, MPI_ERRORS_RETURN));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return base;
}

void free_window(Kind kind, char* memory, MPI_Win* win) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (kind == Kind::kDynamic) OK(MPI_Win_detach(*win, memory));
  OK(MPI_Win_free(win));
  if (kind != Kind::kAllocated) free(memory);
}

void all_types(Kind kind, bool exclusive, int to) {
  char* memory;
  Target t{MPI_WIN_NULL, to, 0, exclusive};
  const MPI_Aint base = make_window(kind, MPI_Aint{kSlot} * g_size, to, &memory, &t.win);
  t.mine = base + MPI_Aint{kSlot} * g_rank;
  if (!exclusive) OK(MPI_Win_lock_all(0, t.win));
  pairs(t);
  derived(t);
  if (!exclusive) {
    c_types(t);
    fortran_types(t);
    swaps(t);
    OK(MPI_Win_unlock_all(t.win));
  }
  free_window(kind, memory, &t.win);
}

/// A window that ends with the data of its last pair: the gap behind an index belongs to nobody.
void at_the_end(Kind kind, int to) {
  constexpr int kBytes = 12;
  char* memory;
  MPI_Win win;
  const MPI_Aint base = make_window(kind, MPI_Aint{kBytes} * g_size, to, &memory, &win);
  const MPI_Aint mine = base + MPI_Aint{kBytes} * g_rank;
  unsigned char first[kBytes + 4], second[kBytes + 4], result[kBytes + 4];
  for (auto* image : {first, second, result}) memset(image, kGap, kBytes + 4);
  store(first, Located<double, int>{2, 4});
  store(second, Located<double, int>{3, 8});
  OK(MPI_Win_lock_all(0, win));
  OK(MPI_Accumulate(first, 1, MPI_DOUBLE_INT, to, mine, 1, MPI_DOUBLE_INT, MPI_REPLACE, win));
  OK(MPI_Get_accumulate(second, 1, MPI_DOUBLE_INT, result, 1, MPI_DOUBLE_INT, to, mine, 1,
                        MPI_DOUBLE_INT, MPI_MAXLOC, win));
  OK(MPI_Win_flush(to, win));
  CHECK(!memcmp(result, first, sizeof result));
  memset(result, kGap, sizeof result);
  OK(MPI_Get(result, kBytes, MPI_BYTE, to, mine, kBytes, MPI_BYTE, win));
  OK(MPI_Win_flush(to, win));
  CHECK(!memcmp(result, second, sizeof result));
  OK(MPI_Win_unlock_all(win));
  free_window(kind, memory, &win);
}

/// All ranks accumulate pairs at rank 0, and each puts numbers of its own into the gap of one: none
/// is lost.
void gaps_are_others(Kind kind) {
  char* memory;
  MPI_Win win;
  const MPI_Aint base = make_window(kind, MPI_Aint{8} * g_size, 0, &memory, &win);
  std::vector<Located<short, int>> all(static_cast<size_t>(g_size)), old(all.size());
  OK(MPI_Win_lock_all(0, win));
  for (int k = 1; k <= 50; ++k) {
    const short number = static_cast<short>(k);
    const MPI_Aint gap = base + 8 * g_rank + 2;
    short seen = 0;
    OK(MPI_Put(&number, 1, MPI_SHORT, 0, gap, 1, MPI_SHORT, win));
    OK(MPI_Win_flush(0, win));
    for (auto& pair : all) pair = {number, g_rank};
    if (k % 2)
      OK(MPI_Accumulate(all.data(), g_size, MPI_SHORT_INT, 0, base, g_size, MPI_SHORT_INT,
                        k % 4 == 1 ? MPI_REPLACE : MPI_MAXLOC, win));
    else
      OK(MPI_Get_accumulate(all.data(), g_size, MPI_SHORT_INT, old.data(), g_size, MPI_SHORT_INT, 0,
                            base, g_size, MPI_SHORT_INT, MPI_MAXLOC, win));
    OK(MPI_Win_flush(0, win));
    OK(MPI_Get(&seen, 1, MPI_SHORT, 0, gap, 1, MPI_SHORT, win));
    OK(MPI_Win_flush(0, win));
    CHECK(seen == number);
  }
  OK(MPI_Win_unlock_all(win));
  free_window(kind, memory, &win);
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &g_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &g_size));
  const int to = (g_rank + g_size / 2) % g_size;
  for (Kind kind : {Kind::kAllocated, Kind::kCreated, Kind::kDynamic}) {
    all_types(kind, false, to);
    all_types(kind, true, to);
    at_the_end(kind, to);
    if (!getenv("FGMPI_RMA_CHECK")) gaps_are_others(kind);
  }
  return finish();
}
