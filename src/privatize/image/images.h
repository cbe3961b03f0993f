// Images: a copy of the program for each rank, so that each has its own globals.
//
//   region  | image 1            | image 2            | ...            (stride bytes apart)
//           | program | lib a    | program | lib a    |
//
// Image 0 is what the dynamic linker loaded; the others are the same files mapped again. Where
// ranks have slots (FGMPI_HEAP=rank), image 0 is in the region, too, and other memory of the ranks
// is between images; what the dynamic linker loaded is nobody's then. Memory
// that is only read shares its pages with image 0, memory that is written is private. An address of
// a private module is moved to image k by adding (base of the module in image 1 - base where it was
// loaded) + (k - 1) * stride, and back by subtracting it: everything here is that arithmetic.
// Relocation: a word that points into a private module is moved; any other word has in each image
// the value that the dynamic linker put into image 0.
//
// Wins over copying the process: 20-50 us and a few pages an image. Costs: 2 mappings a module and
// rank, or, where these would be too many, one a rank (whole_images.h). Thread rule: one thread.
// Invariants: images are made in any order, once each, and never removed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "privatize/image/copied_objects.h"
#include "privatize/image/elf_module.h"
#include "privatize/image/module_plan.h"
#include "privatize/image/relocation.h"
#include "privatize/image/whole_images.h"

namespace fgmpi::privatize {

class Images {
 public:
  /// Reads the program and the libraries that are to be private. Errors name the library.
  Status read_modules(const std::vector<const link_map*>& private_libraries);
  /// The executable first, then private libraries in the order of the dynamic linker's list.
  const std::vector<ElfModule>& modules() const { return modules_; }
  const ElfModule& program() const { return modules_.front(); }

  /// Returns why the program cannot have images, naming the symbol or property and the remedy; ok
  /// when it can. Also finds the objects of libraries that the program holds copies of.
  Status can_be_imaged();
  /// The copies that can_be_imaged() has found. REQUIRES: can_be_imaged() was called.
  const std::vector<CopiedObject>& copied_objects() const { return copied_; }
  /// Checks limits (mappings, address space, memory) for `count` ranks, reserves the region and
  /// plans the relocations. Where `wanted` is kAuto, the first layout that fits is chosen. An error
  /// says how many ranks would fit and which setting to raise. REQUIRES: can_be_imaged() returned
  /// ok.
  /// Where images are placed: in a region of their own, or each in the slot of its rank, where
  /// move_to_slots() places them; the slots may be in a file, which other processes map.
  enum class Place : uint8_t { kApart, kSlots, kSlotsInFile };
  Status prepare(uint32_t count, ImageLayout wanted = ImageLayout::kAuto,
                 Place place = Place::kApart);
  ImageLayout layout() const { return layout_; }
  /// Image k will be at first + k * stride, in memory that is mapped, readable and writable.
  /// REQUIRES: prepare() was called so, no image is made, and the memory has no guards yet. Error:
  /// the system refuses what the layout needs.
  Status move_to_slots(uintptr_t first, size_t stride);
  bool in_slots() const { return first_ == 0; }
  /// True where image k is what the dynamic linker loaded.
  bool is_loaded(uint32_t k) const { return k < first_; }
  /// True where images of that layout are packed with the stacks of their ranks (packed_images.h).
  bool is_packed(ImageLayout layout) const;
  /// Records the present bytes of the program's copies of libraries' objects (stdout, std::cout):
  /// images start with these. Called once, before ranks run.
  void record_copied_objects();
  /// Maps and relocates image k. REQUIRES: prepare() succeeded, k < count, not is_loaded(k), once
  /// per k.
  Status make(uint32_t k);
  /// The image of a rank that has come from another process (load/visitors.h), and lies in its slot
  /// at `at`, is image k from now on, until forget_visitor(k). REQUIRES: k >= count().
  void add_visitor(uint32_t k, uintptr_t at) { visitors_.emplace_back(k, at); }
  void forget_visitor(uint32_t k);
  /// Maps what is only read of an image that another process has made in a slot at `at`. Once for
  /// each slot that is mapped here.
  Status map_code(uintptr_t at) const;
  /// Is there an image k, a visitor's among them?
  bool has(uint32_t k) const { return k < count_ || visitor(k) != 0; }

  /// Writes the words of image k that differ from one image to the other into memory that holds,
  /// or will hold, a fresh copied image; REQUIRES: the first image has been made.
  void write_moving_words(char* to, uint32_t k) const;
  /// Writes all bytes but zeros of a fresh copied image, but for the moving words.
  void write_fixed_bytes(char* to) const { whole_.write_parts(to); }
  /// Makes copied image k again, in pages that hold zeros.
  void write_copied(uint32_t k) const;

  uint32_t count() const { return count_; }
  /// Bytes of memory that the images have of their own.
  uint64_t written() const;
  /// What an image of one module, or of all modules, costs. REQUIRES: prepare() was called.
  struct ImageCost {
    size_t mappings;
    size_t written;  ///< bytes of memory that a rank touches at the start
  };
  ImageCost cost_of(size_t m) const;  ///< of a protected image of module m
  ImageCost cost_of_image(ImageLayout layout) const;
  /// Mappings that an image takes in the layout that was chosen. REQUIRES: prepare() was called.
  size_t mappings_per_image() const { return mappings_per_image_; }
  /// How many ranks the limits on mappings and memory allow now. REQUIRES: prepare() was called.
  uint32_t ranks_that_fit(ImageLayout layout) const;
  /// The distance of two images, and the bytes of one with the alignment that it needs.
  size_t stride() const { return stride_; }
  size_t image_bytes() const { return image_bytes_; }
  size_t alignment() const { return alignment_; }
  uintptr_t region_low() const { return region_; }
  uintptr_t region_high() const {
    return region_ + stride_ * (count_ > first_ ? count_ - first_ : 0);
  }

  /// Where the modules lie in images 0 and 1.
  const std::vector<ModuleRange>& ranges() const { return ranges_; }
  /// The address at which module m of image k begins.
  uintptr_t base_of(size_t m, uint32_t k) const {
    return is_loaded(k) ? modules_[m].base() : image(k) + offsets_[m];
  }
  /// Moves an address in what the dynamic linker loaded to image k; addresses outside of private
  /// modules are returned as they are.
  uintptr_t move_to(uintptr_t address, uint32_t k) const;

  /// The image of what the dynamic linker loaded: rank 0's, or, in slots, nobody's.
  uint32_t loaded_image() const { return in_slots() ? ~uint32_t{0} : 0; }
  /// The image and the module that hold an address.
  struct ImageLocation {
    uint32_t image;
    size_t module;
    uintptr_t offset;  ///< from the base of the module
  };
  bool locate(uintptr_t address, ImageLocation* out) const;
  /// Must locate() be asked about an address that is not in what the dynamic linker loaded?
  bool may_be_copied(uintptr_t address) const {
    return address - region_low() < region_high() - region_low() || !visitors_.empty();
  }

 private:
  bool locate_in_image(uint32_t k, uintptr_t offset, ImageLocation* out) const;
  Status plan_module(size_t m);
  int64_t room_for_mappings() const;
  Status choose_layout(uint32_t count, ImageLayout wanted);
  Status too_many(uint32_t count, ImageLayout layout) const;
  Status reserve(uint32_t count);
  Status prepare_whole();
  Status allow_execution() const;
  Status check_address_space(uint32_t count) const;
  /// A copy of an object that may not be cloned, or nullptr.
  const CopiedObject* refused_copy() const;
  bool in_modules(uintptr_t address) const;
  uintptr_t image(uint32_t k) const {
    return k < count_ ? region_ + (k - first_) * stride_ : visitor(k);
  }
  uintptr_t visitor(uint32_t k) const;
  /// What is added to a word of the plans for image k: they are those of image 1 in the region as
  /// it was reserved.
  uintptr_t shift_of(uint32_t k) const { return image(k) - planned_; }

  std::vector<ElfModule> modules_;
  std::vector<CopiedObject> copied_;  ///< the program's copies of libraries' objects
  std::vector<uintptr_t> offsets_;    ///< where each module begins within an image
  std::vector<ModuleRange> ranges_;
  std::vector<ModulePlan> plans_;
  uintptr_t region_ = 0;
  uintptr_t planned_ = 0;  ///< where image 1 was to be when the words were planned
  size_t stride_ = 0, image_bytes_ = 0, alignment_ = 0;
  uint32_t first_ = 1;  ///< the image at the start of the region
  uint32_t count_ = 0;
  bool in_file_ = false;
  std::vector<std::pair<uint32_t, uintptr_t>> visitors_;  ///< number and place of each image
  ImageLayout layout_ = ImageLayout::kProtected;
  size_t mappings_per_image_ = 0;
  WholeImages whole_;  ///< the other layouts: joined, copied
};

extern Images& g_images;

/// Returns what follows the last slash of a path.
std::string_view file_name(std::string_view path);

}  // namespace fgmpi::privatize
