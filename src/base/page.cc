// The sizes of pages: the kernel's, and that of the setting.

#include "base/page.h"

#include <sys/auxv.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/settings.h"

namespace fgmpi {
namespace {

/// The values of FGMPI_PAGE_SIZE.
enum class PageSize : uint8_t { kMachine, k16KiB, k64KiB };
static_assert(settings::has_choices(settings::kPageSize, "machine|16k|64k"));

size_t least_page_bytes() {
  switch (settings::choice<PageSize>(settings::kPageSize)) {
    case PageSize::k16KiB:
      return 16 << 10;
    case PageSize::k64KiB:
      return 64 << 10;
    case PageSize::kMachine:
      break;
  }
  return 0;
}

}  // namespace

size_t machine_page_bytes() {
  static const size_t bytes = getauxval(AT_PAGESZ);
  return bytes;
}

size_t page_bytes() {
  static const size_t bytes = std::max(machine_page_bytes(), least_page_bytes());
  return bytes;
}

bool drop_pages(void* first, size_t bytes, bool in_file) {
  return bytes == 0 || madvise(first, bytes, in_file ? MADV_REMOVE : MADV_DONTNEED) == 0;
}

}  // namespace fgmpi
