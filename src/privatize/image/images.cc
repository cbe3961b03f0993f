// The region of images: what it costs, whether it fits, and how an image is mapped.

#include "privatize/image/images.h"

#include <cxxabi.h>
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/count_words.h"
#include "base/counters.h"
#include "base/memory_use.h"
#include "base/modules.h"
#include "base/page.h"
#include "privatize/load/plugins.h"
#include "proclet-sched/coroutine/annotate.h"
#include "proclet-sched/coroutine/limits.h"
#include "proclet-sched/coroutine/packing.h"
#include "proclet-sched/immortal.h"

namespace fgmpi::privatize {
namespace {

constexpr uintptr_t align_up(uintptr_t x, uintptr_t to) { return (x + to - 1) / to * to; }

std::string readable_name(const char* name) {
  int failed = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &failed);
  std::string result = text ? text : name;
  free(text);
  return result;
}

}  // namespace

namespace {
/// Words of images are planned for this place until the slots of ranks are known.
constexpr uintptr_t kPlannedForSlots = uintptr_t{1} << 44;

constinit Immortal<Images> g_immortal_images;
}  // namespace
Images& g_images = g_immortal_images.value;

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

Status Images::read_modules(const std::vector<const link_map*>& private_libraries) {
  modules_.clear();
  first_ = 1;
  count_ = 0;
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
        readable_name(copy->name.c_str()).c_str(), copy->library.c_str(), copy->name.c_str(),
        kRemedy, copy->library.c_str());
  return Status();
}

// ---- planning ----

bool Images::in_modules(uintptr_t address) const {
  return std::any_of(modules_.begin(), modules_.end(),
                     [&](const ElfModule& m) { return m.contains(address); });
}

uintptr_t Images::move_to(uintptr_t address, uint32_t k) const {
  if (is_loaded(k)) return address;
  for (size_t m = 0; m < modules_.size(); ++m)
    if (modules_[m].contains(address)) return address - modules_[m].base() + base_of(m, k);
  return address;
}

Status Images::plan_module(size_t m) {
  return plans_[m].prepare(modules_[m], ranges_, m, resolve_globally, in_file_);
}

// ---- limits ----

namespace {
/// Bytes that every rank touches at once beside its image: a page of its stack, its descriptor.
size_t written_by_rank() { return page_bytes() + 512; }
}  // namespace

Images::ImageCost Images::cost_of(size_t m) const {
  const uintptr_t end = m + 1 < plans_.size() ? offsets_[m + 1] : image_bytes_;
  return {plans_[m].mapping_count(end - offsets_[m]), plans_[m].written_bytes()};
}

Images::ImageCost Images::cost_of_image(ImageLayout layout) const {
  ImageCost sum{0, 0};
  size_t copied = 0;
  for (size_t m = 0; m < plans_.size(); ++m) {
    const ImageCost cost = cost_of(m);
    sum.mappings += cost.mappings;
    sum.written += cost.written;
    copied += plans_[m].copied_bytes();
  }
  const size_t between = in_slots() ? 1 : 0;  // the stack and the heap
  if (layout == ImageLayout::kJoined) return {1 + between, sum.written};
  if (layout == ImageLayout::kCopied) return {0, copied};
  sum.mappings += between;
  return sum;
}

int64_t Images::room_for_mappings() const {
  const int64_t taken = sched::mappings_in_use() + sched::promised_mappings();
  return std::max<int64_t>(sched::max_map_count() - taken - sched::kSpareMappings, 0);
}

bool Images::is_packed(ImageLayout layout) const {
  constexpr size_t kLargest = 256 << 10;  // comparing larger ones would take too long
  return layout == ImageLayout::kCopied && !in_slots() && stride_ <= kLargest;
}

uint32_t Images::ranks_that_fit(ImageLayout layout) const {
  const ImageCost cost = cost_of_image(layout);
  int64_t fit = std::numeric_limits<int32_t>::max();
  if (cost.mappings > 0) fit = room_for_mappings() / static_cast<int64_t>(cost.mappings) + 1;
  const int64_t memory = sched::memory_left();
  int64_t each = static_cast<int64_t>(cost.written + written_by_rank());
  // What ranks have written since their images were made is not known. In a small program that is a
  // few hundred bytes.
  if (is_packed(layout) && sched::packing_is_asked_for()) each = 2 * sched::kPackedRankBytes;
  if (memory >= 0) fit = std::min(fit, memory / each);
  return static_cast<uint32_t>(std::max<int64_t>(fit, 1));
}

Status Images::too_many(uint32_t count, ImageLayout layout) const {
  const ImageCost cost = cost_of_image(layout);
  const auto needed = static_cast<long long>((count - first_) * cost.mappings);
  if (needed > room_for_mappings())
    return error(
        MPI_ERR_NO_MEM,
        "%u ranks with globals of their own need %lld memory mappings, the system allows a "
        "process %lld: at most %s would fit; raise vm.max_map_count (sysctl), start more "
        "processes with fewer ranks each, or share globals (FGMPI_PRIVATIZE=off)",
        count, needed, static_cast<long long>(sched::max_map_count()),
        count_words(ranks_that_fit(layout), "rank").c_str());
  return error(MPI_ERR_NO_MEM,
               "%u ranks with globals of their own need at least %zu MiB of memory, %lld MiB are "
               "available: at most %s would fit",
               count, count * (cost.written + written_by_rank()) >> 20,
               static_cast<long long>(sched::memory_left() >> 20),
               count_words(ranks_that_fit(layout), "rank").c_str());
}

/// Chooses the first layout in which the ranks fit; else returns an error about the layout in which
/// the most ranks fit.
Status Images::choose_layout(uint32_t count, ImageLayout wanted) {
  if (wanted > ImageLayout::kProtected && !WholeImages::allowed())
    return error(MPI_ERR_OTHER,
                 "FGMPI_IMAGE_MAPPINGS=%s: the system allows no memory that may be written and "
                 "executed; allowed here are auto and protected",
                 name_of(wanted));
  // Pages that are this process's alone, as those of joined images, cannot be in a file. Copied
  // images need as few mappings.
  if (wanted == ImageLayout::kJoined && in_file_) wanted = ImageLayout::kCopied;
  ImageLayout best = ImageLayout::kProtected;
  for (const ImageLayout layout :
       {ImageLayout::kProtected, ImageLayout::kJoined, ImageLayout::kCopied}) {
    if (wanted != ImageLayout::kAuto && layout != wanted) continue;
    if (layout == ImageLayout::kJoined && in_file_) continue;
    if (layout > ImageLayout::kProtected && !WholeImages::allowed()) break;
    layout_ = layout;
    const uint32_t fit = ranks_that_fit(layout);
    if (fit >= count) return Status();
    if (wanted != ImageLayout::kAuto || fit > ranks_that_fit(best)) best = layout;
  }
  return too_many(count, best);
}

/// Checks that the images and the stacks of all ranks fit into the address space together.
Status Images::check_address_space(uint32_t count) const {
  const sched::Options options = sched::configured_options();
  constexpr uint64_t kSpare = uint64_t{96} << 20;  // bytes: libraries loaded later, shared memory
  constexpr uint64_t kHeap = 16 * 1024;            // bytes of a rank's heap
  uint64_t left = sched::address_space_left();
  uint64_t room = left > kSpare ? left - kSpare : 0;
  uint32_t fit = sched::ranks_that_fit(room, stride_ + kHeap, count, options.stack_size);
  if (fit >= count) return Status();
  return error(
      MPI_ERR_NO_MEM,
      "%u ranks with globals of their own do not fit into the address space: at most %s would "
      "fit; start more processes with fewer ranks each, raise the limit on address space "
      "(ulimit -v), or lower FGMPI_STACK_SIZE",
      count, count_words(fit, "rank").c_str());
}

/// Reserves address space for the images of all ranks but rank 0.
Status Images::reserve(uint32_t count) {
  const size_t bytes = stride_ * (count - 1) + alignment_;
  void* region =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED)
    return error(MPI_ERR_NO_MEM, "no address space for images of the program for %u ranks: %s",
                 count, strerror(errno));
  region_ = align_up(reinterpret_cast<uintptr_t>(region), alignment_);
  sched::annotate::holds_pointers(region, bytes);
  return Status();
}

Status Images::prepare(uint32_t count, ImageLayout wanted, Place place) {
  const bool in_slots = place != Place::kApart;
  in_file_ = place == Place::kSlotsInFile;
  count_ = count;
  first_ = in_slots ? 0 : 1;
  offsets_.clear();
  plans_.clear();
  plans_.resize(modules_.size());
  alignment_ = page_bytes();
  size_t size = 0;
  for (const ElfModule& m : modules_) {
    alignment_ = std::max(alignment_, m.alignment());
    size = align_up(size, m.alignment());
    offsets_.push_back(size);
    size += m.span();
  }
  stride_ = image_bytes_ = align_up(size, alignment_);
  if (in_slots) {
    region_ = kPlannedForSlots / alignment_ * alignment_;
  } else {
    FGMPI_TRY(check_address_space(count));
    FGMPI_TRY(reserve(count));
  }
  planned_ = region_;
  ranges_.clear();
  for (size_t m = 0; m < modules_.size(); ++m)
    ranges_.push_back({modules_[m].base(), modules_[m].span(), planned_ + offsets_[m]});
  for (size_t m = 0; m < modules_.size(); ++m) FGMPI_TRY(plan_module(m));
  FGMPI_TRY(choose_layout(count, wanted));
  mappings_per_image_ = cost_of_image(layout_).mappings;
  sched::add_promised_mappings(static_cast<int64_t>(mappings_per_image_) * (count - first_));
  return Status();
}

Status Images::move_to_slots(uintptr_t first, size_t stride) {
  FGMPI_ASSERT(in_slots() && first % alignment_ == 0);
  region_ = first;
  stride_ = stride;
  return layout_ == ImageLayout::kCopied ? allow_execution() : Status();
}

/// Makes copied images executable, and in slots what lies between them: one mapping for all.
Status Images::allow_execution() const {
  const size_t bytes = region_high() - region_ - (stride_ - image_bytes_);
  if (mprotect(reinterpret_cast<void*>(region_), bytes, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
    return Status();
  return error(MPI_ERR_NO_MEM, "no memory for images of the program for %u ranks: %s", count_,
               strerror(errno));
}

// ---- making ----

void Images::record_copied_objects() {
  if (plans_.empty()) return;
  ModulePlan& plan = plans_.front();
  for (const CopiedObject& object : copied_) {
    // An object that a private library defines starts with that library's own bytes: the library's
    // constructors construct it in each image.
    uintptr_t from =
        in_modules(object.original) ? object.original : program().base() + object.offset;
    const char* bytes = reinterpret_cast<const char*>(from);
    plan.add_copy(object.offset, std::string(bytes, object.size));
    for (size_t at = 0; at + sizeof(uintptr_t) <= object.size; at += sizeof(uintptr_t)) {
      uintptr_t word = 0;
      memcpy(&word, bytes + at, sizeof word);
      for (size_t m = 0; m < modules_.size(); ++m)
        if (modules_[m].contains(word))
          plan.add_moving_word(object.offset + at,
                               word - modules_[m].base() + ranges_[m].base_in_image_1);
    }
  }
}

/// Prepares the bytes of joined or copied images. Called when the first image is made: by then all
/// copied objects are recorded.
Status Images::prepare_whole() {
  std::vector<ModuleBytes> parts;
  for (size_t m = 0; m < modules_.size(); ++m) plans_[m].add_image_bytes(offsets_[m], &parts);
  FGMPI_TRY(whole_.prepare(layout_, std::move(parts), image_bytes_));
  return layout_ == ImageLayout::kCopied && !in_slots() ? allow_execution() : Status();
}

Status Images::make(uint32_t k) {
  FGMPI_ASSERT(!is_loaded(k) && k < count_);
  sched::add_promised_mappings(-static_cast<int64_t>(mappings_per_image_));
  const uintptr_t shift = shift_of(k);
  auto value_of = [&](const RelocatedWord& w) { return w.value + shift; };
  if (layout_ != ImageLayout::kProtected) {
    if (!whole_.prepared()) FGMPI_TRY(prepare_whole());
    FGMPI_TRY(whole_.make(image(k)));
    for (size_t m = 0; m < modules_.size(); ++m) plans_[m].fill_moving(base_of(m, k), value_of);
    return Status();
  }
  for (size_t m = 0; m < modules_.size(); ++m) {
    const uintptr_t at = base_of(m, k);
    FGMPI_TRY(plans_[m].map(at));
    plans_[m].fill(at, value_of);
    FGMPI_TRY(plans_[m].write_jumps(at));
  }
  return Status();
}

Status Images::map_code(uintptr_t at) const {
  if (layout_ == ImageLayout::kCopied) {  // its code is the rank's memory
    if (mprotect(reinterpret_cast<void*>(at), image_bytes_, PROT_READ | PROT_WRITE | PROT_EXEC))
      return error(MPI_ERR_NO_MEM, "an image of the program cannot be executed: %s",
                   strerror(errno));
    return Status();
  }
  for (size_t m = 0; m < modules_.size(); ++m) {
    FGMPI_TRY(plans_[m].map(at + offsets_[m]));
    FGMPI_TRY(plans_[m].write_jumps(at + offsets_[m]));
  }
  return Status();
}

uintptr_t Images::visitor(uint32_t k) const {
  for (const auto& [number, at] : visitors_)
    if (number == k) return at;
  return 0;
}

void Images::forget_visitor(uint32_t k) {
  std::erase_if(visitors_, [k](const auto& visitor) { return visitor.first == k; });
}

void Images::write_moving_words(char* to, uint32_t k) const {
  const uintptr_t shift = shift_of(k);
  for (size_t m = 0; m < modules_.size(); ++m)
    plans_[m].fill_moving(reinterpret_cast<uintptr_t>(to) + offsets_[m],
                          [&](const RelocatedWord& w) { return w.value + shift; });
}

void Images::write_copied(uint32_t k) const {
  (void)whole_.make(image(k));  // copied images are made without errors
  write_moving_words(reinterpret_cast<char*>(image(k)), k);
}

uintptr_t address_in_first_image(uintptr_t address) {
  Images::ImageLocation where;
  plugins::PluginLocation plugin;
  if (g_images.locate(address, &where))
    return g_images.modules()[where.module].base() + where.offset;
  if (plugins::locate(address, &plugin)) return plugin.module->base() + plugin.offset;
  return address;
}

bool Images::locate_in_image(uint32_t k, uintptr_t offset, ImageLocation* out) const {
  if (offset >= image_bytes_) return false;
  size_t m = modules_.size();
  while (m > 1 && offset < offsets_[m - 1]) --m;
  *out = {k, m - 1, offset - offsets_[m - 1]};
  return true;
}

bool Images::locate(uintptr_t address, ImageLocation* out) const {
  const uintptr_t in_region = address - region_;
  if (in_region < region_high() - region_) {
    return locate_in_image(static_cast<uint32_t>(in_region / stride_) + first_, in_region % stride_,
                           out);
  }
  for (const auto& [k, at] : visitors_)
    if (address - at < image_bytes_) return locate_in_image(k, address - at, out);
  for (size_t m = 0; m < modules_.size(); ++m) {
    if (!modules_[m].contains(address)) continue;
    *out = {loaded_image(), m, address - modules_[m].base()};
    return true;
  }
  return false;
}

uint64_t Images::written() const {
  if (!in_slots()) return own_bytes(region_low(), region_high());
  uint64_t bytes = 0;
  for (uint32_t k = 0; k < count_; ++k) bytes += own_bytes(image(k), image(k) + image_bytes_);
  return bytes;
}

namespace {
Remembered g_written;
[[maybe_unused]] const bool g_counter_provided =
    (counters::provide(
         counters::kMemoryImages,
         [](const void*) { return g_written.get([] { return g_images.written(); }); }),
     true);
}  // namespace

}  // namespace fgmpi::privatize
