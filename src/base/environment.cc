// The only calls of getenv, setenv and unsetenv in the library.

#include "base/environment.h"

#include <cstdlib>
#include <string_view>

namespace fgmpi::environment {

const char* raw(const char* name) { return std::getenv(name); }

const char* text(const char* name) {
  const char* value = raw(name);
  return value && *value ? value : nullptr;
}

bool balances_load() {
  const char* balance = text(kBalance);
  return balance && (std::string_view(balance) == "on" || sums_up_balance());
}

bool sums_up_balance() {
  const char* balance = text(kBalance);
  return balance && std::string_view(balance) == "on,summary";
}

bool lets_ranks_move() {
  const char* balance = text(kBalance);
  return balances_load() || (balance && std::string_view(balance).starts_with("random:"));
}

void set(const char* name, const char* value) { setenv(name, value, 1); }

void unset(const char* name) { unsetenv(name); }

void put_first(Variable variable, const std::string& first) {
  const char* present = text(variable);
  set(variable, (present ? first + ":" + present : first).c_str());
}

}  // namespace fgmpi::environment
