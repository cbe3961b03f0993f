// Runs of bytes of datatypes: listed, cached, sent; gathering and scattering by them.

#include "rma/layout.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "datatype/type_tree.h"

namespace fgmpi::rma {
namespace {

std::shared_ptr<Layout> layout_from(const datatype::TypeTree& tree) {
  auto layout = std::make_shared<Layout>();
  layout->extent = tree.extent;
  layout->element = tree.element;
  datatype::for_each_run(tree, 1, [&](int64_t offset, int64_t bytes) {
    std::vector<ByteRun>& runs = layout->runs;
    if (!runs.empty() && runs.back().offset + runs.back().bytes == offset)
      runs.back().bytes += bytes;
    else
      runs.push_back({offset, bytes});
  });
  layout->runs.shrink_to_fit();
  bool first = true;
  for (const ByteRun& run : layout->runs) {
    layout->low = first ? run.offset : std::min(layout->low, run.offset);
    layout->high = first ? run.offset + run.bytes : std::max(layout->high, run.offset + run.bytes);
    first = false;
  }
  layout->sum_up();
  return layout;
}

/// A derived type of the cache. The entry holds the type, so that no other one gets its address
/// while the entry exists.
struct CachedLayout {
  datatype::Type type;
  LayoutPtr layout;
};
constexpr size_t kMostKept = 256;
using LayoutCache = std::unordered_map<const datatype::DerivedType*, CachedLayout>;
LayoutCache& cache() {
  static auto* map = new LayoutCache;
  return *map;
}
std::unordered_map<MPI_Datatype, LayoutPtr>& predefined_layouts() {
  static auto* map = new std::unordered_map<MPI_Datatype, LayoutPtr>;
  return *map;
}

void (*g_on_dropped)(const Layout&) = nullptr;

}  // namespace

Layout::~Layout() {
  if (!sent_to.empty() && g_on_dropped) g_on_dropped(*this);
}

void Layout::sum_up() {
  size = 0;
  starts.clear();
  starts.reserve(runs.size());
  for (const ByteRun& run : runs) {
    starts.push_back(size);
    size += run.bytes;
  }
}

bool Layout::can_hold(int64_t count, int64_t offset) const {
  using Wide = __int128;
  const Wide last = Wide{count} * extent, data = Wide{count} * size;
  const auto fits = [](Wide n) { return n >= INT64_MIN && n <= INT64_MAX; };
  return count >= 0 && fits(data) && fits(offset + low + std::min<Wide>(last, 0)) &&
         fits(offset + high + std::max<Wide>(last, 0));
}

void set_layout_dropped_handler(void (*handler)(const Layout&)) { g_on_dropped = handler; }

size_t count_cached_layouts() { return cache().size(); }

LayoutPtr layout_of(const datatype::Type& type) {
  if (type.predefined() != MPI_DATATYPE_NULL) {
    LayoutPtr& kept = predefined_layouts()[type.predefined()];
    if (!kept) kept = layout_from(type.tree());
    return kept;
  }
  auto& kept = cache();
  if (auto found = kept.find(type.derived()); found != kept.end()) return found->second.layout;
  LayoutPtr made = layout_from(type.tree());
  if (kept.size() >= kMostKept) kept.clear();
  kept.emplace(type.derived(), CachedLayout{type, made});
  return made;
}

void write_layout(const Layout& layout, std::vector<uint8_t>* out) {
  append(out, layout.size);
  append(out, layout.extent);
  append(out, layout.low);
  append(out, layout.high);
  append(out, layout.element);
  append(out, static_cast<uint64_t>(layout.runs.size()));
  for (const ByteRun& run : layout.runs) append(out, run);
}

bool read_layout(FieldReader* in, Layout* out) {
  out->size = in->get<int64_t>();
  out->extent = in->get<int64_t>();
  out->low = in->get<int64_t>();
  out->high = in->get<int64_t>();
  out->element = in->get<MPI_Datatype>();
  const auto count = in->get<uint64_t>();
  if (in->failed() || count == 0 || count > in->left() / sizeof(ByteRun)) return false;
  // Numbers of 62 bits at most: sums and differences of two do not overflow.
  constexpr int64_t kMost = int64_t{1} << 62;
  const auto is_bounded = [](int64_t n) { return n >= -kMost && n <= kMost; };
  if (!is_bounded(out->size) || !is_bounded(out->extent) || !is_bounded(out->low) ||
      !is_bounded(out->high))
    return false;
  int64_t left = out->size;
  out->runs.resize(count);
  for (ByteRun& run : out->runs) {
    run = in->get<ByteRun>();
    if (run.bytes <= 0 || run.bytes > left || run.offset < out->low ||
        run.offset > out->high - run.bytes)
      return false;
    left -= run.bytes;
  }
  out->sum_up();
  return left == 0;
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
    const ByteRun run = from->next(bytes);
    std::memcpy(out, static_cast<const char*>(base) + run.offset, static_cast<size_t>(run.bytes));
    out += run.bytes;
    bytes -= run.bytes;
  }
}

void scatter(Cursor* to, void* base, const void* row, int64_t bytes) {
  const auto* in = static_cast<const char*>(row);
  while (bytes > 0) {
    const ByteRun run = to->next(bytes);
    std::memcpy(static_cast<char*>(base) + run.offset, in, static_cast<size_t>(run.bytes));
    in += run.bytes;
    bytes -= run.bytes;
  }
}

}  // namespace fgmpi::rma
