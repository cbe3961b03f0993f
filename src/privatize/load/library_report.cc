// The texts that say which libraries are private, and why.

#include "privatize/load/library_report.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <string>

#include "base/end_hooks.h"
#include "base/strings.h"
#include "privatize/image/images.h"
#include "privatize/internal.h"
#include "proclet-sched/coroutine/limits.h"

namespace fgmpi::privatize {
namespace {

constexpr size_t kib(size_t bytes) { return (bytes + 1023) / 1024; }

std::string described(const std::vector<PrivateLibrary>& libraries) {
  std::string text = "the program";
  for (const PrivateLibrary& l : libraries)
    text += ", " + std::string(file_name(l.map->l_name)) + " (" + l.reason + ")";
  return text;
}

}  // namespace

void report_private_libraries(const std::vector<PrivateLibrary>& libraries) {
  if (g_mode != ImageMode::kImages) {
    fprintf(stderr, "fgmpi: the %u ranks of a process share its variables\n", g_program.ranks);
    return;
  }
  const Images::ImageCost cost = g_images.cost_of_image(g_images.layout());
  fprintf(stderr,
          "fgmpi: each of the %u ranks of a process has images of %s: %zu mapping%s and %zu KiB a "
          "rank (%s)\n",
          g_program.ranks, described(libraries).c_str(), cost.mappings,
          cost.mappings == 1 ? "" : "s", kib(cost.written), name_of(g_images.layout()));
}

void list_libraries(const std::vector<PrivateLibrary>& libraries) {
  std::string text;
  if (g_mode != ImageMode::kImages) {
    text = "nothing is private: the ranks of a process share its variables\n";
  } else {
    text = format("%-32s %8s %8s  %s\n", "private", "mappings", "KiB", "why");
    const auto& modules = g_images.modules();
    for (size_t m = 0; m < modules.size(); ++m) {
      const Images::ImageCost cost = g_images.cost_of(m);
      text += format(
          "%-32s %8zu %8zu  %s\n", m == 0 ? "(program)" : modules[m].name().c_str(), cost.mappings,
          kib(cost.written),
          m == 0 ? "has variables, or uses a private library" : libraries[m - 1].reason.c_str());
    }
    for (const ImageLayout layout :
         {ImageLayout::kProtected, ImageLayout::kJoined, ImageLayout::kCopied}) {
      const Images::ImageCost all = g_images.cost_of_image(layout);
      text += format("%-32s %8zu %8zu  at most %u ranks a process%s\n",
                     format("a rank, %s", name_of(layout)).c_str(), all.mappings, kib(all.written),
                     g_images.ranks_that_fit(layout),
                     layout == ImageLayout::kProtected
                         ? format(" (vm.max_map_count is %lld)",
                                  static_cast<long long>(sched::max_map_count()))
                               .c_str()
                         : "");
    }
  }
  fwrite(text.data(), 1, text.size(), stdout);
  fflush(stdout);
  end_process(0);
}

}  // namespace fgmpi::privatize
