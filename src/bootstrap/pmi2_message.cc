// Parsing and composing one PMI-2 message.

#include "bootstrap/pmi2_message.h"

#include <algorithm>
#include <cstdint>

#include "base/strings.h"

namespace fgmpi::bootstrap {

std::optional<Pmi2Message> Pmi2Message::parse(std::string_view text) {
  Pmi2Message out;
  while (!text.empty()) {
    const size_t equals = text.find('=');
    if (equals == text.npos || equals == 0) return std::nullopt;
    std::string key(text.substr(0, equals)), value;
    text.remove_prefix(equals + 1);
    for (;;) {
      const size_t end = text.find(';');
      if (end == text.npos) return std::nullopt;
      value += text.substr(0, end);
      text.remove_prefix(end + 1);
      if (!text.starts_with(';')) break;
      value += ';';
      text.remove_prefix(1);
    }
    out.fields_.emplace_back(std::move(key), std::move(value));
  }
  if (out.fields_.empty() || out.fields_[0].first != "cmd") return std::nullopt;
  return out;
}

std::optional<size_t> Pmi2Message::length_of(std::string_view digits) {
  while (digits.starts_with(' ')) digits.remove_prefix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  const auto length = parse_int(digits);
  if (!length || *length < 1 || *length > 999'999) return std::nullopt;
  return static_cast<size_t>(*length);
}

Pmi2Message& Pmi2Message::add(std::string_view key, std::string_view value) {
  fields_.emplace_back(key, value);
  return *this;
}

std::optional<std::string> Pmi2Message::find(std::string_view key) const {
  for (const auto& [name, value] : fields_)
    if (name == key) return value;
  return std::nullopt;
}

std::optional<int> Pmi2Message::number(std::string_view key) const {
  const auto text = find(key);
  const auto value = text ? parse_int(*text) : std::nullopt;
  if (!value || *value < INT32_MIN || *value > INT32_MAX) return std::nullopt;
  return static_cast<int>(*value);
}

std::string Pmi2Message::text() const {
  std::string out;
  for (const auto& [name, value] : fields_) {
    out += name + "=";
    for (char c : value) out.append(c == ';' ? 2 : 1, c);
    out += ";";
  }
  return out;
}

std::string Pmi2Message::wire() const {
  const std::string body = text();
  return format("%*zu", static_cast<int>(kLengthDigits), body.size()) + body;
}

}  // namespace fgmpi::bootstrap
