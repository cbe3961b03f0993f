// Strings: printf into std::string, and the strict parsing of numbers in options and settings.
#pragma once

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

/// A decimal integer that fills all of `text`; nothing for anything else (empty, signs twice, overflow).
std::optional<int64_t> parse_int(std::string_view text);

/// A size in bytes: a decimal integer with an optional suffix k, K, m, M, g or G (powers of 1024).
std::optional<int64_t> parse_size(std::string_view text);

}  // namespace fgmpi
