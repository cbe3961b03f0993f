// The choice of a loop for a predefined operation and type, and calls of user operations.

#include "datatype/op.h"

#include <array>
#include <string>

#include "datatype/basic_type.h"
#include "datatype/op_kernels.h"
#include "datatype/user_op.h"
#include "datatype/value_index.h"
#include "host/handle_bits.h"

namespace fgmpi::datatype {
namespace {

constexpr const char* kNames[kOperations] = {"MPI_OP_NULL", "MPI_MAX",     "MPI_MIN",  "MPI_SUM",
                                             "MPI_PROD",    "MPI_LAND",    "MPI_BAND", "MPI_LOR",
                                             "MPI_BOR",     "MPI_LXOR",    "MPI_BXOR", "MPI_MINLOC",
                                             "MPI_MAXLOC",  "MPI_REPLACE", "MPI_NO_OP"};
constexpr uint32_t kOpBase = host::handle_base(host::HandleKind::kBuiltin, host::HandleObject::kOp);
static_assert(MPI_MAX == kOpBase + 1 && MPI_SUM == kOpBase + 3 && MPI_LAND == kOpBase + 5 &&
              MPI_BXOR == kOpBase + 10 && MPI_MAXLOC == kOpBase + 12 && MPI_NO_OP == kOpBase + 14);

/// The number of a predefined operation, 1..14, else 0.
int predefined(MPI_Op op) {
  uint32_t index = static_cast<uint32_t>(op) - kOpBase;
  return index < kOperations ? static_cast<int>(index) : 0;
}

/// The calls that use an operation: the collective reductions and MPI_Reduce_local, or accumulates.
enum class OperationUse : uint8_t { kReduction, kAccumulate };

/// The kind that decides which operations are defined on a type in these calls.
constexpr BasicKind kind_in(OperationUse use, MPI_Datatype type, BasicKind kind) {
  const bool as_integer =
      kind == BasicKind::kBytes || kind == BasicKind::kLogical || type == MPI_PACKED;
  return use == OperationUse::kAccumulate && as_integer ? BasicKind::kInteger : kind;
}

/// Rows of reducers by the low byte of a basic type's handle.
template <OperationUse use>
constexpr std::array<const Reducer*, 256> rows() {
  std::array<const Reducer*, 256> table{};
#define FGMPI_BASIC_TYPE(name, kind, ctype) \
  table[name & 0xff] = kernels::ReducerRow<kind_in(use, name, BasicKind::kind), ctype>::reducers;
#include "datatype/basic_types.def"
#undef FGMPI_BASIC_TYPE
  return table;
}
constexpr std::array<const Reducer*, 256> kRows[] = {rows<OperationUse::kReduction>(),
                                                     rows<OperationUse::kAccumulate>()};

template <class V>
constexpr const Reducer* pair_row() {
  return kernels::ReducerRow<BasicKind::kPair, PairOf<V, int>>::reducers;
}
constexpr const Reducer* kPairRows[kPairTypes] = {pair_row<float>(), pair_row<double>(),
                                                  pair_row<long>(), pair_row<short>(),
                                                  pair_row<long double>()};

/// The loop of an operation; nullptr when the operation is not defined on the predefined type, or
/// the type is not predefined.
Reducer reducer(int operation, MPI_Datatype type, OperationUse use) {
  if (is_value_index(type)) {
    const int maximum = static_cast<int>(MPI_MAXLOC - kOpBase);
    if (operation != maximum && operation != maximum - 1) return nullptr;
    return value_index_reducer(type, operation == maximum);
  }
  if (pair_index(type) < kPairTypes) return kPairRows[pair_index(type)][operation];
  const Reducer* row = is_basic(type) ? kRows[static_cast<int>(use)][type & 0xff] : nullptr;
  return row ? row[operation] : nullptr;
}

Status not_defined(int operation, const Type& type, OperationUse use) {
  const BasicType* basic = basic_type(values_of(type));
  std::string allowed;
  for (int other = 1; basic && other < kOperations; ++other)
    if (reducer(other, values_of(type), use))
      allowed += std::string(allowed.empty() ? "" : ", ") + kNames[other];
  const char* name = basic ? basic->name : "a derived datatype";
  if (use == OperationUse::kAccumulate)
    return error(MPI_ERR_OP, "%s is not defined on %s: allowed are %s%sMPI_REPLACE",
                 kNames[operation], name, allowed.c_str(), allowed.empty() ? "" : " and ");
  return error(MPI_ERR_OP,
               "%s is not defined on %s: allowed are %s%soperations made with MPI_Op_create",
               kNames[operation], name, allowed.c_str(), allowed.empty() ? "" : " and ");
}

Status check(MPI_Op op, int64_t count, const Type& type, Reducer* out) {
  *out = nullptr;
  const int operation = predefined(op);
  if (operation) {
    *out = reducer(operation, values_of(type), OperationUse::kReduction);
    if (*out || count == 0) return {};
    return not_defined(operation, type, OperationUse::kReduction);
  }
  if (is_user_op(op)) return {};
  if (op == MPI_OP_NULL)
    return error(
        MPI_ERR_OP,
        "op MPI_OP_NULL: allowed are predefined operations and those made with MPI_Op_create");
  return error(
      MPI_ERR_OP,
      "op 0x%08x is unknown: allowed are predefined operations and those made with MPI_Op_create",
      static_cast<unsigned>(op));
}

}  // namespace

Status check_op(MPI_Op op, int64_t count, const Type& type) {
  Reducer unused;
  return check(op, count, type, &unused);
}

Status find_accumulate(MPI_Op op, const Type& type, Reducer* out) {
  const int operation = predefined(op);
  if (!operation)
    return error(MPI_ERR_OP, "op 0x%08x is not predefined; allowed are predefined operations",
                 static_cast<unsigned>(op));
  *out = reducer(operation, values_of(type), OperationUse::kAccumulate);
  return *out ? Status() : not_defined(operation, type, OperationUse::kAccumulate);
}

Status reduce_local(const void* in, void* inout, int64_t count, const Type& type, MPI_Op op) {
  Reducer reduce;
  FGMPI_TRY(check(op, count, type, &reduce));
  if (count <= 0) return {};
  if (reduce) {
    reduce(in, inout, count);
    return {};
  }
  call_user_op(op, in, inout, count, type);
  return {};
}

bool is_predefined(MPI_Op op) { return predefined(op) != 0; }

bool is_commutative(MPI_Op op) {
  return predefined(op) || (is_user_op(op) && is_commutative_user_op(op));
}

void retain(MPI_Op op) {
  if (!predefined(op)) retain_user_op(op);
}

void release(MPI_Op op) {
  if (!predefined(op)) release_user_op(op);
}

}  // namespace fgmpi::datatype
