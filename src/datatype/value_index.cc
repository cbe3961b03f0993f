// Pairs of a value and an index: their handles, objects and loops.

#include "datatype/value_index.h"

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <unordered_map>

#include "datatype/basic_type.h"
#include "datatype/datatype.h"
#include "datatype/op_kernels.h"

namespace fgmpi::datatype {
namespace {

/// The C types that values have. Those of integers come first: indices are integers.
using ValueTypes =
    std::tuple<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, Integer16,
               float, double, long double, processor::Quad, Half, Bfloat16>;
constexpr size_t kIndexTypes = 9, kValueTypes = std::tuple_size_v<ValueTypes>;
template <size_t number>
using ValueType = std::tuple_element_t<number, ValueTypes>;

/// The number of the type in the list that has the values of T (long is int64_t), -1 for none.
template <class T, size_t number = 0>
constexpr int number_of_ctype() {
  if constexpr (number == kValueTypes) {
    return -1;
  } else {
    using V = ValueType<number>;
    constexpr bool same_integer = std::is_integral_v<T> && std::is_integral_v<V> &&
                                  sizeof(T) == sizeof(V) &&
                                  std::is_signed_v<T> == std::is_signed_v<V>;
    if constexpr (same_integer || std::is_same_v<T, V>)
      return static_cast<int>(number);
    else
      return number_of_ctype<T, number + 1>();
  }
}

/// The numbers of the C types of predefined types, by the low byte of the handle; -1 where
/// MPI_MAX is not defined on a type, or only in MPICH (characters).
constexpr std::array<int8_t, 256> numbers() {
  std::array<int8_t, 256> all{};
  for (int8_t& one : all) one = -1;
#define FGMPI_BASIC_TYPE(name, kind, ctype)                                           \
  if (BasicKind::kind == BasicKind::kInteger || BasicKind::kind == BasicKind::kFloat) \
    all[host::builtin_number(name)] = static_cast<int8_t>(number_of_ctype<ctype>());
#include "datatype/basic_types.def"
#undef FGMPI_BASIC_TYPE
  all[host::builtin_number(MPI_CHAR)] = all[host::builtin_number(MPI_CHARACTER)] = -1;
  return all;
}
constexpr auto kNumbers = numbers();

int number_of_value(MPI_Datatype type) {
  return basic_type(type) && is_basic(type) ? kNumbers[host::builtin_number(type)] : -1;
}
int number_of_index(MPI_Datatype type) {
  const int number = number_of_value(type);
  return number < static_cast<int>(kIndexTypes) ? number : -1;
}

struct Locators {
  Reducer minimum, maximum;
};
template <size_t... at>
constexpr std::array<Locators, sizeof...(at)> locators(std::index_sequence<at...>) {
  return {Locators{
      kernels::locate<PairOf<ValueType<at / kIndexTypes>, ValueType<at % kIndexTypes>>, false>,
      kernels::locate<PairOf<ValueType<at / kIndexTypes>, ValueType<at % kIndexTypes>>, true>}...};
}
/// The loops, by the numbers of the value's and the index's C type.
constexpr auto kLocators = locators(std::make_index_sequence<kValueTypes * kIndexTypes>());

MPI_Datatype builtin_of_number(uint32_t number) {
  // The size in a handle is found where the rest is that of a predefined type.
  for (uint32_t size = 1; size <= 32; size *= 2) {
    const auto handle = static_cast<MPI_Datatype>(
        host::handle_base(host::HandleKind::kBuiltin, host::HandleObject::kDatatype) | size << 8 |
        number);
    if (basic_type(handle)) return handle;
  }
  return MPI_DATATYPE_NULL;
}

DerivedType* make_value_index_type(MPI_Datatype handle) {
  Type value, index;
  if (!Type::of(value_of_pair(handle), &value).ok() ||
      !Type::of(index_of_pair(handle), &index).ok())
    return nullptr;
  const int64_t of_index = basic_type(index.handle())->alignment;
  auto* type = new DerivedType;
  type->alignment = std::max<int64_t>(basic_type(value.handle())->alignment, of_index);
  const auto rounded = [](int64_t n, int64_t to) { return (n + to - 1) / to * to; };
  const int64_t at = rounded(value.size(), of_index);
  type->tree.root = make_runs({{0, value.size()}, {at, index.size()}});
  type->tree.size = value.size() + index.size();
  type->tree.extent = rounded(at + index.size(), type->alignment);
  type->tree.element = type->values = handle;
  type->bounds = {{0, TypeBound::kData}, {type->tree.extent, TypeBound::kData}};
  type->contents.combiner = kCombinerValueIndex;
  type->contents.types = {value, index};
  type->elements = 2;
  type->references = 1;  // for ever
  complete_copies(type);
  return type;
}

}  // namespace

MPI_Datatype value_of_pair(MPI_Datatype handle) {
  return builtin_of_number(static_cast<uint32_t>(handle) >> 8 & 0xff);
}
MPI_Datatype index_of_pair(MPI_Datatype handle) {
  return builtin_of_number(static_cast<uint32_t>(handle) & 0xff);
}

DerivedType* value_index_type(MPI_Datatype handle) {
  static auto* all = new std::unordered_map<MPI_Datatype, DerivedType*>;
  if (!is_value_index(handle) || number_of_value(value_of_pair(handle)) < 0 ||
      number_of_index(index_of_pair(handle)) < 0)
    return nullptr;
  DerivedType*& found = (*all)[handle];
  if (!found) found = make_value_index_type(handle);
  return found;
}

Reducer value_index_reducer(MPI_Datatype handle, bool maximum) {
  const Locators& found =
      kLocators[static_cast<size_t>(number_of_value(value_of_pair(handle))) * kIndexTypes +
                static_cast<size_t>(number_of_index(index_of_pair(handle)))];
  return maximum ? found.maximum : found.minimum;
}

Status find_value_index(MPI_Datatype value, MPI_Datatype index, MPI_Datatype* pair) {
  struct NamedPair {
    MPI_Datatype value, index, pair;
  };
  static constexpr NamedPair kNamed[] = {
      {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
      {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
      {MPI_LONG, MPI_INT, MPI_LONG_INT},
      {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
      {MPI_INT, MPI_INT, MPI_2INT},
      {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
      {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
      {MPI_REAL, MPI_REAL, MPI_2REAL},
      {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION}};
  Type unused;
  *pair = MPI_DATATYPE_NULL;
  FGMPI_TRY(Type::of_any(value, &unused));
  FGMPI_TRY(Type::of_any(index, &unused));
  for (const NamedPair& named : kNamed)
    if (named.value == value && named.index == index) *pair = named.pair;
  if (*pair == MPI_DATATYPE_NULL && number_of_value(value) >= 0 && number_of_index(index) >= 0)
    *pair = static_cast<MPI_Datatype>(kFirstValueIndex | host::builtin_number(value) << 8 |
                                      host::builtin_number(index));
  return {};
}

}  // namespace fgmpi::datatype
