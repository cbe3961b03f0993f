// Signatures from the contents of datatypes.

#include "datatype/signature.h"

#include <utility>

#include "datatype/basic_type.h"

namespace fgmpi::datatype {
namespace {

/// A signature while its parts are added, in order.
class SignatureBuilder {
 public:
  void append(Signature part) {
    std::vector<Signature>& parts = open_.back().inner;
    if (!parts.empty() && part.inner.empty() && parts.back().type == part.type)
      parts.back().count += part.count;
    else
      parts.push_back(std::move(part));
  }
  /// Begins a part that is repeated `times` times: what is appended until end_loop().
  void begin_loop(int64_t times) { open_.push_back({MPI_DATATYPE_NULL, times, {}}); }
  void end_loop() {
    Signature loop = std::move(open_.back());
    open_.pop_back();
    if (loop.inner.size() > 1) return append(std::move(loop));
    Signature only = std::move(loop.inner[0]);
    only.count *= loop.count;
    append(std::move(only));
  }
  Signature finish() { return std::move(open_[0]); }

 private:
  std::vector<Signature> open_{
      {MPI_DATATYPE_NULL, 1, {}}};  ///< each is to become a part of the one before
};

/// A type whose parts are being added.
struct OpenType {
  const DerivedType* type;
  bool is_loop;
  size_t next = 0;  ///< the next one of contents.types
};

}  // namespace

Signature signature_of(const Type& type) {
  // A marker of a bound is a predefined type without bytes.
  if (const MPI_Datatype values = values_of(type); values != MPI_DATATYPE_NULL)
    return {values, type.size() > 0 ? 1 : 0, {}};
  SignatureBuilder builder;
  std::vector<OpenType> open{{type.derived(), false}};
  while (!open.empty()) {
    OpenType& in = open.back();
    if (in.next == in.type->contents.types.size()) {
      if (in.is_loop) builder.end_loop();
      open.pop_back();
      continue;
    }
    const int64_t times = in.type->times(in.next);
    const Type& inner = in.type->contents.types[in.next++];
    if (times == 0) continue;
    if (const MPI_Datatype values = values_of(inner); values != MPI_DATATYPE_NULL) {
      builder.append({values, times, {}});
      continue;
    }
    if (times > 1) builder.begin_loop(times);
    open.push_back({inner.derived(), times > 1});
  }
  return builder.finish();
}

}  // namespace fgmpi::datatype
