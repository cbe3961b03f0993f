// Counting of basic elements in a datatype's contents.

#include "datatype/elements.h"

#include "datatype/basic_type.h"
#include "datatype/signature.h"

namespace fgmpi::datatype {
namespace {

/// Basic elements as MPI_Get_elements counts them, and their bytes.
struct ElementContent {
  int64_t elements = 0, bytes = 0;
};

/// The bytes of the value of a pair, whose value and index are elements by themselves. 0 for all
/// other predefined types.
int64_t value_bytes(MPI_Datatype type) {
  const BasicType* basic = basic_type(type);
  Type pair;
  if (!basic || basic->kind != BasicKind::kPair || !Type::of(type, &pair).ok()) return 0;
  const bool mixed = pair_index(type) < kPairTypes;
  return mixed ? pair.size() - int64_t{sizeof(int)} : pair.size() / 2;
}

ElementContent content_of(const Signature& s);

/// The content of one repetition of a signature.
ElementContent round_of(const Signature& s) {
  ElementContent round;
  if (s.inner.empty()) {
    Type type;
    if (s.count > 0 && Type::of(s.type, &type).ok())
      round = {value_bytes(s.type) ? 2 : 1, type.size()};
  }
  for (const Signature& inner : s.inner) {
    const ElementContent part = content_of(inner);
    round.elements += part.elements;
    round.bytes += part.bytes;
  }
  return round;
}

ElementContent content_of(const Signature& s) {
  const ElementContent round = round_of(s);
  return {s.count * round.elements, s.count * round.bytes};
}

/// The bytes of the first elements. REQUIRES: elements is at most the number in the signature,
/// which has some.
int64_t bytes_of_first(const Signature& s, int64_t elements) {
  const ElementContent round = round_of(s);
  int64_t bytes = elements / round.elements * round.bytes;
  elements %= round.elements;
  if (s.inner.empty()) return elements ? bytes + value_bytes(s.type) : bytes;
  for (const Signature& inner : s.inner) {
    const ElementContent part = content_of(inner);
    if (elements < part.elements) return elements ? bytes + bytes_of_first(inner, elements) : bytes;
    elements -= part.elements;
    bytes += part.bytes;
  }
  return bytes;
}

/// Counts the whole elements in `*bytes` bytes, less than one repetition of the signature; *bytes
/// becomes the rest.
int64_t elements_in_round(const Signature& s, int64_t* bytes) {
  if (s.inner.empty()) {
    const int64_t value = value_bytes(s.type);
    if (value == 0 || *bytes < value) return 0;
    *bytes -= value;
    return 1;
  }
  int64_t elements = 0;
  for (const Signature& inner : s.inner) {
    const ElementContent part = content_of(inner), round = round_of(inner);
    if (*bytes >= part.bytes) {
      elements += part.elements;
      *bytes -= part.bytes;
      continue;
    }
    elements += *bytes / round.bytes * round.elements;
    *bytes %= round.bytes;
    return elements + elements_in_round(inner, bytes);
  }
  return elements;
}

}  // namespace

Status bytes_of_elements(const Type& type, int64_t elements, int64_t* bytes) {
  const Signature one = signature_of(type);
  const ElementContent all = content_of(one);
  *bytes = 0;
  if (elements == 0) return {};
  if (all.elements == 0)
    return error(MPI_ERR_ARG, "count is %lld; allowed is 0, as the datatype has no elements",
                 static_cast<long long>(elements));
  const int64_t rest = elements % all.elements;
  if (__builtin_mul_overflow(elements / all.elements, all.bytes, bytes) ||
      __builtin_add_overflow(*bytes, rest ? bytes_of_first(one, rest) : 0, bytes))
    return error(MPI_ERR_COUNT, "count is %lld; allowed are elements that need at most 63 bits",
                 static_cast<long long>(elements));
  return {};
}

void elements_in_bytes(const Type& type, int64_t bytes, int64_t* elements, int64_t* rest) {
  const Signature one = signature_of(type);
  const ElementContent all = content_of(one), round = round_of(one);
  *elements = 0;
  *rest = bytes;
  if (all.bytes == 0) return;
  *elements = bytes / round.bytes * round.elements;
  *rest = bytes % round.bytes;
  *elements += elements_in_round(one, rest);
}

}  // namespace fgmpi::datatype
