// The fields of a published address: text between colons, numbers in hexadecimal digits.
//
// An address comes from the launcher, which got it from a process that may be of another build: the
// parsers accept only what to_string() of the transport makes.
// Thread rule: none (no shared state).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/strings.h"

namespace fgmpi::transport {

/// Removes and returns the text before the next ':', and removes the colon; all of the text where
/// there is none.
inline std::string_view split_field(std::string_view* text) { return split_word(text, ':'); }

/// Reads 1 to 16 lower-case hexadecimal digits that fill all of `text`; nothing for any other text.
inline std::optional<uint64_t> parse_hex(std::string_view text) {
  if (text.empty() || text.size() > 16) return std::nullopt;
  uint64_t value = 0;
  for (char c : text) {
    const bool digit = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'f';
    if (!digit && !letter) return std::nullopt;
    value = value << 4 | static_cast<uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return value;
}

}  // namespace fgmpi::transport
