// What distinguishes hosts: boot id, namespaces, security labels.

#include "transport/host_id.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>

#include "base/file_text.h"
#include "base/hash.h"
#include "base/host_name.h"
#include "base/settings.h"
#include "base/split.h"
#include "base/strings.h"
#include "transport/random.h"

namespace fgmpi::transport {
namespace {

/// Two hashes of 64 bits. They name a host; they protect nothing.
std::string hash128(const std::string& text) {
  return format("%016" PRIx64 "%016" PRIx64, hash_text(text, 1), hash_text(text, 2));
}

/// A word that no other process has; the same one at each call.
const std::string& unique() {
  static const std::string word = [] {
    uint64_t bits[2];
    random_bytes(bits, sizeof bits);
    return format("%016" PRIx64 "%016" PRIx64, bits[0], bits[1]);
  }();
  return word;
}

std::string boot_id() {
  const std::string boot = first_word_of_file("/proc/sys/kernel/random/boot_id");
  return boot.empty() ? unique() : boot;
}

std::string name_space(const char* which) {
  char link[64];
  ssize_t n = readlink((std::string("/proc/self/ns/") + which).c_str(), link, sizeof link);
  return n > 0 ? std::string(link, static_cast<size_t>(n)) : unique();
}

/// The permitted capabilities, which the kernel compares: "CapPrm:\t...".
std::string capabilities() {
  const std::string status = text_of_file("/proc/self/status");
  for (std::string_view line : split(status, '\n'))
    if (line.starts_with("CapPrm:")) return std::string(line);
  return "";
}

std::string security_label() {
  const std::string label = text_of_file("/proc/self/attr/current");
  return label.substr(0, label.find('\0'));
}

std::string words_of_host() {
  std::string words = boot_id();
  for (const char* which : {"pid", "net", "user"}) words += "|" + name_space(which);
  words += "|" + host_name();
  words += format("|%u|", geteuid()) + capabilities() + "|" + security_label();
  if (settings::is_set(settings::kHostId)) words += "|" + settings::text(settings::kHostId);
  return words;
}

}  // namespace

std::string host_id() { return hash128(words_of_host()); }

std::string host_id_of_files() {
  struct stat shm {};
  stat("/dev/shm", &shm);
  return hash128(words_of_host() + format("|%" PRIu64, static_cast<uint64_t>(shm.st_dev)));
}

}  // namespace fgmpi::transport
