// Signatures from the contents of datatypes.

#include "datatype/signature.h"

#include <utility>

namespace fgmpi::datatype {

Signature signature_of(const Type& type) {
  Signature out;
  out.count = 1;
  out.type = values_of(type);
  if (out.type != MPI_DATATYPE_NULL) {
    if (type.size() == 0) out.count = 0;  // a marker of a bound
    return out;
  }
  const TypeContents& c = type.derived()->contents;
  const bool of_struct = c.combiner == MPI_COMBINER_STRUCT;
  for (size_t i = 0; i < c.types.size(); ++i) {
    const int64_t one = c.types[i].size();
    const int64_t times = of_struct ? c.count(1 + i) : one > 0 ? type.size() / one : 0;
    if (times == 0 || one == 0) continue;
    Signature inner = signature_of(c.types[i]);
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

}  // namespace fgmpi::datatype
