// Elements of many types for tests of collectives: how they are filled and compared, which
// operations they take, and buffers of them with and without gaps whose other bytes are watched.
// Values are such that reductions are exact in any order.
#ifndef FGMPI_TEST_ELEMENTS_H
#define FGMPI_TEST_ELEMENTS_H

#include <string.h>

#include <complex>

#include "coll_data.h"

struct DoubleInt {
  double value;
  int where;
  bool operator==(const DoubleInt& o) const { return value == o.value && where == o.where; }
};

inline void put(uint64_t bits, int* out) { *out = static_cast<int>(bits >> 40) - (1 << 23); }
inline void put(uint64_t bits, int64_t* out) { *out = static_cast<int64_t>(bits >> 8); }
inline void put(uint64_t bits, unsigned char* out) {
  *out = static_cast<unsigned char>(bits >> 20);
}
inline void put(uint64_t bits, double* out) { *out = static_cast<double>(bits >> 44) - 7; }
inline void put(uint64_t bits, long double* out) { *out = static_cast<double>(bits >> 30) + 0.5; }
inline void put(uint64_t bits, std::complex<double>* out) {
  *out = {static_cast<double>(bits >> 50), static_cast<double>(bits & 0xffff) - 100};
}
inline void put(uint64_t bits, DoubleInt* out) {
  *out = {static_cast<double>(bits >> 62), static_cast<int>(bits & 0xff)};  // ties are common
}
inline void put(uint64_t bits, Matrix* out) { *out = matrix(bits >> 20, 1, 2); }

/// A type of elements: the plain MPI type, and one with gaps and a negative lower bound, whose
/// extent is three elements.
struct Elements {
  const char* name;
  size_t size;  ///< bytes from one element of the plain type to the next
  MPI_Datatype plain, gapped = MPI_DATATYPE_NULL;
  void (*fill)(uint64_t bits, void* out);
  bool (*equal)(const void* a, const void* b);
  std::vector<MPI_Op> ops;                      ///< on the plain type
  MPI_Op user[2] = {MPI_OP_NULL, MPI_OP_NULL};  ///< user operation on plain, on gapped

  MPI_Datatype type(int stride) const { return stride == 1 ? plain : gapped; }
};

template <class T>
Elements elements_of(const char* name, MPI_Datatype type, std::vector<MPI_Op> ops) {
  Elements e{};
  e.name = name;
  e.size = sizeof(T);
  e.plain = type;
  e.fill = [](uint64_t bits, void* out) { put(bits, static_cast<T*>(out)); };
  e.equal = [](const void* a, const void* b) {
    return *static_cast<const T*>(a) == *static_cast<const T*>(b);
  };
  e.ops = std::move(ops);
  e.user[0] = e.user[1] = MPI_OP_NULL;
  OK(MPI_Type_create_resized(type, -static_cast<MPI_Aint>(sizeof(T)), 3 * sizeof(T), &e.gapped));
  OK(MPI_Type_commit(&e.gapped));
  return e;
}

template <int stride>
void add_wrapping(void* in, void* inout, int* length, MPI_Datatype*) {
  uint64_t *a = static_cast<uint64_t*>(in), *b = static_cast<uint64_t*>(inout);
  for (int i = 0; i < *length; ++i) b[i * stride] += a[i * stride];
}
template <int stride>
void multiply_matrices(void* in, void* inout, int* length, MPI_Datatype*) {
  Matrix *a = static_cast<Matrix*>(in), *b = static_cast<Matrix*>(inout);
  for (int i = 0; i < *length; ++i) b[i * stride] = a[i * stride] * b[i * stride];
}

/// All types of elements; matrices multiply in rank order only.
class AllElements {
 public:
  AllElements() {
    OK(MPI_Type_contiguous(4, MPI_INT32_T, &matrix_));
    OK(MPI_Type_commit(&matrix_));
    list.push_back(elements_of<int>(
        "int", MPI_INT,
        {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BXOR, MPI_LAND, MPI_LXOR}));
    list.push_back(elements_of<double>("double", MPI_DOUBLE, {MPI_SUM, MPI_MIN, MPI_MAX}));
    list.push_back(elements_of<std::complex<double>>("complex", MPI_C_DOUBLE_COMPLEX, {MPI_SUM}));
    list.push_back(
        elements_of<long double>("long double", MPI_LONG_DOUBLE, {MPI_SUM, MPI_MIN, MPI_MAX}));
    list.push_back(
        elements_of<DoubleInt>("double and int", MPI_DOUBLE_INT, {MPI_MINLOC, MPI_MAXLOC}));
    list.push_back(elements_of<unsigned char>("bytes", MPI_BYTE, {MPI_BOR, MPI_BXOR, MPI_BAND}));
    list.push_back(elements_of<int64_t>("int64", MPI_INT64_T, {MPI_SUM, MPI_MAX, MPI_BOR}));
    OK(MPI_Op_create(add_wrapping<1>, 1, &list.back().user[0]));
    OK(MPI_Op_create(add_wrapping<3>, 1, &list.back().user[1]));
    list.push_back(elements_of<Matrix>("matrices", matrix_, {}));
    OK(MPI_Op_create(multiply_matrices<1>, 0, &list.back().user[0]));
    OK(MPI_Op_create(multiply_matrices<3>, 0, &list.back().user[1]));
  }
  ~AllElements() {
    for (Elements& e : list) {
      OK(MPI_Type_free(&e.gapped));
      for (MPI_Op& op : e.user)
        if (op != MPI_OP_NULL) OK(MPI_Op_free(&op));
    }
    OK(MPI_Type_free(&matrix_));
  }
  std::vector<Elements> list;

 private:
  MPI_Datatype matrix_;
};

/// Room for `count` elements, `stride` 1 (plain) or 3 (gapped); everything else must stay as it is.
struct Room {
  static constexpr char kUntouched = 0x5a;
  static constexpr size_t kMargin = 64;
  const Elements& of;
  int stride;
  int64_t count;
  std::vector<char> memory;

  Room(const Elements& e, int s, int64_t n)
      : of(e), stride(s), count(n), memory(2 * kMargin + bytes(n), kUntouched) {}
  size_t bytes(int64_t n) const { return static_cast<size_t>(n * stride) * of.size; }
  MPI_Datatype type() const { return of.type(stride); }
  void* address() { return memory.data() + kMargin; }
  char* at(int64_t i) { return memory.data() + kMargin + bytes(i); }

  void fill(uint64_t salt, int64_t first, int64_t n) {
    Random r(salt);
    for (int64_t i = first; i < first + n; ++i) of.fill(r.next(), at(i));
  }
  /// Elements first .. first+n-1, one after the other.
  std::vector<char> packed(int64_t first, int64_t n) {
    std::vector<char> out(static_cast<size_t>(n) * of.size);
    for (int64_t i = 0; i < n; ++i)
      memcpy(out.data() + static_cast<size_t>(i) * of.size, at(first + i), of.size);
    return out;
  }
  void unpack(const std::vector<char>& from, int64_t first) {
    for (size_t i = 0; i * of.size < from.size(); ++i)
      memcpy(at(first + static_cast<int64_t>(i)), from.data() + i * of.size, of.size);
  }
  /// Elements first .. first+n-1 are these, and these are so many.
  bool holds(const std::vector<char>& expected, int64_t first, int64_t n) {
    if (expected.size() != static_cast<size_t>(n) * of.size || first + n > count) return false;
    for (int64_t i = 0; i < n; ++i)
      if (!of.equal(at(first + i), expected.data() + static_cast<size_t>(i) * of.size))
        return false;
    return true;
  }
  /// Elements first .. first+n-1 have never been written.
  bool untouched(int64_t first, int64_t n) {
    for (char* p = at(first); p < at(first + n); ++p)
      if (*p != kUntouched) return false;
    return true;
  }
  bool gaps_untouched() {
    for (size_t i = 0; i < kMargin; ++i)
      if (memory[i] != kUntouched || memory[memory.size() - 1 - i] != kUntouched) return false;
    for (int64_t i = 0; i < count && stride > 1; ++i)
      for (size_t k = of.size; k < of.size * static_cast<size_t>(stride); ++k)
        if (at(i)[k] != kUntouched) return false;
    return true;
  }
};

#endif
