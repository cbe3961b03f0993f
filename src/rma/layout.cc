// Layouts: found for datatypes, encoded and decoded.

#include "rma/layout.h"

#include <unordered_map>

namespace fgmpi::rma {
namespace {

/// By their datatypes. A layout holds its datatype, so that no other one gets the address while the
/// entry exists.
constexpr size_t kMostKept = 256;
using LayoutCache = std::unordered_map<const datatype::DerivedType*, LayoutPtr>;
LayoutCache& cache() {
  static auto* map = new LayoutCache;
  return *map;
}

void (*g_on_dropped)(const Layout&) = nullptr;

}  // namespace

Layout::~Layout() {
  if (!sent_to.empty() && g_on_dropped) g_on_dropped(*this);
}

void set_layout_dropped_handler(void (*handler)(const Layout&)) { g_on_dropped = handler; }

size_t count_cached_layouts() { return cache().size(); }

LayoutPtr layout_of(const datatype::Type& type) {
  auto& kept = cache();
  if (auto found = kept.find(type.derived()); found != kept.end()) return found->second;
  if (kept.size() >= kMostKept) kept.clear();
  return kept[type.derived()] = std::make_shared<Layout>(type);
}

void write_layout(const TypeTree& tree, std::vector<uint8_t>* out) {
  std::vector<TypeRun> runs;
  datatype::for_each_run(tree, 1, [&](int64_t offset, int64_t bytes) {
    if (!runs.empty() && runs.back().offset + runs.back().bytes == offset)
      runs.back().bytes += bytes;
    else
      runs.push_back({offset, bytes});
  });
  append(out, tree.extent);
  append(out, tree.element);
  append(out, static_cast<uint64_t>(runs.size()));
  for (const TypeRun& run : runs) append(out, run);
}

bool read_layout(FieldReader* in, TypeTree* out) {
  // Numbers of 62 bits at most: sums and differences of two do not overflow.
  constexpr int64_t kMost = int64_t{1} << 62;
  const auto is_bounded = [](int64_t n) { return n >= -kMost && n <= kMost; };
  out->extent = in->get<int64_t>();
  out->element = in->get<MPI_Datatype>();
  const auto count = in->get<uint64_t>();
  if (in->failed() || count == 0 || count > in->left() / sizeof(TypeRun) ||
      !is_bounded(out->extent))
    return false;
  std::vector<TypeRun> runs(count);
  int64_t left = kMost;
  for (uint64_t i = 0; i < count; ++i) {
    TypeRun& run = runs[i] = in->get<TypeRun>();
    if (run.bytes <= 0 || run.bytes > left || !is_bounded(run.offset) ||
        run.offset > kMost - run.bytes ||
        (i > 0 && runs[i - 1].offset + runs[i - 1].bytes == run.offset))
      return false;
    left -= run.bytes;
  }
  out->root = datatype::make_runs(std::move(runs));
  out->size = out->root.node->size;
  return true;
}

bool find_reach(const TypeTree& tree, int64_t count, int64_t offset, int64_t* low, int64_t* high) {
  using Wide = __int128;
  const Wide last = count > 0 ? Wide{count - 1} * tree.extent : Wide{0};
  const Wide first_byte = Wide{offset} + tree.low() + std::min<Wide>(last, 0),
             end = Wide{offset} + tree.high() + std::max<Wide>(last, 0);
  const auto fits = [](Wide n) { return n >= INT64_MIN && n <= INT64_MAX; };
  if (count < 0 || !fits(Wide{count} * tree.size) || !fits(first_byte) || !fits(end)) return false;
  *low = static_cast<int64_t>(first_byte);
  *high = static_cast<int64_t>(end);
  return true;
}

}  // namespace fgmpi::rma
