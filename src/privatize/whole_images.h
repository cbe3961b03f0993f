// WholeImages: images that are not mapped in parts, for processes with more ranks than the limit on
// mappings allows otherwise.
//
//   protected (module_plan.h)  | code, constants | variables | code, constants | variables |   2 mappings a module and rank
//   joined                     |                         image                             |   1 a rank
//   copied                     |      image 1      |      image 2      |      image 3 ...       1 a process
//
// Joined: a private mapping of a file in memory that holds an image as all have it. Pages that a
// rank does not write are that file's. Copied: each rank has memory of its own for all of it, code
// and constants too: for small programs only. Why not always: a part may have its own protection
// only if it is a mapping of its own. Here a rank that writes to its constants or code changes its
// own copy of them, instead of being stopped. Two protections alternate in each module, whose code
// finds its variables at a fixed distance, so that no order of them takes less than 2 mappings a
// module.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "privatize/module_plan.h"

namespace fgmpi::privatize {

/// In the order of the choices of FGMPI_IMAGE_MAPPINGS.
enum class Layout : uint8_t { kAuto, kProtected, kJoined, kCopied };
const char* name_of(Layout layout);

class WholeImages {
 public:
  WholeImages() = default;
  WholeImages(const WholeImages&) = delete;
  WholeImages& operator=(const WholeImages&) = delete;
  ~WholeImages();

  /// Does the system allow memory that may be written and executed?
  static bool allowed();
  /// `parts`: what every image begins with, in the order in which it is to be written; the rest is
  /// zeros. `size`: of an image.
  Status prepare(Layout layout, std::vector<Bytes> parts, size_t size);
  bool prepared() const { return size_ != 0; }
  /// Makes an image but for its moving words. Copied ones: REQUIRES memory that may be written at
  /// `at`.
  Status make(uintptr_t at) const;

 private:
  void write_parts(char* to) const;

  std::vector<Bytes> parts_;  ///< kCopied
  size_t size_ = 0;
  int file_ = -1;  ///< kJoined
};

}  // namespace fgmpi::privatize
