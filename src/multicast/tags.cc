// The tags of datagrams, by libsodium, which is loaded at first use.

#include <dlfcn.h>
#include <sodium/crypto_shorthash.h>

#include <cstring>

#include "multicast/datagram.h"

namespace fgmpi::multicast {
namespace {

decltype(&::crypto_shorthash) g_hash = nullptr;

/// libsodium before and from version 1.0.19 on; crypto_shorthash() is the same in both.
constexpr const char* kLibraries[] = {"libsodium.so.23", "libsodium.so.26"};

}  // namespace

bool load_tags(const char** why) {
  if (g_hash) return true;
  static_assert(sizeof(GroupKey) == crypto_shorthash_KEYBYTES);
  static_assert(sizeof(uint64_t) == crypto_shorthash_BYTES);
  void* library = nullptr;
  for (const char* name : kLibraries)
    if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library) g_hash = reinterpret_cast<decltype(g_hash)>(dlsym(library, "crypto_shorthash"));
  if (!g_hash)
    *why =
        "libsodium.so.23 or libsodium.so.26, which makes the tags of datagrams, cannot be loaded";
  return g_hash != nullptr;
}

uint64_t tag_of(const void* bytes, size_t length, const GroupKey& key) {
  unsigned char out[sizeof(uint64_t)];
  g_hash(out, static_cast<const unsigned char*>(bytes), length, key.bytes);
  uint64_t tag;
  std::memcpy(&tag, out, sizeof tag);
  return tag;
}

}  // namespace fgmpi::multicast
