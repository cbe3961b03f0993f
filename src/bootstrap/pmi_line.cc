// Parsing of one line of PMI-1.

#include "bootstrap/pmi_line.h"

#include <algorithm>
#include <cstdint>

#include "base/strings.h"

namespace fgmpi::bootstrap {

std::optional<std::string> PmiLine::find(std::string_view key) const {
  for (size_t begin = 0; begin < text_.size();) {
    const size_t end = std::min(text_.find(' ', begin), text_.size());
    const std::string_view word(text_.data() + begin, end - begin);
    const size_t equals = word.find('=');
    if (equals != word.npos && word.substr(0, equals) == key)
      return std::string(word.substr(equals + 1));
    begin = end + 1;
  }
  return std::nullopt;
}

std::optional<int> PmiLine::number(std::string_view key) const {
  const auto text = find(key);
  const auto value = text ? parse_int(*text) : std::nullopt;
  if (!value || *value < INT32_MIN || *value > INT32_MAX) return std::nullopt;
  return static_cast<int>(*value);
}

}  // namespace fgmpi::bootstrap
