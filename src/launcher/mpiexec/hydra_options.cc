// The values of -bind-to and -map-by.
#include "launcher/mpiexec/hydra_options.h"

#include <algorithm>
#include <iterator>

#include "base/strings.h"

namespace fgmpi::launcher {
namespace {

bool is_in(std::string_view name, const auto& list) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

/// True for a list of the processing units of each process, such as "0,2+4,1".
bool is_unit_list(std::string_view text) {
  bool digit = false;
  for (char c : text) {
    const bool separator = c == ',' || c == '+' || c == '-';
    if (!(c >= '0' && c <= '9') && !(separator && digit)) return false;
    digit = !separator;
  }
  return digit;
}

}  // namespace

bool is_binding_unit(std::string_view word, bool bind) {
  if (is_in(word, kBindingUnitsWithoutNumber)) return bind || word == "machine";
  if (bind && word.starts_with("user:")) return is_unit_list(word.substr(5));
  for (std::string_view device : kDevices)
    if (word.starts_with(device)) return true;
  const size_t colon = std::min(word.find(':'), word.size());
  if (!is_in(word.substr(0, colon), kBindingUnits)) return false;
  if (colon == word.size()) return true;
  auto count = parse_int(word.substr(colon + 1));
  return count && *count >= 1;
}

}  // namespace fgmpi::launcher
