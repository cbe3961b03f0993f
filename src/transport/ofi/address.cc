// The text form of a published address.

#include "transport/ofi/address.h"

#include <algorithm>
#include <cinttypes>

#include "base/strings.h"
#include "transport/address_fields.h"

namespace fgmpi::transport::ofi {
namespace {

std::string to_hex(const void* bytes, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += format("%02x", static_cast<const unsigned char*>(bytes)[i]);
  return text;
}

bool is_provider_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '+';
}
bool is_host_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

/// Reads exactly `digits` hexadecimal digits.
bool parse_number(std::string_view field, size_t digits, uint64_t* out) {
  auto value = parse_hex(field);
  if (field.size() != digits || !value) return false;
  *out = *value;
  return true;
}

}  // namespace

std::string PublishedAddress::to_string() const {
  std::string name = provider;
  std::replace(name.begin(), name.end(), ';', '+');
  return format("ofi2:%s:%s:%016" PRIx64 "%016" PRIx64 ":%016" PRIx64 ":%04x:%s", name.c_str(),
                to_hex(address.data(), address.size()).c_str(), key.words[0], key.words[1],
                memory_key, lifeline, host.c_str());
}

bool PublishedAddress::parse(std::string_view text) {
  if (std::count(text.begin(), text.end(), ':') != 6 || split_field(&text) != "ofi2") return false;
  const std::string_view name = split_field(&text), hex = split_field(&text),
                         secret = split_field(&text), memory = split_field(&text),
                         port = split_field(&text), host_name = split_field(&text);
  uint64_t number = 0;
  if (name.empty() || name.size() > kMostProvider || hex.empty() || hex.size() % 2 ||
      hex.size() > 2 * kMostAddress || secret.size() != 32 || host_name.empty() ||
      host_name.size() > kMostHost || !std::all_of(name.begin(), name.end(), is_provider_letter) ||
      !std::all_of(host_name.begin(), host_name.end(), is_host_letter) ||
      !parse_number(secret.substr(0, 16), 16, &key.words[0]) ||
      !parse_number(secret.substr(16), 16, &key.words[1]) ||
      !parse_number(memory, 16, &memory_key) || !parse_number(port, 4, &number))
    return false;
  lifeline = static_cast<uint16_t>(number);
  address.clear();
  for (size_t i = 0; i < hex.size(); i += 2) {
    if (!parse_number(hex.substr(i, 2), 2, &number)) return false;
    address += static_cast<char>(number);
  }
  provider = name;
  std::replace(provider.begin(), provider.end(), '+', ';');
  host = host_name;
  return true;
}

}  // namespace fgmpi::transport::ofi
