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

/// A decimal integer that fills all of `text`; nothing for anything else (empty, signs twice, overflow).
std::optional<int64_t> parse_int(std::string_view text);

/// A size in bytes: a decimal integer with an optional suffix k, K, m, M, g or G (powers of 1024).
std::optional<int64_t> parse_size(std::string_view text);

}  // namespace fgmpi
