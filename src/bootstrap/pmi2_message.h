// Pmi2Message: one message of the PMI-2 protocol, "cmd=NAME;key=value;key=value;". On the wire it
// follows its length in six characters. A ';' in a value is written twice.
//
// Thread rule: none; a value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fgmpi::bootstrap {

class Pmi2Message {
 public:
  /// Characters before a message that give its length, padded with spaces.
  static constexpr size_t kLengthDigits = 6;

  Pmi2Message() = default;
  explicit Pmi2Message(std::string_view command) { add("cmd", command); }
  /// Parses a received message without its length; nothing when the text is not a message.
  static std::optional<Pmi2Message> parse(std::string_view text);
  /// The length given in the characters before a message; nothing when they are no number.
  static std::optional<size_t> length_of(std::string_view digits);

  Pmi2Message& add(std::string_view key, std::string_view value);
  /// The value of a key; of several, the first one's.
  std::optional<std::string> find(std::string_view key) const;
  /// The value of a key as a decimal number of 32 bits; nothing when it is not one.
  std::optional<int> number(std::string_view key) const;
  /// The message without its length, for error messages.
  std::string text() const;
  /// The message with its length, to be sent.
  std::string wire() const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace fgmpi::bootstrap
