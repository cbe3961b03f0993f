// What is on the network between two processes, and who may speak.
//
//   0       4         8          16
//   | kind  | process | token    | then by kind:
//   hello:  | key 16 bytes | version 4 | zero 4 |     opens a relation; `token` is the sender's from now on
//   frame:  | Header 48 | payload ... |               refused unless a hello gave this process this token
//   bye:    nothing: the sender sends no more
//
// A process publishes its 128-bit random key through the launcher; only processes of the job can know it.
// All numbers are little-endian, as in memory: `kind` holds a magic value that another byte order or an
// earlier version would not give. Everything in here may come from a stranger: decode() looks at nothing
// beyond `length` and Gate decides what counts.
#pragma once

#include <cstdint>
#include <cstring>
#include <unordered_map>

#include "transport/transport.h"

namespace fgmpi::transport::ofi {

inline constexpr uint32_t kVersion = 1;

enum class Kind : uint32_t { kHello = 0x46470001u, kFrame = 0x46470002u, kBye = 0x46470003u };

struct Prefix {
  Kind kind;
  uint32_t process;
  uint64_t token;
};
struct Key {
  uint64_t words[2];
  bool operator==(const Key&) const = default;
};
struct Hello {
  Key key;
  uint32_t version;
  uint32_t zero;
};
static_assert(sizeof(Prefix) == 16 && sizeof(Hello) == 24);
inline constexpr size_t kOverhead = sizeof(Prefix) + sizeof(Header);

struct Decoded {
  Prefix prefix;
  Hello hello;           ///< of a hello
  Header header;         ///< of a frame
  const void* payload;   ///< of a frame, inside the bytes that were decoded
  size_t payload_length;
};

/// False when the bytes are no message of this format.
inline bool decode(const void* bytes, size_t length, size_t max_payload, Decoded* out) {
  auto* at = static_cast<const char*>(bytes);
  if (length < sizeof(Prefix)) return false;
  std::memcpy(&out->prefix, at, sizeof(Prefix));
  at += sizeof(Prefix);
  length -= sizeof(Prefix);
  switch (out->prefix.kind) {
    case Kind::kHello:
      if (length != sizeof(Hello)) return false;
      std::memcpy(&out->hello, at, sizeof(Hello));
      return out->hello.version == kVersion && out->hello.zero == 0;
    case Kind::kFrame:
      if (length < sizeof(Header) || length - sizeof(Header) > max_payload) return false;
      std::memcpy(&out->header, at, sizeof(Header));
      out->payload = at + sizeof(Header);
      out->payload_length = length - sizeof(Header);
      return out->header.src_process == out->prefix.process;
    case Kind::kBye:
      return length == 0;
  }
  return false;
}

/// Which processes have opened a relation to this one.
class Gate {
 public:
  explicit Gate(Key key) : key_(key) {}

  /// Opens a relation; false when the key is not ours or the process has one under another token.
  bool hello(const Decoded& d) {
    if (!(d.hello.key == key_)) return false;
    auto [it, fresh] = relations_.try_emplace(d.prefix.process, Relation{d.prefix.token, true});
    return fresh || it->second.token == d.prefix.token;
  }
  /// May this message pass? REQUIRES: it is no hello.
  bool admits(const Decoded& d) const {
    auto it = relations_.find(d.prefix.process);
    return it != relations_.end() && it->second.token == d.prefix.token && it->second.open;
  }
  /// The relation's last message was taken in.
  void bye(uint32_t process) {
    auto it = relations_.find(process);
    if (it != relations_.end()) it->second.open = false;
  }
  bool said_bye(uint32_t process) const {
    auto it = relations_.find(process);
    return it != relations_.end() && !it->second.open;
  }
  /// Every relation that was opened has been closed by its bye.
  bool all_said_bye() const {
    for (const auto& [process, relation] : relations_)
      if (relation.open) return false;
    return true;
  }

 private:
  struct Relation {
    uint64_t token;
    bool open;
  };
  Key key_;
  std::unordered_map<uint32_t, Relation> relations_;
};

}  // namespace fgmpi::transport::ofi
