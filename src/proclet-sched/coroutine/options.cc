// The scheduler's options, as the settings give them.
#include "base/settings.h"
#include "proclet-sched/sched.h"

namespace fgmpi::sched {

Options configured_options() {
  static_assert(settings::has_choices(settings::kSched, "fifo|lifo|random:#"));
  Options options;
  options.stack_size = settings::size(settings::kStackSize);
  options.policy = settings::choice<Options::Policy>(settings::kSched);
  options.seed = static_cast<uint64_t>(settings::number(settings::kSched));
  return options;
}

}  // namespace fgmpi::sched
