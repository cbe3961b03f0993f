// Signatures from the contents of datatypes.

#include "datatype/signature.h"

#include <utility>

namespace fgmpi::datatype {
namespace {

Signature signature_of_inner(const InnerType& type) {
  Signature out;
  out.count = 1;
  const DerivedType* derived = type.derived();
  out.type = derived ? derived->values : type.handle();
  if (out.type != MPI_DATATYPE_NULL) {
    if (type.size() == 0) out.count = 0;  // a marker of a bound
    return out;
  }
  const TypeContents& c = derived->contents;
  const bool of_struct = c.combiner == MPI_COMBINER_STRUCT;
  for (size_t i = 0; i < c.types.size(); ++i) {
    const int64_t one = c.types[i].size();
    const int64_t times = of_struct ? c.count(1 + i) : one > 0 ? derived->size() / one : 0;
    if (times == 0 || one == 0) continue;
    Signature inner = signature_of_inner(c.types[i]);
    if (!inner.inner.empty()) {
      out.inner.push_back({MPI_DATATYPE_NULL, times, {std::move(inner)}});
    } else if (!out.inner.empty() && out.inner.back().inner.empty() &&
               out.inner.back().type == inner.type) {
      out.inner.back().count += inner.count * times;
    } else {
      inner.count *= times;
      out.inner.push_back(std::move(inner));
    }
  }
  return out;
}

}  // namespace

Signature signature_of(const Type& type) { return signature_of_inner(type.inner()); }

}  // namespace fgmpi::datatype
