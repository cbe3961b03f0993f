// Splits lists in one text: "shm,ofi", a PATH.
#pragma once

#include <string_view>
#include <vector>

namespace fgmpi {

/// The pieces of `text` between separators, with empty ones: one more than there are separators.
/// They point into `text`.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == text.npos) return parts;
    begin = end + 1;
  }
}

}  // namespace fgmpi
