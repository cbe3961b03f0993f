#include "rma/layout.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <unordered_map>

#include "host/basic_type.h"
#include "host/host.h"

namespace fgmpi::rma {
namespace {

using host::Api;

/// A layout in the making. Runs that touch are one.
struct Maker {
  std::vector<Run> runs;
  MPI_Datatype element = MPI_DATATYPE_NULL;
  bool several = false;       ///< of different predefined types
  bool with_padding = false;  ///< elements are taken whole

  void add(int64_t offset, int64_t bytes) {
    if (bytes == 0) return;
    if (!runs.empty() && runs.back().offset + runs.back().bytes == offset)
      runs.back().bytes += bytes;
    else
      runs.push_back({offset, bytes});
  }
  void made_of(MPI_Datatype type) {
    if (element == MPI_DATATYPE_NULL) element = type;
    several |= element != type;
  }
};

template <class V>
void add_pair(Maker* to, int64_t offset) {
  using Pair = host::PairOf<V, int>;
  if (to->with_padding) return to->add(offset, sizeof(Pair));
  to->add(offset, sizeof(V));
  to->add(offset + static_cast<int64_t>(offsetof(Pair, index)), sizeof(int));
}

void add_predefined(Maker* to, MPI_Datatype type, int64_t offset) {
  if (host::is_basic(type) && host::basic_size(type) == 0) return;  // a marker of a bound
  to->made_of(type);
  switch (host::pair_index(type)) {
    case 0:
      return add_pair<float>(to, offset);
    case 1:
      return add_pair<double>(to, offset);
    case 2:
      return add_pair<long>(to, offset);
    case 3:
      return add_pair<short>(to, offset);
    case 4:
      return add_pair<long double>(to, offset);
    default:
      return to->add(offset, host::basic_size(type));
  }
}

bool is_predefined(MPI_Datatype type) {
  return host::is_basic(type) || host::pair_index(type) < host::kPairTypes;
}

/// What MPI_Type_get_contents says of a datatype: counts by the call that made it are in `counts` where it was a
/// large-count one, else in `integers`, displacements likewise.
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> counts;
  std::vector<MPI_Datatype> types;
  bool large() const { return !counts.empty(); }

  int read(const Api& h, MPI_Datatype type) {
    MPI_Count n_integers, n_addresses, n_counts, n_types;
    int code =
        h.Type_get_envelope_c(type, &n_integers, &n_addresses, &n_counts, &n_types, &combiner);
    if (code != MPI_SUCCESS || combiner == MPI_COMBINER_NAMED) return code;
    integers.resize(n_integers);
    addresses.resize(n_addresses);
    counts.resize(n_counts);
    types.resize(n_types);
    return h.Type_get_contents_c(type, n_integers, n_addresses, n_counts, n_types, integers.data(),
                                 addresses.data(), counts.data(), types.data());
  }
  /// Hands out counts in the order of the constructor's arguments.
  int64_t count(size_t i) const { return large() ? counts[i] : int64_t{integers[i]}; }
  /// A displacement in bytes: the large-count constructors have these among their counts, behind `before` others.
  int64_t address(size_t i, size_t before) const {
    return large() ? counts[before + i] : addresses[i];
  }
};

bool is_made_by_f90(int combiner) {
  return combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_COMPLEX;
}

class Flattener {
 public:
  Flattener(const Api& h, Maker* out) : h_(h), out_(out) {}

  /// Adds one element at `offset`. Returns the host's code.
  int add(MPI_Datatype type, int64_t offset) {
    if (is_predefined(type)) {
      add_predefined(out_, type, offset);
      return MPI_SUCCESS;
    }
    Contents c;
    if (int code = c.read(h_, type); code != MPI_SUCCESS) return code;
    if (c.combiner == MPI_COMBINER_NAMED || is_made_by_f90(c.combiner))
      return add_unknown(type, offset);
    const int code = add_constructed(c, offset);
    for (MPI_Datatype& inner : c.types) release(&inner);
    return code;
  }

 private:
  /// A predefined type whose handle does not carry its size: by the host's words.
  int add_unknown(MPI_Datatype type, int64_t offset) {
    MPI_Count size;
    int code = h_.Type_size_x(type, &size);
    if (code != MPI_SUCCESS) return code;
    out_->made_of(type);
    out_->add(offset, size);
    return MPI_SUCCESS;
  }
  void release(MPI_Datatype* type) {
    if (is_predefined(*type)) return;
    MPI_Count a, b, c, d;
    int combiner;
    if (h_.Type_get_envelope_c(*type, &a, &b, &c, &d, &combiner) == MPI_SUCCESS &&
        combiner != MPI_COMBINER_NAMED && !is_made_by_f90(combiner))
      h_.Type_free(type);
  }
  int64_t extent(MPI_Datatype type) {
    if (host::is_basic(type)) return host::basic_size(type);
    MPI_Count lb, extent;
    h_.Type_get_extent_x(type, &lb, &extent);
    return extent;
  }
  /// `count` elements one behind the other.
  int add_block(MPI_Datatype type, int64_t count, int64_t offset, int64_t extent) {
    if (count > 1 && host::is_basic(type)) {
      out_->made_of(type);
      out_->add(offset, count * host::basic_size(type));
      return MPI_SUCCESS;
    }
    for (int64_t i = 0; i < count; ++i)
      if (int code = add(type, offset + i * extent); code != MPI_SUCCESS) return code;
    return MPI_SUCCESS;
  }
  int add_constructed(const Contents& c, int64_t at) {
    if (c.types.empty()) return MPI_SUCCESS;  // a structure of nothing
    const MPI_Datatype inner = c.types[0];
    const int64_t step = extent(inner);
    auto blocks = [&](int64_t count, auto&& length, auto&& offset) {
      for (int64_t i = 0; i < count; ++i)
        if (int code = add_block(inner, length(i), at + offset(i), step); code != MPI_SUCCESS)
          return code;
      return static_cast<int>(MPI_SUCCESS);
    };
    switch (c.combiner) {
      case MPI_COMBINER_DUP:
      case MPI_COMBINER_RESIZED:
        return add(inner, at);
      case MPI_COMBINER_CONTIGUOUS:
        return add_block(inner, c.count(0), at, step);
      case MPI_COMBINER_VECTOR:
        return blocks(
            c.count(0), [&](int64_t) { return c.count(1); },
            [&](int64_t i) { return i * c.count(2) * step; });
      case MPI_COMBINER_HVECTOR:
        return blocks(
            c.count(0), [&](int64_t) { return c.count(1); },
            [&](int64_t i) { return i * c.address(0, 2); });
      case MPI_COMBINER_INDEXED: {
        const int64_t n = c.count(0);
        return blocks(
            n, [&](int64_t i) { return c.count(1 + i); },
            [&](int64_t i) { return c.count(1 + n + i) * step; });
      }
      case MPI_COMBINER_HINDEXED: {
        const int64_t n = c.count(0);
        return blocks(
            n, [&](int64_t i) { return c.count(1 + i); },
            [&](int64_t i) { return c.address(i, 1 + n); });
      }
      case MPI_COMBINER_INDEXED_BLOCK:
        return blocks(
            c.count(0), [&](int64_t) { return c.count(1); },
            [&](int64_t i) { return c.count(2 + i) * step; });
      case MPI_COMBINER_HINDEXED_BLOCK:
        return blocks(
            c.count(0), [&](int64_t) { return c.count(1); },
            [&](int64_t i) { return c.address(i, 2); });
      case MPI_COMBINER_STRUCT: {
        const int64_t n = c.count(0);
        for (int64_t i = 0; i < n; ++i)
          if (int code = add_block(c.types[i], c.count(1 + i), at + c.address(i, 1 + n),
                                   extent(c.types[i]));
              code != MPI_SUCCESS)
            return code;
        return MPI_SUCCESS;
      }
      case MPI_COMBINER_SUBARRAY:
        return add_subarray(c, at, step);
      case MPI_COMBINER_DARRAY:
        return add_darray(c, at, step);
      default:
        return MPI_ERR_TYPE;
    }
  }
  /// Elements of an array: those whose index in each dimension is in one of the runs of that dimension, the first
  /// dimension varying slowest. `unit`: from one element of a dimension to the next.
  int add_grid(MPI_Datatype type, const std::vector<std::vector<Run>>& kept,
               const std::vector<int64_t>& unit, size_t dimension, int64_t at) {
    for (const Run& run : kept[dimension]) {
      if (dimension + 1 == kept.size()) {
        if (int code =
                add_block(type, run.bytes, at + run.offset * unit[dimension], unit[dimension]);
            code != MPI_SUCCESS)
          return code;
        continue;
      }
      for (int64_t i = 0; i < run.bytes; ++i)
        if (int code =
                add_grid(type, kept, unit, dimension + 1, at + (run.offset + i) * unit[dimension]);
            code != MPI_SUCCESS)
          return code;
    }
    return MPI_SUCCESS;
  }
  int add_ordered(const Contents& c, int order, std::vector<int64_t> sizes,
                  std::vector<std::vector<Run>> kept, int64_t at, int64_t step) {
    if (order == MPI_ORDER_FORTRAN) {
      std::reverse(sizes.begin(), sizes.end());
      std::reverse(kept.begin(), kept.end());
    }
    std::vector<int64_t> unit(sizes.size());
    for (size_t d = sizes.size(); d-- > 0; step *= sizes[d]) unit[d] = step;
    return add_grid(c.types[0], kept, unit, 0, at);
  }
  int add_subarray(const Contents& c, int64_t at, int64_t step) {
    const auto dims = static_cast<size_t>(c.integers[0]);
    // Large counts: sizes, subsizes and starts alone; else they follow the number of dimensions.
    auto value = [&](size_t i) { return c.large() ? c.counts[i] : int64_t{c.integers[1 + i]}; };
    const int order = c.integers.back();
    std::vector<int64_t> sizes;
    std::vector<std::vector<Run>> kept;
    for (size_t d = 0; d < dims; ++d) {
      sizes.push_back(value(d));
      kept.push_back({{value(2 * dims + d), value(dims + d)}});
    }
    return add_ordered(c, order, std::move(sizes), std::move(kept), at, step);
  }
  /// Blocks of `block` elements dealt out cyclically: those of process `me` of `processes`.
  static std::vector<Run> dealt(int64_t size, int64_t block, int64_t processes, int64_t me) {
    std::vector<Run> mine;
    for (int64_t first = me * block; first < size; first += processes * block)
      mine.push_back({first, std::min(block, size - first)});
    return mine;
  }
  int add_darray(const Contents& c, int64_t at, int64_t step) {
    const int64_t size = c.integers[0];
    int64_t rank = c.integers[1];
    const auto dims = static_cast<size_t>(c.integers[2]);
    // Large counts: the global sizes are among the counts.
    const size_t after = c.large() ? 3 : 3 + dims;
    auto distribution = [&](size_t d) { return c.integers[after + d]; };
    auto argument = [&](size_t d) { return c.integers[after + dims + d]; };
    auto processes = [&](size_t d) { return int64_t{c.integers[after + 2 * dims + d]}; };
    const int order = c.integers.back();
    // The grid of processes is in row-major order whatever the array's is (MPI-4.0 section 5.1.4).
    std::vector<int64_t> place(dims);
    int64_t below = size;
    for (size_t d = 0; d < dims; ++d) {
      below /= processes(d);
      place[d] = rank / below;
      rank %= below;
    }
    std::vector<int64_t> sizes;
    std::vector<std::vector<Run>> kept;
    for (size_t d = 0; d < dims; ++d) {
      const int64_t n = c.large() ? c.counts[d] : int64_t{c.integers[3 + d]};
      sizes.push_back(n);
      if (distribution(d) == MPI_DISTRIBUTE_NONE) {
        kept.push_back({{0, n}});
        continue;
      }
      const bool given = argument(d) != MPI_DISTRIBUTE_DFLT_DARG;
      int64_t block = given ? argument(d) : 1;
      if (distribution(d) == MPI_DISTRIBUTE_BLOCK && !given)
        block = (n + processes(d) - 1) / processes(d);
      kept.push_back(dealt(n, block, processes(d), place[d]));
    }
    return add_ordered(c, order, std::move(sizes), std::move(kept), at, step);
  }

  const Api& h_;
  Maker* out_;
};

std::shared_ptr<Layout> finish(Maker made, int64_t extent) {
  auto layout = std::make_shared<Layout>();
  layout->extent = extent;
  layout->element = made.several ? MPI_DATATYPE_NULL : made.element;
  layout->runs = std::move(made.runs);
  layout->runs.shrink_to_fit();
  bool first = true;
  for (const Run& run : layout->runs) {
    layout->low = first ? run.offset : std::min(layout->low, run.offset);
    layout->high = first ? run.offset + run.bytes : std::max(layout->high, run.offset + run.bytes);
    first = false;
  }
  layout->sum_up();
  return layout;
}

/// A derived type of the cache; it keeps the type, so that its handle is not another's while it is here.
struct Kept {
  host::Type type;
  LayoutPtr layout;
};
constexpr size_t kMostKept = 256;
std::unordered_map<MPI_Datatype, Kept>& cache() {
  static auto* map = new std::unordered_map<MPI_Datatype, Kept>;
  return *map;
}
std::unordered_map<MPI_Datatype, LayoutPtr>& predefined_layouts() {
  static auto* map = new std::unordered_map<MPI_Datatype, LayoutPtr>;
  return *map;
}

void (*g_on_dropped)(const Layout&) = nullptr;

LayoutPtr make_predefined(MPI_Datatype type) {
  Maker bytes, whole;
  whole.with_padding = true;
  add_predefined(&bytes, type, 0);
  add_predefined(&whole, type, 0);
  int64_t extent = 0;
  for (const Run& run : whole.runs) extent += run.bytes;
  auto layout = finish(std::move(bytes), extent);
  if (layout->size != extent) layout->whole = finish(std::move(whole), extent);
  return layout;
}

Status make_derived(const host::Type& type, LayoutPtr* out) {
  Maker bytes, whole;
  whole.with_padding = true;
  const MPI_Datatype handle = type.host_handle();
  const int code = host::call([&](const Api& h) {
    int made = Flattener(h, &bytes).add(handle, 0);
    if (made == MPI_SUCCESS && host::pair_index(bytes.element) < host::kPairTypes)
      made = Flattener(h, &whole).add(handle, 0);
    return made;
  });
  if (code != MPI_SUCCESS)
    return error(MPI_ERR_TYPE, "the hosted MPI does not say what datatype 0x%08x is made of",
                 static_cast<unsigned>(type.handle()));
  const bool padded = !whole.runs.empty() && !whole.several;
  auto layout = finish(std::move(bytes), type.extent());
  if (padded) layout->whole = finish(std::move(whole), type.extent());
  *out = layout;
  return {};
}

}  // namespace

Layout::~Layout() {
  if (!sent_to.empty() && g_on_dropped) g_on_dropped(*this);
}

void Layout::sum_up() {
  size = 0;
  starts.clear();
  starts.reserve(runs.size());
  for (const Run& run : runs) {
    starts.push_back(size);
    size += run.bytes;
  }
}

void set_layout_dropped_handler(void (*handler)(const Layout&)) { g_on_dropped = handler; }

size_t kept_layouts() { return cache().size(); }

Status layout_of(const host::Type& type, LayoutPtr* out) {
  const MPI_Datatype handle = type.handle();
  if (is_predefined(handle)) {
    LayoutPtr& kept = predefined_layouts()[handle];
    if (!kept) kept = make_predefined(handle);
    *out = kept;
    return {};
  }
  auto& kept = cache();
  // An entry whose type the user has freed has another handle now: this one is a new type's.
  if (auto found = kept.find(handle); found != kept.end()) {
    if (found->second.type.host_handle() == handle) {
      *out = found->second.layout;
      return {};
    }
    kept.erase(found);
  }
  FGMPI_TRY(make_derived(type, out));
  if (kept.size() >= kMostKept) kept.clear();
  kept.emplace(handle, Kept{type, *out});
  return {};
}

void write_layout(const Layout& layout, std::vector<uint8_t>* out) {
  append(out, layout.size);
  append(out, layout.extent);
  append(out, layout.low);
  append(out, layout.high);
  append(out, layout.element);
  append(out, static_cast<uint64_t>(layout.runs.size()));
  for (const Run& run : layout.runs) append(out, run);
}

bool read_layout(FieldReader* in, Layout* out) {
  out->size = in->get<int64_t>();
  out->extent = in->get<int64_t>();
  out->low = in->get<int64_t>();
  out->high = in->get<int64_t>();
  out->element = in->get<MPI_Datatype>();
  const auto count = in->get<uint64_t>();
  if (in->failed() || count == 0 || count > in->left() / sizeof(Run)) return false;
  out->runs.resize(count);
  for (Run& run : out->runs) {
    run = in->get<Run>();
    if (run.bytes <= 0 || run.offset < out->low || run.offset > out->high - run.bytes) return false;
  }
  const int64_t size = out->size;
  out->sum_up();
  return size == out->size;
}

void Cursor::seek(int64_t position) {
  position_ = position;
  if (whole_ || layout_->size == 0) return;
  element_ = position / layout_->size;
  const int64_t rest = position % layout_->size;
  const auto& starts = layout_->starts;
  run_ =
      static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), rest) - starts.begin()) -
      1;
  left_ = layout_->runs[run_].bytes - (rest - starts[run_]);
}

void gather(Cursor* from, const void* base, void* row, int64_t bytes) {
  auto* out = static_cast<char*>(row);
  while (bytes > 0) {
    const Run run = from->next(bytes);
    std::memcpy(out, static_cast<const char*>(base) + run.offset, static_cast<size_t>(run.bytes));
    out += run.bytes;
    bytes -= run.bytes;
  }
}

void scatter(Cursor* to, void* base, const void* row, int64_t bytes) {
  const auto* in = static_cast<const char*>(row);
  while (bytes > 0) {
    const Run run = to->next(bytes);
    std::memcpy(static_cast<char*>(base) + run.offset, in, static_cast<size_t>(run.bytes));
    in += run.bytes;
    bytes -= run.bytes;
  }
}

}  // namespace fgmpi::rma
