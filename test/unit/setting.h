// Setting: sets an environment variable for a scope, and parses the settings anew.
#pragma once

#include <cstdlib>
#include <string>

#include "base/settings.h"

namespace fgmpi::test {

inline void set_variable(const char* name, const std::string& value) {
  setenv(name, value.c_str(), 1);
  settings::reload();
}

class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) { set_variable(name, value); }
  ~Setting() {
    unsetenv(name_);
    settings::reload();
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

}  // namespace fgmpi::test
