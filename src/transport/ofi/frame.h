// The messages on the network between two processes, and the gate that only processes of
// the job pass.
//
//   0       4         8          16
//   | kind  | process | token    | then by kind:
//   hello:  | key 16 bytes | version 4 | zero 4 |
//           opens a relation; `token` is the sender's from now on
//   frames: | length 4 | Header 48 | payload ... | length 4 | Header 48 | ...
//           one or more frames; refused unless a hello gave this process this token
//   bye:    nothing: the sender sends no more
//
// A process publishes its 128-bit random key through the launcher, so only processes of the job
// have it. All numbers are little-endian, as in memory: `kind` holds a magic value that another
// byte order or an earlier version would not give. Everything in here may come from a stranger:
// decode() reads nothing beyond `length`, and Gate decides what is accepted.
#pragma once

#include <cstdint>
#include <cstring>
#include <unordered_map>

#include "liveness/lifeline.h"
#include "transport/frames.h"

namespace fgmpi::transport::ofi {

inline constexpr uint32_t kVersion = 4;

enum class NetworkMessageKind : uint32_t {
  kHello = 0x46470011u,
  kFrames = 0x46470012u,
  kBye = 0x46470013u
};

struct Prefix {
  NetworkMessageKind kind;
  uint32_t process;
  uint64_t token;
};
using liveness::LifelineKey;
struct Hello {
  LifelineKey key;
  uint32_t version;
  uint32_t zero;
};
static_assert(sizeof(Prefix) == 16 && sizeof(Hello) == 24);
/// The bytes before each payload in a message of frames.
inline constexpr size_t kFrameOverhead = sizeof(uint32_t) + sizeof(Header);

struct Decoded {
  Prefix prefix;
  Hello hello;         ///< of a hello message
  const char* frames;  ///< of a message of frames: those not yet read
  size_t left;         ///< how many bytes they have
};

/// False when the bytes are no message of this format. Only next_frame() checks the frames.
inline bool decode(const void* bytes, size_t length, Decoded* out) {
  auto* at = static_cast<const char*>(bytes);
  if (length < sizeof(Prefix)) return false;
  std::memcpy(&out->prefix, at, sizeof(Prefix));
  at += sizeof(Prefix);
  length -= sizeof(Prefix);
  out->frames = at;
  out->left = 0;
  switch (out->prefix.kind) {
    case NetworkMessageKind::kHello:
      if (length != sizeof(Hello)) return false;
      std::memcpy(&out->hello, at, sizeof(Hello));
      return out->hello.version == kVersion && out->hello.zero == 0;
    case NetworkMessageKind::kFrames:
      out->left = length;
      return length >= kFrameOverhead;
    case NetworkMessageKind::kBye:
      return length == 0;
  }
  return false;
}

struct OfiFrame {
  Header header;
  const void* payload;  ///< inside the bytes that were decoded
  size_t length;
};

/// Reads the next frame of a message; false when there is none, or the rest is malformed (`left` is
/// then not 0).
inline bool next_frame(Decoded* d, size_t max_payload, OfiFrame* out) {
  uint32_t length;
  if (d->left < kFrameOverhead) return false;
  std::memcpy(&length, d->frames, sizeof length);
  if (length > max_payload || length > d->left - kFrameOverhead) return false;
  std::memcpy(&out->header, d->frames + sizeof length, sizeof(Header));
  if (out->header.src_process != d->prefix.process) return false;
  out->payload = d->frames + kFrameOverhead;
  out->length = length;
  d->frames += kFrameOverhead + length;
  d->left -= kFrameOverhead + length;
  return true;
}

/// Which processes have opened a relation to this one.
class Gate {
 public:
  explicit Gate(LifelineKey key) : key_(key) {}

  /// Opens a relation; false when the key is wrong or the process has a relation under
  /// another token.
  bool hello(const Decoded& d) {
    if (!(d.hello.key == key_)) return false;
    auto [it, fresh] = relations_.try_emplace(d.prefix.process, Relation{d.prefix.token, true});
    return fresh || it->second.token == d.prefix.token;
  }
  /// Has the process opened a relation?
  bool knows(uint32_t process) const { return relations_.contains(process); }
  /// May this message pass? REQUIRES: it is no hello.
  bool admits(const Decoded& d) const {
    auto it = relations_.find(d.prefix.process);
    return it != relations_.end() && it->second.token == d.prefix.token && it->second.open;
  }
  /// Records that the relation's last message has arrived.
  void bye(uint32_t process) {
    auto it = relations_.find(process);
    if (it != relations_.end()) it->second.open = false;
  }
  bool has_left(uint32_t process) const {
    auto it = relations_.find(process);
    return it != relations_.end() && !it->second.open;
  }
  /// True when every open relation has been closed by its bye.
  bool all_have_left() const {
    for (const auto& [process, relation] : relations_)
      if (relation.open) return false;
    return true;
  }

 private:
  struct Relation {
    uint64_t token;
    bool open;
  };
  LifelineKey key_;
  std::unordered_map<uint32_t, Relation> relations_;
};

}  // namespace fgmpi::transport::ofi
