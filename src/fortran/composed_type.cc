// The datatype of a count and type over a section, made from the section's dimensions.

#include "fortran/composed_type.h"

#include <algorithm>
#include <climits>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "datatype/constructors.h"
#include "datatype/signature.h"
#include "datatype/type_handles.h"
#include "datatype/type_tree.h"

namespace fgmpi::fortran {
namespace {

using datatype::NumberArray;
using datatype::Type;

/// Makes the intermediate types of one composed type, and keeps the first error.
class TypeMaker {
 public:
  const Status& status() const { return status_; }

  Type repeat(const Type& type, int64_t count, int64_t step) {
    if (count == 1) return type;
    return keep([&](Type* out) {
      return datatype::make_hvector(count > INT_MAX, count, 1, step, type, out);
    });
  }
  Type row(const Type& type, int64_t count) {
    if (count == 1) return type;
    return keep(
        [&](Type* out) { return datatype::make_contiguous(count > INT_MAX, count, type, out); });
  }
  /// REQUIRES: counts are at most INT_MAX; Rows splits longer rows.
  Type list(const std::vector<int>& counts, const std::vector<MPI_Aint>& places,
            const std::vector<Type>& types) {
    const bool one_type =
        std::all_of(types.begin(), types.end(), [&](const Type& t) { return t == types[0]; });
    return keep([&](Type* out) {
      const auto n = static_cast<int64_t>(counts.size());
      return one_type
                 ? datatype::make_hindexed(false, n, counts.data(), places.data(), types[0], out)
                 : datatype::make_struct(false, n, counts.data(), places.data(), types, out);
    });
  }
  Type resize(const Type& type, int64_t extent) {
    return keep([&](Type* out) { return datatype::make_resized(false, 0, extent, type, out); });
  }
  /// Makes a handle of the result, committed. It is a new one even where `type` is the program's.
  Status commit(const Type& type, MPI_Datatype* handle) {
    if (!status_.ok()) return std::move(status_);
    Type derived = type;
    if (type.basic()) FGMPI_TRY(datatype::make_contiguous(false, 1, type, &derived));
    return datatype::make_handle(derived, true, handle);
  }

 private:
  template <class Make>
  Type keep(Make&& make) {
    Type type;
    if (status_.ok()) status_ = make(&type);
    return type;
  }

  Status status_;
};

/// Elements of a datatype that fit into an element of the section a whole number of times, and
/// whose data lies within their extent.
struct ElementUnit {
  Type type;
  int64_t bytes = 0;  ///< bytes of the sequence for each element
  int64_t count = 0;
};

Type predefined(MPI_Datatype handle) {
  Type type;
  const Status found = Type::of(handle, &type);
  FGMPI_CHECK(found.ok());
  return type;
}

/// Finds a unit; returns false when compose_elements() has to split the elements.
bool find_unit(const ArraySection& section, int64_t count, const Type& type,
               const datatype::TypeTree& tree, ElementUnit* unit) {
  auto fits = [&](int64_t bytes) { return bytes > 0 && section.element() % bytes == 0; };
  const bool inside = tree.low() >= 0 && tree.high() <= tree.extent;
  if (inside && fits(tree.extent)) {
    *unit = {type, tree.extent, count};
    return true;
  }
  if (!tree.contiguous() || tree.low() != 0 || !datatype::is_basic(tree.element)) return false;
  const int64_t bytes = datatype::basic_size(tree.element);
  if (!fits(bytes)) return false;
  *unit = {predefined(tree.element), bytes, count * tree.size / bytes};
  return true;
}

/// Composes the first units of the sequence: one type for each dimension whose rows they fill, and
/// one for the rest of an element.
Type compose_units(TypeMaker& maker, const ArraySection& section, const ElementUnit& unit) {
  const int64_t per_element = section.element() / unit.bytes;
  std::vector<Type> whole{maker.row(unit.type, per_element)};  // [d]: dimensions below d
  std::vector<int64_t> units{per_element};
  for (int d = 0; d < section.dimensions(); ++d) {
    whole.push_back(maker.repeat(whole.back(), section.extent(d), section.step(d)));
    units.push_back(units.back() * section.extent(d));
  }
  std::vector<MPI_Aint> places;
  std::vector<Type> types;
  int64_t left = unit.count;
  MPI_Aint at = 0;
  for (int d = section.dimensions(); d-- > 0;) {
    const auto below = static_cast<size_t>(d);
    const int64_t n = left / units[below];
    if (n == 0) continue;
    places.push_back(at);
    types.push_back(maker.repeat(whole[below], n, section.step(d)));
    at += n * section.step(d);
    left -= n * units[below];
  }
  if (left > 0) {
    places.push_back(at);
    types.push_back(maker.row(unit.type, left));
  }
  if (places.size() == 1 && places[0] == 0) return types[0];
  return maker.list(std::vector<int>(places.size(), 1), places, types);
}

/// The rows of contiguous predefined elements in memory, as arguments for TypeMaker::list().
class Rows {
 public:
  /// Adds the next bytes of the signature, which lie at `at` in memory. All belong to elements of
  /// one predefined type; the first is byte number `phase` of an element.
  void add(int64_t at, int64_t bytes, MPI_Datatype type, int64_t size, int64_t phase) {
    if (open_.bytes > 0 && open_.type == type && open_.at + open_.bytes == at &&
        (open_.phase + open_.bytes) % size == phase) {
      open_.bytes += bytes;
      return;
    }
    close();
    open_ = {at, bytes, type, size, phase};
  }
  /// Ends the open row. A row that does not consist of whole elements becomes bytes.
  void close() {
    if (open_.bytes == 0) return;
    const bool whole = open_.phase == 0 && open_.bytes % open_.size == 0;
    int64_t left = whole ? open_.bytes / open_.size : open_.bytes;
    const int64_t size = whole ? open_.size : 1;
    for (MPI_Aint at = open_.at; left > 0;) {
      const int64_t n = std::min<int64_t>(left, INT_MAX);
      counts.push_back(static_cast<int>(n));
      places.push_back(at);
      types.push_back(whole ? predefined(open_.type) : Type());
      at += n * size;
      left -= n;
    }
    open_ = {};
  }
  std::vector<int> counts;
  std::vector<MPI_Aint> places;
  std::vector<Type> types;

 private:
  struct OpenRow {
    int64_t at = 0, bytes = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int64_t size = 1, phase = 0;
  } open_;
};

/// Walks over a signature and the addresses of its bytes at the same time, and adds them to Rows.
class Taker {
 public:
  Taker(const ArraySection& section, const datatype::TypeTree& tree, Rows* rows)
      : section_(section), cursor_(tree), rows_(rows) {}

  void take(const datatype::Signature& signature) {
    for (int64_t i = 0; i < (signature.inner.empty() ? 1 : signature.count); ++i) {
      for (const datatype::Signature& inner : signature.inner) take(inner);
      if (signature.inner.empty()) take_elements(signature.type, signature.count);
    }
  }

 private:
  void take_elements(MPI_Datatype type, int64_t count) {
    const int64_t size = predefined(type).size();
    int64_t left = count * size, phase = 0;
    while (left > 0) {
      const datatype::TypeRun run = cursor_.next(left);
      section_.for_each_row(run.offset, run.bytes, [&](int64_t at, int64_t bytes) {
        rows_->add(at, bytes, type, size, phase);
        phase = (phase + bytes) % size;
      });
      left -= run.bytes;
    }
  }
  const ArraySection& section_;
  datatype::TypeCursor cursor_;
  Rows* rows_;
};

Type compose_elements(TypeMaker& maker, const ArraySection& section, int64_t count,
                      const datatype::TypeTree& tree, const datatype::Signature& signature) {
  Rows rows;
  Taker taker(section, tree, &rows);
  for (int64_t i = 0; i < count; ++i) taker.take(signature);
  rows.close();
  return maker.list(rows.counts, rows.places, rows.types);
}

/// Makes a composed type. `distance`: bytes from one element of the result to the next, or 0 where
/// only one is used.
Status make(const ArraySection& section, int64_t count, const Type& type, int64_t distance,
            MPI_Datatype* made) {
  const datatype::TypeTree& tree = type.tree();
  ElementUnit unit;
  TypeMaker maker;
  Type result = find_unit(section, count, type, tree, &unit)
                    ? compose_units(maker, section, unit)
                    : compose_elements(maker, section, count, tree, datatype::signature_of(type));
  if (distance) result = maker.resize(result, distance);
  return maker.commit(result, made);
}

}  // namespace

Status check_reach(const ArraySection& section, int64_t count, const Type& type,
                   const char* argument) {
  if (count <= 0 || type.size() == 0) return {};
  int64_t reach, high = type.true_lb() + type.true_extent();
  int64_t low = type.true_lb();
  const bool wide = __builtin_mul_overflow(count - 1, type.extent(), &reach);
  if (reach < 0) low += reach;
  if (reach > 0) high += reach;
  if (!wide && low >= 0 && high <= section.bytes()) return {};
  return error(MPI_ERR_BUFFER,
               "%s is an array section of %lld bytes, and %lld elements of the datatype need bytes "
               "%lld to %lld; allowed are elements that lie in the section",
               argument, static_cast<long long>(section.bytes()), static_cast<long long>(count),
               static_cast<long long>(low), static_cast<long long>(high - 1));
}

Status compose(const ArraySection& section, int64_t count, const Type& type, MPI_Datatype* made) {
  return make(section, count, type, 0, made);
}

Status compose_partition(const ArraySection& section, int64_t partitions, int64_t count,
                         const Type& type, const char* argument, MPI_Datatype* made) {
  const int64_t bytes = count * type.extent();
  int64_t elements = bytes % section.element() == 0 ? bytes / section.element() : 0;
  // Partitions lie at equal distances where each consists of whole rows of the dimensions below d,
  // and all are in one row of dimension d.
  for (int d = 0; d < section.dimensions() && elements > 0; ++d) {
    const int64_t distance = elements * section.step(d);
    if (elements * partitions <= section.extent(d))
      return make(section, count, type, distance, made);
    elements = elements % section.extent(d) == 0 ? elements / section.extent(d) : 0;
  }
  return error(MPI_ERR_BUFFER,
               "%s is an array section in which the partitions do not lie at equal distances; "
               "allowed are partitions of whole elements of the first dimension, or of whole rows",
               argument);
}

void free_composed(MPI_Datatype type) { datatype::free_handle(type); }

}  // namespace fgmpi::fortran
