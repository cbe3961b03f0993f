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
/// it stays on its line and sends no command to the terminal. UTF-8 is unchanged.
std::string escaped(std::string_view text);
/// The text escaped for HTML, in elements and in quoted attributes.
std::string html_escaped(std::string_view text);

/// Removes and returns the text before the next `end`, and removes that `end`; all of the text
/// where there is none.
std::string_view split_word(std::string_view* text, char end);

/// Reads a number in this base that fills all of `text`; false for anything else.
template <class Number>
bool read_number(std::string_view text, Number* out, int base) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), *out, base);
  return failed == std::errc() && end == text.data() + text.size();
}

/// Reads a decimal integer that fills all of `text`; nothing for any other text (empty, two
/// signs, overflow).
std::optional<int64_t> parse_int(std::string_view text);

/// Reads a size in bytes: a decimal integer with an optional suffix k, K, m, M, g or G
/// (powers of 1024).
std::optional<int64_t> parse_size(std::string_view text);

}  // namespace fgmpi
