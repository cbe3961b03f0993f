// Settings and counters as text: the list of `fgmpi-info -s`, and the page docs/settings.md.
#pragma once

#include <string>

namespace fgmpi::tools {

/// One line a setting: its value and the value's source. *good: all values are allowed.
std::string list_settings(bool* good);

/// docs/settings.md. Depends on the tables in src/base only, not on the environment.
std::string settings_page();

}  // namespace fgmpi::tools
