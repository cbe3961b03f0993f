// Text forms of contacts, keys, cards and port names, and this host's addresses.

#include "dynamic/contact.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>

#include "base/split.h"
#include "base/strings.h"
#include "transport/address_fields.h"
#include "transport/host_id.h"
#include "transport/random.h"

namespace fgmpi::dynamic {
namespace {

constexpr std::string_view kPrefix = "fgmpi1";
constexpr size_t kMostAddresses = 4;

bool is_hex(std::string_view text, size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool is_address(const std::string& text) {
  in_addr address;
  return inet_pton(AF_INET, text.c_str(), &address) == 1;
}

}  // namespace

SecretKey SecretKey::draw() {
  SecretKey key;
  transport::random_bytes(key.bytes.data(), key.bytes.size());
  return key;
}

std::string SecretKey::to_string() const {
  std::string text;
  for (uint8_t byte : bytes) text += format("%02x", byte);
  return text;
}

bool SecretKey::parse(std::string_view text) {
  if (!is_hex(text, 2 * bytes.size())) return false;
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(*transport::parse_hex(text.substr(2 * i, 2)));
  return true;
}

bool SecretKey::same(const SecretKey& other) const {
  uint8_t differs = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    differs = static_cast<uint8_t>(differs | (bytes[i] ^ other.bytes[i]));
  return differs == 0;
}

std::string ProcessContact::to_string() const {
  std::string text = host_id + ":" + name + ":" + format("%x", unsigned{port}) + ":";
  for (size_t i = 0; i < addresses.size(); ++i) text += (i ? "," : "") + addresses[i];
  return text;
}

bool ProcessContact::parse(std::string_view* text) {
  host_id = transport::split_field(text);
  name = transport::split_field(text);
  auto number = transport::parse_hex(transport::split_field(text));
  const std::string_view list = transport::split_field(text);
  addresses.clear();
  if (!is_hex(host_id, 32) || !is_hex(name, 16) || !number || *number > UINT16_MAX) return false;
  port = static_cast<uint16_t>(*number);
  for (std::string_view word : split(list, ','))
    if (!word.empty()) addresses.emplace_back(word);
  return addresses.size() <= kMostAddresses &&
         std::all_of(addresses.begin(), addresses.end(), is_address);
}

std::string ProcessCard::to_string() const { return contact.to_string() + ":" + key.to_string(); }

// parse() reads exactly the text that to_string() makes, and no other form of it.

bool ProcessCard::parse(std::string_view text) {
  const std::string_view whole = text;
  return contact.parse(&text) && key.parse(text) && to_string() == whole;
}

std::string PortName::to_string() const {
  return std::string(kPrefix) + ":" + contact.to_string() + ":" + format("%x", number) + ":" +
         key.to_string();
}

bool PortName::parse(std::string_view text) {
  const std::string_view whole = text;
  if (transport::split_field(&text) != kPrefix || !contact.parse(&text)) return false;
  auto id = transport::parse_hex(transport::split_field(&text));
  if (!id || *id > UINT32_MAX) return false;
  number = static_cast<uint32_t>(*id);
  return key.parse(text) && to_string() == whole;
}

StreamAddress local_address(const std::string& name) {
  StreamAddress out;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string full = "fgmpi-" + name;
  std::memcpy(address.sun_path + 1, full.data(), full.size());
  out.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + full.size());
  std::memcpy(&out.address, &address, sizeof address);
  return out;
}

std::vector<StreamAddress> addresses_of(const ProcessContact& contact) {
  if (contact.host_id == transport::host_id()) return {local_address(contact.name)};
  std::vector<StreamAddress> all;
  for (const std::string& text : contact.addresses) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(contact.port);
    if (!contact.port || inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1) continue;
    StreamAddress one;
    one.length = sizeof address;
    std::memcpy(&one.address, &address, sizeof address);
    all.push_back(one);
  }
  return all;
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> all, loopback;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list)) return all;
  for (const ifaddrs* at = list; at; at = at->ifa_next) {
    if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET || !(at->ifa_flags & IFF_UP)) continue;
    char text[INET_ADDRSTRLEN];
    const auto* address = reinterpret_cast<const sockaddr_in*>(at->ifa_addr);
    if (!inet_ntop(AF_INET, &address->sin_addr, text, sizeof text)) continue;
    (at->ifa_flags & IFF_LOOPBACK ? loopback : all).emplace_back(text);
  }
  freeifaddrs(list);
  all.insert(all.end(), loopback.begin(), loopback.end());
  if (all.size() > kMostAddresses) {
    if (!loopback.empty()) all[kMostAddresses - 1] = loopback[0];
    all.resize(kMostAddresses);
  }
  return all;
}

}  // namespace fgmpi::dynamic
