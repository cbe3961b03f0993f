// Formatting, escaping and strict parsing of numbers and sizes.

#include "base/strings.h"

#include <algorithm>
#include <cstdio>

namespace fgmpi {

std::string vformat(const char* format, va_list args) {
  va_list again;
  va_copy(again, args);
  int size = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  std::string text(size > 0 ? size : 0, '\0');
  if (size > 0) std::vsnprintf(text.data(), text.size() + 1, format, args);
  return text;
}

std::string format(const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::string text = vformat(format, args);
  va_end(args);
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c < 0x20 || c == 0x7f)
      out += format("\\x%02x", c);
    else if (c == 0xc2 && next >= 0x80 && next < 0xa0)  // a control character in UTF-8
      out += format("\\xc2\\x%02x", next), ++i;
    else
      out += static_cast<char>(c);
  }
  return out;
}

std::string html_escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    const char* entity = c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : nullptr;
    if (c == '"') entity = "&quot;";
    entity ? out += entity : out += c;
  }
  return out;
}

std::string_view split_word(std::string_view* text, char end) {
  const size_t at = std::min(text->find(end), text->size());
  const std::string_view word = text->substr(0, at);
  text->remove_prefix(std::min(at + 1, text->size()));
  return word;
}

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  if (!read_number(text, &value, 10)) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_size(std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K':
        shift = 10;
        break;
      case 'm':
      case 'M':
        shift = 20;
        break;
      case 'g':
      case 'G':
        shift = 30;
        break;
    }
    if (shift) text.remove_suffix(1);
  }
  auto value = parse_int(text);
  if (!value || *value < 0 || *value > (INT64_MAX >> shift)) return std::nullopt;
  return *value << shift;
}

}  // namespace fgmpi
