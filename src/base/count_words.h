// Counts in messages: "1 byte", "2 bytes". Thread rule: any.
#pragma once

#include <cstdint>
#include <string>

namespace fgmpi {

/// The number and its noun, which gets an s (es after s) where there is not one of them.
inline std::string count_words(uint64_t count, const char* noun) {
  std::string words = std::to_string(count) + " " + noun;
  if (count != 1) words += words.back() == 's' ? "es" : "s";
  return words;
}

}  // namespace fgmpi
