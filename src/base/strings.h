// Strings: printf into std::string, and the strict parsing of numbers in options and settings.
#pragma once

#include <charconv>
#include <cstdarg>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fgmpi {

[[gnu::format(printf, 1, 2)]] std::string format(const char* format, ...);
std::string vformat(const char* format, va_list args);

/// The text for the screen: control characters and backslashes become \n, \t, \\ or \xNN, so that
/// it stays on its line and tells the terminal nothing. UTF-8 is left as it is.
std::string escaped(std::string_view text);
/// The text as HTML shows it, in elements and in quoted attributes.
std::string html_escaped(std::string_view text);

/// Takes off what stands before the next `end`, and that; all of the text where there is none.
std::string_view take_word(std::string_view* text, char end);

/// A number in this base that fills all of `text`; false for anything else.
template <class Number>
bool read_number(std::string_view text, Number* out, int base) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), *out, base);
  return failed == std::errc() && end == text.data() + text.size();
}

/// A decimal integer that fills all of `text`; nothing for anything else (empty, signs twice,
/// overflow).
std::optional<int64_t> parse_int(std::string_view text);

/// A size in bytes: a decimal integer with an optional suffix k, K, m, M, g or G (powers of 1024).
std::optional<int64_t> parse_size(std::string_view text);

}  // namespace fgmpi
