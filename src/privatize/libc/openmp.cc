// OpenMP programs: each rank has a runtime of its own (a private libgomp). By default each
// runtime would start one thread per processor, and its threads would spin while they wait. This
// file divides the processors of a host among its ranks, and lets waiting threads sleep where
// there are more of them than processors. Variables that the user has set in the environment stay
// as they are.
#include <dlfcn.h>

#include <algorithm>
#include <string>

#include "base/environment.h"
#include "base/processors.h"
#include "base/strings.h"
#include "privatize/image/images.h"
#include "privatize/internal.h"

namespace fgmpi::privatize {

void share_processors(uint32_t ranks) {
  const auto& modules = g_images.modules();
  if (std::none_of(modules.begin(), modules.end(),
                   [](const ElfModule& m) { return m.name().starts_with("libgomp.so"); }))
    return;
  const int64_t all = processes_on_host() * ranks, processors = usable_processors();
  const char* wanted = environment::text(environment::kOmpThreads);
  int64_t threads = std::max<int64_t>(processors / all, 1);
  if (!wanted) {
    environment::set(environment::kOmpThreads, std::to_string(threads).c_str());
    // The first image's runtime has read the environment already.
    if (auto* set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
      set(static_cast<int>(threads));
  } else {
    threads = std::max<int64_t>(parse_int(wanted).value_or(processors), 1);
  }
  if (threads > 1 && threads * all > processors && !environment::raw(environment::kGompSpinCount) &&
      !environment::raw(environment::kOmpWaitPolicy))
    environment::set(environment::kOmpWaitPolicy, "passive");
}

}  // namespace fgmpi::privatize
