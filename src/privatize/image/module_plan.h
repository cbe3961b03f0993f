// ModulePlan: how an image of one module is made: which ranges of its file are mapped, which bytes
// and words are written.
//
//   file mappings     memory that is only read: all images share its pages
//   anonymous memory  memory that is written; the bytes of the file are copied into it where there
//                     are few
//   words             the words that relocation changes (relocation.h)
//
// A plan is made once, while the module is as the dynamic linker left it, and used for each image.
// Thread rule: one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "privatize/image/elf_module.h"
#include "privatize/image/relocation.h"

namespace fgmpi::privatize {

struct ModuleBytes {
  uintptr_t offset;  ///< relative to the module, or to the image
  std::string bytes;
};

class ModulePlan {
 public:
  ModulePlan() = default;
  ModulePlan(ModulePlan&& other) noexcept { swap(other); }
  ModulePlan& operator=(ModulePlan&& other) noexcept {
    swap(other);
    return *this;
  }
  ModulePlan(const ModulePlan&) = delete;
  ModulePlan& operator=(const ModulePlan&) = delete;
  ~ModulePlan();

  /// `ranges[self]` is the module, which must outlive the plan; `resolve` finds functions that the
  /// dynamic linker has not bound yet.
  /// `in_file`: images are in memory that other processes map, so all that is written is copied
  /// into that memory, and only what is read is mapped.
  Status prepare(const ElfModule& module, const std::vector<ModuleRange>& ranges, size_t self,
                 Resolve* resolve, bool in_file = false);
  /// Adds bytes that each image gets at an offset, before its words are written.
  void add_copy(uintptr_t offset, std::string bytes) {
    copies_.push_back({offset, std::move(bytes)});
  }
  void add_moving_word(uintptr_t offset, uintptr_t value) {
    words_.moving.push_back({offset, value, 0});
  }
  const RelocationPlan& words() const { return words_; }

  /// How many mappings an image of `size` bytes needs, holes that stay reserved included.
  size_t mapping_count(size_t size) const;
  /// The most bytes of memory that an image has of its own from the start.
  size_t written_bytes() const;
  /// Bytes of memory of an image that shares nothing with the others.
  size_t copied_bytes() const;

  /// Makes the mappings of an image. In a file: of what is only read; the rest is there.
  Status map(uintptr_t at) const;
  /// Writes all bytes and words into the image; value_of(word) is what a moving word holds there.
  template <class ValueOf>
  void fill(uintptr_t at, ValueOf&& value_of) const {
    fill_fixed(at);
    fill_moving(at, value_of);
  }
  template <class ValueOf>
  void fill_moving(uintptr_t at, ValueOf&& value_of) const {
    for (const RelocatedWord& w : words_.moving) {
      const uintptr_t value = value_of(w);
      __builtin_memcpy(reinterpret_cast<char*>(at + w.offset), &value, sizeof value);
    }
  }
  /// Turns the functions of an allocator into jumps to those of image 0 (allocator.h). Called after
  /// fill().
  Status write_jumps(uintptr_t at) const;

  /// Adds, for images that are one mapping, all bytes of an image except zeros and moving words,
  /// jumps included, in the order in which they are to be written. `offset`: where the module
  /// begins in the image.
  void add_image_bytes(uintptr_t offset, std::vector<ModuleBytes>* parts) const;

 private:
  struct Mapping {
    uintptr_t low, high;  ///< relative to the module, whole pages
    int64_t file_offset;  ///< -1: anonymous
    int protection;
  };
  struct OffsetRange {
    uintptr_t offset;
    size_t size;
  };
  void swap(ModulePlan& other) noexcept;
  void plan_mappings(size_t most_copied);
  ModuleBytes read_segment(const LoadSegment& s) const;
  void fill_contents();
  void fill_fixed(uintptr_t at) const;

  const ElfModule* module_ = nullptr;
  std::vector<Mapping> mappings_;
  RelocationPlan words_;
  std::vector<ModuleBytes> copies_;  ///< by add_copy()
  std::vector<ModuleBytes>
      contents_;  ///< small writable segments, with the fixed words already applied
  std::vector<OffsetRange>
      zero_tails_;                ///< from the end of the file's bytes to the end of the page
  std::vector<uintptr_t> jumps_;  ///< functions that jump to those of image 0
  int fd_ = -1;
  bool in_file_ = false;
};

/// The address to which the dynamic linker would bind a reference of the program.
uintptr_t resolve_globally(const char* name, const char* version);

}  // namespace fgmpi::privatize
