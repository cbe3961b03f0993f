// WholeImages: images that are not mapped in parts, for processes with more ranks than the limit on
// mappings allows otherwise.
//
//   protected (module_plan.h)  | code, constants | variables | code, constants | variables |
//                              2 mappings a module and rank
//   joined                     |                         image                             |
//                              1 mapping a rank
//   copied                     |      image 1      |      image 2      |      image 3 ...
//                              1 mapping a process
//
// Joined: a private mapping of a file in memory, which holds an image in its initial state. Pages
// that a rank does not write are that file's. Copied: each rank has memory of its own for the whole
// image, code and constants too: for small programs only.
//
// Protected images are better where they fit: memory can only have a protection of its own as a
// mapping of its own. In joined and copied images a rank that writes to its constants or code
// changes its own copy of them, instead of being stopped. Two protections alternate in each module,
// whose code finds its variables at a fixed distance, so no order of the modules needs less than 2
// mappings a module.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "privatize/image/module_plan.h"

namespace fgmpi::privatize {

/// In the order of the choices of FGMPI_IMAGE_MAPPINGS.
enum class ImageLayout : uint8_t { kAuto, kProtected, kJoined, kCopied };
const char* name_of(ImageLayout layout);

class WholeImages {
 public:
  WholeImages() = default;
  WholeImages(const WholeImages&) = delete;
  WholeImages& operator=(const WholeImages&) = delete;
  ~WholeImages();

  /// True where the system allows memory that may be written and executed.
  static bool allowed();
  /// `parts`: the bytes with which every image begins, in the order in which they are to be
  /// written; all other bytes are zeros. `size`: bytes of an image.
  Status prepare(ImageLayout layout, std::vector<ModuleBytes> parts, size_t size);
  bool prepared() const { return size_ != 0; }
  /// Makes an image, except its moving words. REQUIRES, for copied images: memory at `at` that may
  /// be written.
  Status make(uintptr_t at) const;
  /// Writes the parts of a copied image.
  void write_parts(char* to) const;

 private:
  std::vector<ModuleBytes> parts_;  ///< for kCopied
  size_t size_ = 0;
  int file_ = -1;  ///< for kJoined
};

}  // namespace fgmpi::privatize
