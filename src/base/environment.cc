// The only calls of getenv, setenv and unsetenv in the library.

#include "base/environment.h"

#include <cstdlib>

namespace fgmpi::environment {

const char* raw(const char* name) { return std::getenv(name); }

const char* text(const char* name) {
  const char* value = raw(name);
  return value && *value ? value : nullptr;
}

void set(const char* name, const char* value) { setenv(name, value, 1); }

void unset(const char* name) { unsetenv(name); }

void put_first(Variable variable, const std::string& first) {
  const char* present = text(variable);
  set(variable, (present ? first + ":" + present : first).c_str());
}

}  // namespace fgmpi::environment
