#include "transport/host_id.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdlib>
#include <fstream>

#include "base/strings.h"

namespace fgmpi::transport {
namespace {

/// Two rounds of FNV-1a with different offsets: names a host, guards nothing.
std::string hash128(const std::string& text) {
  uint64_t h[2] = {0xcbf29ce484222325ull, 0x6c62272e07bb0142ull};
  for (uint64_t& x : h) {
    for (unsigned char c : text) x = (x ^ c) * 0x100000001b3ull;
    x ^= x >> 32;
    x *= 0x9e3779b97f4a7c15ull;
    x ^= x >> 29;
  }
  return format("%016" PRIx64 "%016" PRIx64, h[0], h[1]);
}

}  // namespace

std::string host_id() {
  std::string words;
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  words += boot;
  for (const char* space : {"pid", "net", "user"}) {
    char link[64] = "?";
    ssize_t n = readlink((std::string("/proc/self/ns/") + space).c_str(), link, sizeof link - 1);
    if (n > 0) link[n] = '\0';
    words += std::string("|") + link;
  }
  char name[256] = "?";
  gethostname(name, sizeof name - 1);
  words += std::string("|") + name;
  struct stat shm {};
  stat("/dev/shm", &shm);
  words += format("|%u|%" PRIu64, geteuid(), static_cast<uint64_t>(shm.st_dev));
  if (const char* extra = std::getenv("FGMPI_HOST_ID")) words += std::string("|") + extra;
  return hash128(words);
}

}  // namespace fgmpi::transport
