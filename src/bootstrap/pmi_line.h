// PmiLine: one line of the PMI-1 protocol, "cmd=NAME key=value key=value ...".
//
// Thread rule: none; a value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fgmpi::bootstrap {

class PmiLine {
 public:
  PmiLine() = default;
  explicit PmiLine(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }

  /// The value of a key, which may be empty and may contain '='; of several, the first one's.
  /// Nothing when the key is absent.
  std::optional<std::string> find(std::string_view key) const;
  /// The value of a key as a decimal number of 32 bits; nothing when it is not one.
  std::optional<int> number(std::string_view key) const;
  std::string command() const { return find("cmd").value_or(""); }

 private:
  std::string text_;
};

}  // namespace fgmpi::bootstrap
