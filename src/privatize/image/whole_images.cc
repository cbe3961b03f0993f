// Making of images whose memory is one mapping of a file, or a plain copy of all bytes.

#include "privatize/image/whole_images.h"

#include <errno.h>
#include <mpi.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "base/page.h"

namespace fgmpi::privatize {

namespace {
constexpr int kAll = PROT_READ | PROT_WRITE | PROT_EXEC;
}

const char* name_of(ImageLayout layout) {
  constexpr const char* kNames[] = {"auto", "protected", "joined", "copied"};
  return kNames[static_cast<size_t>(layout)];
}

WholeImages::~WholeImages() {
  if (file_ >= 0) close(file_);
}

bool WholeImages::allowed() {
  void* page = mmap(nullptr, page_bytes(), kAll, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) munmap(page, page_bytes());
  return page != MAP_FAILED;
}

void WholeImages::write_parts(char* to) const {
  for (const ModuleBytes& part : parts_)
    memcpy(to + part.offset, part.bytes.data(), part.bytes.size());
}

Status WholeImages::prepare(ImageLayout layout, std::vector<ModuleBytes> parts, size_t size) {
  parts_ = std::move(parts);
  size_ = size;
  if (layout == ImageLayout::kCopied) return Status();
  file_ = memfd_create("fgmpi-image", MFD_CLOEXEC);
  void* bytes = MAP_FAILED;
  if (file_ >= 0 && ftruncate(file_, static_cast<off_t>(size)) == 0)
    bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (bytes == MAP_FAILED)
    return error(MPI_ERR_NO_MEM, "cannot make a file in memory for images of the program: %s",
                 strerror(errno));
  write_parts(static_cast<char*>(bytes));
  munmap(bytes, size);
  parts_ = {};
  return Status();
}

Status WholeImages::make(uintptr_t at) const {
  if (file_ < 0) {
    auto* image = reinterpret_cast<char*>(at);
    write_parts(image);
    // Processors whose instruction cache does not see stores would execute the bytes before.
    __builtin___clear_cache(image, image + size_);
    return Status();
  }
  void* result = mmap(reinterpret_cast<void*>(at), size_, kAll,
                      MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file_, 0);
  if (result == MAP_FAILED)
    return error(MPI_ERR_NO_MEM, "cannot map an image of the program: %s", strerror(errno));
  return Status();
}

}  // namespace fgmpi::privatize
