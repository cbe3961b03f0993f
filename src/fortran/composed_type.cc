// The datatype of a count and type over a section, made from the section's dimensions.

#include "fortran/composed_type.h"

#include <algorithm>
#include <climits>
#include <utility>
#include <vector>

#include "datatype/type_tree.h"
#include "host/host.h"

namespace fgmpi::fortran {
namespace {

using host::Api;

/// Makes the intermediate types of one composed type. The destructor frees all but the result.
class TypeMaker {
 public:
  explicit TypeMaker(const Api& api) : api_(api) {}
  ~TypeMaker() {
    for (MPI_Datatype& type : made_) api_.Type_free(&type);
  }
  TypeMaker(const TypeMaker&) = delete;
  TypeMaker& operator=(const TypeMaker&) = delete;

  /// The first error of the host, if there was one.
  int code() const { return code_; }

  MPI_Datatype repeat(MPI_Datatype type, int64_t count, int64_t step) {
    if (count == 1) return type;
    return keep([&](MPI_Datatype* out) {
      return count <= INT_MAX
                 ? api_.Type_create_hvector(static_cast<int>(count), 1, step, type, out)
                 : api_.Type_create_hvector_c(count, 1, step, type, out);
    });
  }
  MPI_Datatype row(MPI_Datatype type, int64_t count) {
    if (count == 1) return type;
    return keep([&](MPI_Datatype* out) {
      return count <= INT_MAX ? api_.Type_contiguous(static_cast<int>(count), type, out)
                              : api_.Type_contiguous_c(count, type, out);
    });
  }
  /// REQUIRES: counts are at most INT_MAX; Rows splits longer rows.
  MPI_Datatype list(const std::vector<int>& counts, const std::vector<MPI_Aint>& places,
                    const std::vector<MPI_Datatype>& types) {
    const bool one_type =
        std::all_of(types.begin(), types.end(), [&](MPI_Datatype t) { return t == types[0]; });
    return keep([&](MPI_Datatype* out) {
      const auto n = static_cast<int>(counts.size());
      return one_type ? api_.Type_create_hindexed(n, counts.data(), places.data(), types[0], out)
                      : api_.Type_create_struct(n, counts.data(), places.data(), types.data(), out);
    });
  }
  MPI_Datatype resize(MPI_Datatype type, int64_t extent) {
    return keep([&](MPI_Datatype* out) { return api_.Type_create_resized(type, 0, extent, out); });
  }
  /// Commits the result. It is a new type even where `type` is the program's.
  MPI_Datatype commit(MPI_Datatype type) {
    if (made_.empty() || made_.back() != type)
      type = keep([&](MPI_Datatype* out) { return api_.Type_contiguous(1, type, out); });
    if (code_ == MPI_SUCCESS) code_ = api_.Type_commit(&type);
    if (code_ != MPI_SUCCESS) return MPI_DATATYPE_NULL;
    made_.pop_back();
    return type;
  }

 private:
  template <class Make>
  MPI_Datatype keep(Make&& make) {
    if (code_ != MPI_SUCCESS) return MPI_DATATYPE_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    code_ = make(&type);
    if (code_ == MPI_SUCCESS) made_.push_back(type);
    return type;
  }

  const Api& api_;
  int code_ = MPI_SUCCESS;
  std::vector<MPI_Datatype> made_;
};

/// Elements of a datatype that fit into an element of the section a whole number of times, and
/// whose data lies within their extent.
struct ElementUnit {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int64_t bytes = 0;  ///< bytes of the sequence for each element
  int64_t count = 0;
};

/// Finds a unit; returns false when compose_elements() has to split the elements.
bool find_unit(const ArraySection& section, int64_t count, const datatype::Type& type,
               const datatype::TypeTree& tree, ElementUnit* unit) {
  auto fits = [&](int64_t bytes) { return bytes > 0 && section.element() % bytes == 0; };
  const bool inside = tree.low() >= 0 && tree.high() <= tree.extent;
  if (inside && fits(tree.extent)) {
    *unit = {type.host_handle(), tree.extent, count};
    return true;
  }
  if (!tree.contiguous() || tree.low() != 0 || !datatype::is_basic(tree.element)) return false;
  const int64_t bytes = datatype::basic_size(tree.element);
  if (!fits(bytes)) return false;
  *unit = {tree.element, bytes, count * tree.size / bytes};
  return true;
}

/// Composes the first units of the sequence: one type for each dimension whose rows they fill, and
/// one for the rest of an element.
MPI_Datatype compose_units(TypeMaker& maker, const ArraySection& section, const ElementUnit& unit) {
  const int64_t per_element = section.element() / unit.bytes;
  std::vector<MPI_Datatype> whole{maker.row(unit.type, per_element)};  // [d]: dimensions below d
  std::vector<int64_t> units{per_element};
  for (int d = 0; d < section.dimensions(); ++d) {
    whole.push_back(maker.repeat(whole.back(), section.extent(d), section.step(d)));
    units.push_back(units.back() * section.extent(d));
  }
  std::vector<MPI_Aint> places;
  std::vector<MPI_Datatype> types;
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
      types.push_back(whole ? open_.type : MPI_BYTE);
      at += n * size;
      left -= n;
    }
    open_ = {};
  }
  std::vector<int> counts;
  std::vector<MPI_Aint> places;
  std::vector<MPI_Datatype> types;

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
    datatype::Type of;
    const bool known = datatype::Type::of(type, &of).ok();
    const int64_t size = known ? of.size() : 1;
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

MPI_Datatype compose_elements(TypeMaker& maker, const ArraySection& section, int64_t count,
                              const datatype::TypeTree& tree,
                              const datatype::Signature& signature) {
  Rows rows;
  Taker taker(section, tree, &rows);
  for (int64_t i = 0; i < count; ++i) taker.take(signature);
  rows.close();
  return maker.list(rows.counts, rows.places, rows.types);
}

/// Makes a composed type. `distance`: bytes from one element of the result to the next, or 0 where
/// only one is used.
Status make(const ArraySection& section, int64_t count, const datatype::Type& type,
            int64_t distance, MPI_Datatype* made) {
  datatype::TypeTreePtr tree;
  FGMPI_TRY(datatype::cached_tree_of(type, &tree));
  ElementUnit unit;
  datatype::Signature signature;
  const bool whole = find_unit(section, count, type, *tree, &unit);
  if (!whole) FGMPI_TRY(datatype::signature_of(type, &signature));
  const int code = host::call([&](const Api& h) {
    TypeMaker maker(h);
    MPI_Datatype result = whole ? compose_units(maker, section, unit)
                                : compose_elements(maker, section, count, *tree, signature);
    if (distance) result = maker.resize(result, distance);
    *made = maker.commit(result);
    return maker.code();
  });
  if (code == MPI_SUCCESS) return {};
  return error(MPI_ERR_TYPE, "the hosted MPI makes no datatype of a section of %d dimensions",
               section.dimensions());
}

}  // namespace

Status check_reach(const ArraySection& section, int64_t count, const datatype::Type& type,
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

Status compose(const ArraySection& section, int64_t count, const datatype::Type& type,
               MPI_Datatype* made) {
  return make(section, count, type, 0, made);
}

Status compose_partition(const ArraySection& section, int64_t partitions, int64_t count,
                         const datatype::Type& type, const char* argument, MPI_Datatype* made) {
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

void free_composed(MPI_Datatype type) {
  datatype::type_freed(type);
  host::call([&](const Api& h) { return h.Type_free(&type); });
}

}  // namespace fgmpi::fortran
