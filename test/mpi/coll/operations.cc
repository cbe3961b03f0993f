// Every predefined operation on every predefined type, those of Fortran's precisions among them, in
// every reduction and each of its forms, also between groups: compared byte by byte with a model,
// so that gaps of pairs stay as they were in results.
#include "operations.h"
#include "error_class.h"

#include <functional>
#include <vector>

namespace {

int g_rank, g_size;
constexpr int kElements = 3;
using Bytes = std::vector<unsigned char>;

/// Few values, so that ties are common and products exact.
int value_of(MPI_Op op, int rank, int i) {
  if (op == MPI_PROD) return rank < 4 ? 1 + (rank + i) % 2 : 1;
  return 1 + (rank * 5 + i * 3) % 7;
}

/// What comes out of ranks first to end-1, as elements in a row.
template <class T>
Bytes reduced(MPI_Op op, int first, int end, int elements, int from = 0) {
  Bytes image(static_cast<size_t>(elements) * sizeof(T), kGap);
  for (int i = 0; i < elements && first < end; ++i) {
    T sum = number<T>(value_of(op, first, from + i));
    for (int r = first + 1; r < end; ++r)
      sum = applied(op, sum, number<T>(value_of(op, r, from + i)));
    store(image.data() + static_cast<size_t>(i) * sizeof(T), sum);
  }
  return image;
}

/// A call with these buffers: in one of three forms, where the other two are made from it by a
/// request.
struct Form {
  std::function<int(const void*, void*)> blocking;
  std::function<int(const void*, void*, MPI_Request*)> nonblocking, persistent;
  Bytes expected;  ///< in the result; where it is as it was, the call leaves it alone
};

template <class T>
void check_result(Bytes result, Bytes expected) {
  const int count = static_cast<int>(expected.size() / sizeof(T));
  forget_padding<T>(result.data(), sizeof(T), count);
  forget_padding<T>(expected.data(), sizeof(T), count);
  CHECK(result == expected);
}

template <class T>
void run(const Form& form, const Bytes& in) {
  Bytes result(form.expected.size(), kGap);
  OK(form.blocking(in.data(), result.data()));
  check_result<T>(result, form.expected);
  MPI_Request request;
  result.assign(form.expected.size(), kGap);
  OK(form.nonblocking(in.data(), result.data(), &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check_result<T>(result, form.expected);
  result.assign(form.expected.size(), kGap);
  OK(form.persistent(in.data(), result.data(), &request));
  OK(MPI_Start(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&request));
  check_result<T>(result, form.expected);
}

/// Ranks first to end-1 give; `comm` is a communicator of all, or one between two groups of which
/// those are the other.
template <class T>
void reductions(MPI_Comm comm, MPI_Datatype type, MPI_Op op, int first, int end) {
  const int n = kElements;
  const Bytes in = reduced<T>(op, g_rank, g_rank + 1, n);
  run<T>({[&](auto a, auto b) { return MPI_Allreduce(a, b, n, type, op, comm); },
          [&](auto a, auto b, auto r) { return MPI_Iallreduce(a, b, n, type, op, comm, r); },
          [&](auto a, auto b, auto r) {
            return MPI_Allreduce_init(a, b, n, type, op, comm, MPI_INFO_NULL, r);
          },
          reduced<T>(op, first, end, n)},
         in);
}

template <class T>
void rooted(MPI_Datatype type, MPI_Op op) {
  const int n = kElements, root = g_size / 2;
  const MPI_Comm w = MPI_COMM_WORLD;
  const bool mine = g_rank == root;
  run<T>({[&](auto a, auto b) { return MPI_Reduce(a, b, n, type, op, root, w); },
          [&](auto a, auto b, auto r) { return MPI_Ireduce(a, b, n, type, op, root, w, r); },
          [&](auto a, auto b, auto r) {
            return MPI_Reduce_init(a, b, n, type, op, root, w, MPI_INFO_NULL, r);
          },
          reduced<T>(op, 0, mine ? g_size : 0, n)},
         reduced<T>(op, g_rank, g_rank + 1, n));
}

template <class T>
void scans(MPI_Datatype type, MPI_Op op) {
  const int n = kElements;
  const MPI_Comm w = MPI_COMM_WORLD;
  const Bytes in = reduced<T>(op, g_rank, g_rank + 1, n);
  run<T>({[&](auto a, auto b) { return MPI_Scan(a, b, n, type, op, w); },
          [&](auto a, auto b, auto r) { return MPI_Iscan(a, b, n, type, op, w, r); },
          [&](auto a, auto b, auto r) {
            return MPI_Scan_init(a, b, n, type, op, w, MPI_INFO_NULL, r);
          },
          reduced<T>(op, 0, g_rank + 1, n)},
         in);
  run<T>({[&](auto a, auto b) { return MPI_Exscan(a, b, n, type, op, w); },
          [&](auto a, auto b, auto r) { return MPI_Iexscan(a, b, n, type, op, w, r); },
          [&](auto a, auto b, auto r) {
            return MPI_Exscan_init(a, b, n, type, op, w, MPI_INFO_NULL, r);
          },
          reduced<T>(op, 0, g_rank, n)},
         in);
}

/// Each rank gets two elements.
template <class T>
void scatters(MPI_Datatype type, MPI_Op op) {
  const int n = 2;
  const MPI_Comm w = MPI_COMM_WORLD;
  const std::vector<int> counts(static_cast<size_t>(g_size), n);
  const Bytes in = reduced<T>(op, g_rank, g_rank + 1, n * g_size);
  const Bytes expected = reduced<T>(op, 0, g_size, n, n * g_rank);
  run<T>(
      {[&](auto a, auto b) { return MPI_Reduce_scatter_block(a, b, n, type, op, w); },
       [&](auto a, auto b, auto r) { return MPI_Ireduce_scatter_block(a, b, n, type, op, w, r); },
       [&](auto a, auto b, auto r) {
         return MPI_Reduce_scatter_block_init(a, b, n, type, op, w, MPI_INFO_NULL, r);
       },
       expected},
      in);
  run<T>({[&](auto a, auto b) { return MPI_Reduce_scatter(a, b, counts.data(), type, op, w); },
          [&](auto a, auto b, auto r) {
            return MPI_Ireduce_scatter(a, b, counts.data(), type, op, w, r);
          },
          [&](auto a, auto b, auto r) {
            return MPI_Reduce_scatter_init(a, b, counts.data(), type, op, w, MPI_INFO_NULL, r);
          },
          expected},
         in);
}

template <class T>
void local(MPI_Datatype type, MPI_Op op) {
  const Bytes in = reduced<T>(op, 0, 1, kElements);
  Bytes inout = reduced<T>(op, 1, 2, kElements);
  OK(MPI_Reduce_local(in.data(), inout.data(), kElements, type, op));
  check_result<T>(inout, reduced<T>(op, 0, 2, kElements));
}

MPI_Comm g_between = MPI_COMM_NULL;

int class_of_run(int code, MPI_Request* request) {
  if (code != MPI_SUCCESS) return class_of(code);
  OK(MPI_Start(request));
  OK(MPI_Wait(request, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(request));
  return MPI_SUCCESS;
}

/// All reductions of no elements end in `expected`: whether that is success or not, no operation
/// meets an element.
void no_elements(MPI_Datatype type, MPI_Op op, int expected) {
  const MPI_Comm w = MPI_COMM_WORLD;
  const int root = g_size / 2;
  const std::vector<int> none(static_cast<size_t>(g_size), 0);
  char in[1] = {1}, out[1] = {2};
  const int* zeros = none.data();
  auto check = [&](int code) { CHECK(class_of(code) == expected); };
  check(MPI_Reduce_local(in, out, 0, type, op));
  check(MPI_Allreduce(in, out, 0, type, op, w));
  check(MPI_Reduce(in, out, 0, type, op, root, w));
  check(MPI_Scan(in, out, 0, type, op, w));
  check(MPI_Exscan(in, out, 0, type, op, w));
  check(MPI_Reduce_scatter(in, out, zeros, type, op, w));
  check(MPI_Reduce_scatter_block(in, out, 0, type, op, w));
  MPI_Request r;
  auto wait = [&](int code) {
    check(code);
    if (code == MPI_SUCCESS) OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
  };
  wait(MPI_Iallreduce(in, out, 0, type, op, w, &r));
  wait(MPI_Ireduce(in, out, 0, type, op, root, w, &r));
  wait(MPI_Iscan(in, out, 0, type, op, w, &r));
  wait(MPI_Iexscan(in, out, 0, type, op, w, &r));
  wait(MPI_Ireduce_scatter(in, out, zeros, type, op, w, &r));
  wait(MPI_Ireduce_scatter_block(in, out, 0, type, op, w, &r));
  auto start = [&](int code) { CHECK(class_of_run(code, &r) == expected); };
  const MPI_Info info = MPI_INFO_NULL;
  start(MPI_Allreduce_init(in, out, 0, type, op, w, info, &r));
  start(MPI_Reduce_init(in, out, 0, type, op, root, w, info, &r));
  start(MPI_Scan_init(in, out, 0, type, op, w, info, &r));
  start(MPI_Exscan_init(in, out, 0, type, op, w, info, &r));
  start(MPI_Reduce_scatter_init(in, out, zeros, type, op, w, info, &r));
  start(MPI_Reduce_scatter_block_init(in, out, 0, type, op, w, info, &r));
  if (g_between != MPI_COMM_NULL) check(MPI_Allreduce(in, out, 0, type, op, g_between));
  CHECK(in[0] == 1 && out[0] == 2);
}

void undefined(MPI_Datatype type, MPI_Op op) {
  no_elements(type, op, MPI_SUCCESS);
  Bytes in(1024), out(1024);
  CHECK(class_of(MPI_Reduce_local(in.data(), out.data(), 1, type, op)) == MPI_ERR_OP);
  CHECK(class_of(MPI_Allreduce(in.data(), out.data(), 1, type, op, MPI_COMM_WORLD)) == MPI_ERR_OP);
}

/// `sets`: the operations that the type has.
template <class T>
void test(MPI_Datatype type, unsigned sets) {
  if (type == MPI_DATATYPE_NULL) return;
  const int half = g_size / 2;
  for (const Operation& o : kOps) {
    if (!(o.set & sets)) {
      undefined(type, o.op);
      continue;
    }
    local<T>(type, o.op);
    // What is true of one member alone is that member's own, not 1.
    if (g_size < 4 && o.set == kLogical) continue;
    reductions<T>(MPI_COMM_WORLD, type, o.op, 0, g_size);
    rooted<T>(type, o.op);
    if (o.set != kLogical) {
      scans<T>(type, o.op);
      scatters<T>(type, o.op);
    }
    if (g_between != MPI_COMM_NULL)
      reductions<T>(g_between, type, o.op, g_rank < half ? half : 0, g_rank < half ? g_size : half);
  }
}

constexpr unsigned kFloating = kOrder | kSums | kLogical;

void c_types() {
  test<char>(MPI_CHAR, kAll);
  test<signed char>(MPI_SIGNED_CHAR, kAll);
  test<unsigned char>(MPI_UNSIGNED_CHAR, kAll);
  test<short>(MPI_SHORT, kAll);
  test<int>(MPI_INT, kAll);
  test<unsigned>(MPI_UNSIGNED, kAll);
  test<long>(MPI_LONG, kAll);
  test<uint16_t>(MPI_UINT16_T, kAll);
  test<uint64_t>(MPI_UINT64_T, kAll);
  test<MPI_Aint>(MPI_AINT, kAll);
  test<float>(MPI_FLOAT, kFloating);
  test<double>(MPI_DOUBLE, kFloating);
  test<long double>(MPI_LONG_DOUBLE, kFloating);
  test<unsigned char>(MPI_C_BOOL, kLogical);
  test<unsigned char>(MPI_BYTE, kBitwise);
  test<std::complex<float>>(MPI_C_FLOAT_COMPLEX, kSums);
  test<std::complex<long double>>(MPI_C_LONG_DOUBLE_COMPLEX, kSums);
  test<wchar_t>(MPI_WCHAR, 0);
  test<char>(MPI_PACKED, 0);
}

void types_of_precision() {
  MPI_Datatype type;
  OK(MPI_Type_create_f90_integer(2, &type));
  test<int8_t>(type, kAll);
  OK(MPI_Type_create_f90_integer(4, &type));
  test<int16_t>(type, kAll);
  OK(MPI_Type_create_f90_integer(9, &type));
  test<int32_t>(type, kAll);
  OK(MPI_Type_create_f90_integer(18, &type));
  test<int64_t>(type, kAll);
  OK(MPI_Type_create_f90_real(6, MPI_UNDEFINED, &type));
  test<float>(type, kFloating);
  OK(MPI_Type_create_f90_real(15, 300, &type));
  test<double>(type, kFloating);
  OK(MPI_Type_create_f90_real(18, MPI_UNDEFINED, &type));
  test<long double>(type, kFloating);
  OK(MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &type));
  test<std::complex<float>>(type, kSums);
  OK(MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &type));
  test<std::complex<double>>(type, kSums);
}

void pairs() {
  test<Located<float, int>>(MPI_FLOAT_INT, kLocating);
  test<Located<double, int>>(MPI_DOUBLE_INT, kLocating);
  test<Located<long, int>>(MPI_LONG_INT, kLocating);
  test<Located<short, int>>(MPI_SHORT_INT, kLocating);
  test<Located<long double, int>>(MPI_LONG_DOUBLE_INT, kLocating);
  test<Located<int, int>>(MPI_2INT, kLocating);
  test<Located<double, double>>(MPI_2DOUBLE_PRECISION, kLocating);
}

/// As in MPICH, duplicates of predefined types are derived ones for reductions; also those of
/// Fortran's precisions.
void duplicates() {
  MPI_Datatype precise, type;
  OK(MPI_Type_create_f90_integer(9, &precise));
  for (MPI_Datatype of : {static_cast<MPI_Datatype>(MPI_INT), precise}) {
    OK(MPI_Type_dup(of, &type));
    test<int>(type, 0);
    OK(MPI_Type_free(&type));
  }
}

/// Derived types, also one of no bytes, have every operation; what is no operation, or no type, is
/// an error with no elements, too.
void invalid_without_elements() {
  MPI_Datatype uncommitted, derived, empty;
  OK(MPI_Type_contiguous(2, MPI_INT, &uncommitted));
  OK(MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &derived));
  OK(MPI_Type_commit(&derived));
  OK(MPI_Type_contiguous(0, MPI_INT, &empty));
  OK(MPI_Type_commit(&empty));
  for (MPI_Datatype type : {derived, empty}) no_elements(type, MPI_SUM, MPI_SUCCESS);
  for (MPI_Datatype type : {static_cast<MPI_Datatype>(MPI_INT), derived})
    no_elements(type, MPI_OP_NULL, MPI_ERR_OP);
  for (MPI_Datatype type : {uncommitted, static_cast<MPI_Datatype>(MPI_DATATYPE_NULL)})
    no_elements(type, MPI_SUM, MPI_ERR_TYPE);
  OK(MPI_Type_free(&uncommitted));
  OK(MPI_Type_free(&derived));
  OK(MPI_Type_free(&empty));
}

/// Members that give different counts, one of them 0: an error at each, whether the operation is
/// defined on the type or not.
void different_counts() {
  if (g_size < 2) return;
  const int count = g_rank == g_size - 1 ? 0 : 1;
  for (MPI_Datatype type : {static_cast<MPI_Datatype>(MPI_INT), static_cast<MPI_Datatype>(MPI_BYTE),
                            static_cast<MPI_Datatype>(MPI_2INT)}) {
    long in = 1, out[2] = {0};
    const MPI_Op op = type == MPI_2INT ? MPI_MAXLOC : MPI_SUM;
    CHECK(class_of(MPI_Allreduce(&in, out, count, type, op, MPI_COMM_WORLD)) != MPI_SUCCESS);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
}

}  // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &g_rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &g_size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Comm side;
  const int half = g_size / 2, upper = g_rank >= half;
  OK(MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &side));
  if (half > 0) OK(MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, upper ? 0 : half, 1, &g_between));
  if (half > 0) OK(MPI_Comm_set_errhandler(g_between, MPI_ERRORS_RETURN));
  types_of_precision();
  pairs();
  c_types();
  duplicates();
  invalid_without_elements();
  different_counts();
  if (g_between != MPI_COMM_NULL) OK(MPI_Comm_free(&g_between));
  OK(MPI_Comm_free(&side));
  return finish();
}
