#include "privatize/images.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/assert.h"
#include "base/page.h"
#include "proclet-sched/annotate.h"
#include "proclet-sched/immortal.h"
#include "proclet-sched/limits.h"

namespace fgmpi::privatize {
namespace {

constexpr uintptr_t align_up(uintptr_t x, uintptr_t to) { return (x + to - 1) / to * to; }

std::string demangled(const char* name) {
  int failed = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &failed);
  std::string result = text ? text : name;
  free(text);
  return result;
}

}  // namespace

namespace {
constinit Immortal<Images> g_immortal_images;
}
Images& g_images = g_immortal_images.value;

std::vector<const link_map*> loaded_modules() {
  std::vector<const link_map*> result;
  void* program = dlopen(nullptr, RTLD_LAZY);
  const link_map* map = nullptr;
  if (program && dlinfo(program, RTLD_DI_LINKMAP, &map) == 0)
    for (; map; map = map->l_next) result.push_back(map);
  return result;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view soname_of(const link_map* map) {
  const char* strings = nullptr;
  const ElfW(Dyn)* name = nullptr;
  for (const ElfW(Dyn)* d = map->l_ld; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(d->d_un.d_ptr);
    if (d->d_tag == DT_SONAME) name = d;
  }
  return strings && name ? std::string_view(strings + name->d_un.d_val) : std::string_view();
}

Status Images::read_modules(const std::vector<const link_map*>& private_libraries) {
  modules_.clear();
  auto maps = loaded_modules();
  FGMPI_CHECK(!maps.empty());
  FGMPI_TRY(modules_.emplace_back().read(maps.front(), "/proc/self/exe", true));
  for (const link_map* map : private_libraries)
    FGMPI_TRY(modules_.emplace_back().read(map, map->l_name, false));
  return Status();
}

const CopiedObject* Images::refused_copy() const {
  for (const CopiedObject& copy : copied_)
    if (!in_modules(copy.original) && !may_be_cloned(program(), copy)) return &copy;
  return nullptr;
}

Status Images::can_be_imaged() {
  constexpr const char* kRemedy =
      "link it with mpicc, mpicxx or mpifort of Finegrain MPI, or let its ranks share their "
      "globals "
      "(FGMPI_PRIVATIZE=off), or run one rank per process (-nfg 1)";
  for (const ElfModule& module : modules_) {
    std::string what = module.executable() ? "the program" : "library " + module.name();
    if (!module.position_independent())
      return error(MPI_ERR_OTHER,
                   "%s is not position-independent, so its ranks cannot have globals of "
                   "their own: %s",
                   what.c_str(), kRemedy);
    if (module.text_relocations())
      return error(MPI_ERR_OTHER,
                   "%s has relocations in its code, so its ranks cannot have globals of "
                   "their own: %s",
                   what.c_str(), kRemedy);
  }
  copied_ = privatize::copied_objects(program());
  if (const CopiedObject* copy = refused_copy())
    return error(
        MPI_ERR_OTHER,
        "the program holds a copy of %s of %s (a copy relocation of %s), which must be one object "
        "for the program and the library, so its ranks cannot have globals of their own: %s; or "
        "give each rank the library too (FGMPI_PRIVATIZE_LIBS=%s)",
        demangled(copy->name.c_str()).c_str(), copy->library.c_str(), copy->name.c_str(), kRemedy,
        copy->library.c_str());
  return Status();
}

// ---- planning ----

bool Images::in_modules(uintptr_t address) const {
  return std::any_of(modules_.begin(), modules_.end(),
                     [&](const ElfModule& m) { return m.contains(address); });
}

uintptr_t Images::move_to(uintptr_t address, uint32_t k) const {
  if (k == 0) return address;
  for (size_t m = 0; m < modules_.size(); ++m)
    if (modules_[m].contains(address)) return address - modules_[m].base() + base_of(m, k);
  return address;
}

Status Images::plan_module(size_t m) {
  return plans_[m].prepare(modules_[m], ranges_, m, resolve_globally);
}

// ---- limits ----

namespace {
/// What every rank touches at once apart from its image: a page of its stack, its descriptor.
constexpr size_t kWrittenByRank = kPage + 512;
}  // namespace

Images::Cost Images::cost_of(size_t m) const {
  const uintptr_t end = m + 1 < plans_.size() ? offsets_[m + 1] : stride_;
  return {plans_[m].mapping_count(end - offsets_[m]), plans_[m].written_bytes()};
}

Images::Cost Images::cost_of_image() const {
  Cost sum{0, 0};
  for (size_t m = 0; m < plans_.size(); ++m) {
    const Cost cost = cost_of(m);
    sum.mappings += cost.mappings;
    sum.written += cost.written;
  }
  return sum;
}

size_t Images::mappings_per_image() const { return cost_of_image().mappings; }

int64_t Images::room_for_mappings() const {
  constexpr int64_t kSpare = 2000;  // heaps, large allocations, libraries loaded later
  return std::max<int64_t>(sched::max_map_count() - sched::mappings_in_use() - kSpare, 0);
}

uint32_t Images::ranks_that_fit() const {
  const Cost cost = cost_of_image();
  int64_t fit = room_for_mappings() / static_cast<int64_t>(cost.mappings) + 1;
  const int64_t memory = sched::memory_left();
  if (memory >= 0)
    fit = std::min(fit, memory / static_cast<int64_t>(cost.written + kWrittenByRank));
  return static_cast<uint32_t>(std::max<int64_t>(fit, 1));
}

Status Images::check_limits(uint32_t count) const {
  const Cost cost = cost_of_image();
  const auto per_image = static_cast<int64_t>(cost.mappings);
  const int64_t room = room_for_mappings();
  if ((count - 1) * per_image > room)
    return error(
        MPI_ERR_NO_MEM,
        "%u ranks with globals of their own need %lld memory mappings, the system allows a "
        "process %lld: at most %lld ranks would fit; raise vm.max_map_count (sysctl), start more "
        "processes with fewer ranks each, or share globals (FGMPI_PRIVATIZE=off)",
        count, static_cast<long long>((count - 1) * per_image),
        static_cast<long long>(sched::max_map_count()),
        static_cast<long long>(room / per_image + 1));
  const size_t written = cost.written + kWrittenByRank;
  int64_t available = sched::memory_left();
  if (available >= 0 && static_cast<int64_t>(count * written) > available)
    return error(MPI_ERR_NO_MEM,
                 "%u ranks with globals of their own need at least %zu MiB of memory, %lld MiB are "
                 "available: at most %lld ranks would fit",
                 count, count * written >> 20, static_cast<long long>(available >> 20),
                 static_cast<long long>(available / static_cast<int64_t>(written)));
  return Status();
}

/// For images and stacks, as both must fit.
Status Images::check_address_space(uint32_t count) const {
  const sched::Options options = sched::configured_options();
  constexpr uint64_t kSpare = uint64_t{96} << 20;  // libraries loaded later, shared memory
  constexpr uint64_t kHeap = 16 * 1024;            // of a rank
  uint64_t left = sched::address_space_left();
  uint64_t room = left > kSpare ? left - kSpare : 0;
  uint32_t fit = sched::ranks_that_fit(room, stride_ + kHeap, count, options.stack_size);
  if (fit >= count) return Status();
  return error(
      MPI_ERR_NO_MEM,
      "%u ranks with globals of their own do not fit into the address space: at most %u ranks "
      "would fit; start more processes with fewer ranks each, raise the limit on address space "
      "(ulimit -v), or lower FGMPI_STACK_SIZE",
      count, fit);
}

Status Images::prepare(uint32_t count) {
  count_ = count;
  offsets_.clear();
  plans_.clear();
  plans_.resize(modules_.size());
  size_t alignment = kPage;
  size_t size = 0;
  for (const ElfModule& m : modules_) {
    alignment = std::max(alignment, m.alignment());
    size = align_up(size, m.alignment());
    offsets_.push_back(size);
    size += m.span();
  }
  stride_ = align_up(size, alignment);
  FGMPI_TRY(check_address_space(count));
  size_t bytes = stride_ * (count - 1) + alignment;
  void* region =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED)
    return error(MPI_ERR_NO_MEM, "no address space for images of the program for %u ranks: %s",
                 count, strerror(errno));
  region_ = align_up(reinterpret_cast<uintptr_t>(region), alignment);
  sched::annotate::holds_pointers(region, bytes);
  ranges_.clear();
  for (size_t m = 0; m < modules_.size(); ++m)
    ranges_.push_back({modules_[m].base(), modules_[m].span(), base_of(m, 1)});
  for (size_t m = 0; m < modules_.size(); ++m) FGMPI_TRY(plan_module(m));
  return check_limits(count);
}

// ---- making ----

void Images::note_copied_objects() {
  if (plans_.empty()) return;
  ModulePlan& plan = plans_.front();
  for (const CopiedObject& object : copied_) {
    // What a private library defines, its constructors make in each image.
    uintptr_t from =
        in_modules(object.original) ? object.original : program().base() + object.offset;
    const char* bytes = reinterpret_cast<const char*>(from);
    plan.add_copy(object.offset, std::string(bytes, object.size));
    for (size_t at = 0; at + sizeof(uintptr_t) <= object.size; at += sizeof(uintptr_t)) {
      uintptr_t word = 0;
      memcpy(&word, bytes + at, sizeof word);
      if (in_modules(word)) plan.add_moving_word(object.offset + at, move_to(word, 1));
    }
  }
}

Status Images::make(uint32_t k) {
  FGMPI_ASSERT(k > 0 && k < count_);
  const uintptr_t shift = (k - 1) * stride_;
  for (size_t m = 0; m < modules_.size(); ++m) {
    const uintptr_t at = base_of(m, k);
    FGMPI_TRY(plans_[m].map(at));
    plans_[m].fill(at, [&](const Word& w) { return w.value + shift; });
    FGMPI_TRY(plans_[m].write_jumps(at));
  }
  return Status();
}

uintptr_t address_in_first_image(uintptr_t address) {
  Images::Location where;
  if (!g_images.locate(address, &where) || where.image == 0) return address;
  return g_images.base_of(where.module, 0) + where.offset;
}

bool Images::locate(uintptr_t address, Location* out) const {
  uintptr_t in_region = address - region_;
  if (count_ > 1 && in_region < stride_ * (count_ - 1)) {
    out->image = static_cast<uint32_t>(in_region / stride_) + 1;
    uintptr_t offset = in_region % stride_;
    size_t m = modules_.size();
    while (m > 1 && offset < offsets_[m - 1]) --m;
    out->module = m - 1;
    out->offset = offset - offsets_[m - 1];
    return true;
  }
  for (size_t m = 0; m < modules_.size(); ++m) {
    if (!modules_[m].contains(address)) continue;
    *out = {0, m, address - modules_[m].base()};
    return true;
  }
  return false;
}

}  // namespace fgmpi::privatize
