// Counting of basic elements in a datatype's contents.

#include "datatype/elements.h"

#include "datatype/basic_type.h"
#include "datatype/value_index.h"

namespace fgmpi::datatype {
namespace {

/// Basic elements as MPI_Get_elements counts them, and their bytes.
struct ElementContent {
  int64_t elements = 0, bytes = 0;
};

/// The bytes of the value of a pair, whose value and index are elements by themselves. 0 for all
/// other predefined types.
int64_t value_bytes(MPI_Datatype type) {
  if (is_value_index(type)) return basic_size(value_of_pair(type));
  const BasicType* basic = basic_type(type);
  Type pair;
  if (!basic || basic->kind != BasicKind::kPair || !Type::of(type, &pair).ok()) return 0;
  const bool mixed = pair_index(type) < kPairTypes;
  return mixed ? pair.size() - int64_t{sizeof(int)} : pair.size() / 2;
}

ElementContent content_of(const Type& type) { return {elements_of(type), type.size()}; }

/// The end of some data of a type: what it has before the last predefined type that begins there,
/// and that type.
struct DataEnd {
  ElementContent before;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// Finds the end of the first elements or bytes: *left in the measure `of`. *left becomes what lies
/// within the last predefined type. It goes down through the types that hold the end.
DataEnd find_end(const Type& type, int64_t ElementContent::*of, int64_t* left) {
  DataEnd end;
  const auto skip = [&](const ElementContent& one, int64_t times) {
    end.before.elements += one.elements * times;
    end.before.bytes += one.bytes * times;
    *left -= one.*of * times;
  };
  for (const Type* in = &type; *left > 0;) {
    const ElementContent whole = content_of(*in);
    skip(whole, *left / (whole.*of));
    end.type = values_of(*in);
    if (*left == 0 || end.type != MPI_DATATYPE_NULL) break;
    const DerivedType& derived = *in->derived();
    for (size_t i = 0; i < derived.contents.types.size(); ++i) {
      in = &derived.contents.types[i];
      const ElementContent one = content_of(*in);
      if (*left < one.*of * derived.times(i)) break;
      skip(one, derived.times(i));
    }
  }
  return end;
}

}  // namespace

int64_t elements_of(const Type& type) {
  if (type.derived()) return type.derived()->elements;
  if (type.size() == 0) return 0;
  return value_bytes(type.handle()) ? 2 : 1;
}

Status bytes_of_elements(const Type& type, int64_t elements, int64_t* bytes) {
  *bytes = 0;
  if (elements == 0) return {};
  const ElementContent one = content_of(type);
  if (one.elements == 0)
    return error(MPI_ERR_ARG, "count is %lld; allowed is 0, as the datatype has no elements",
                 static_cast<long long>(elements));
  int64_t left = elements % one.elements;
  const DataEnd end = find_end(type, &ElementContent::elements, &left);
  const int64_t rest = end.before.bytes + (left ? value_bytes(end.type) : 0);
  if (__builtin_mul_overflow(elements / one.elements, one.bytes, bytes) ||
      __builtin_add_overflow(*bytes, rest, bytes))
    return error(MPI_ERR_COUNT, "count is %lld; allowed are elements that need at most 63 bits",
                 static_cast<long long>(elements));
  return {};
}

void elements_in_bytes(const Type& type, int64_t bytes, int64_t* elements, int64_t* rest) {
  *elements = 0;
  *rest = bytes;
  if (type.size() == 0) return;
  const DataEnd end = find_end(type, &ElementContent::bytes, rest);
  *elements = end.before.elements;
  const int64_t value = *rest ? value_bytes(end.type) : 0;
  if (value == 0 || *rest < value) return;
  *rest -= value;
  ++*elements;
}

}  // namespace fgmpi::datatype
