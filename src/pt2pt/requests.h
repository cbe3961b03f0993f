// The requests of point-to-point: an operation, what it needs, and the common part.
#pragma once

#include <cstddef>

#include "base/slab.h"
#include "pt2pt/engine.h"

namespace fgmpi::pt2pt {

inline constexpr uint32_t kRequestBase = 0xac000000u;  ///< MPICH: direct, request
inline constexpr uint32_t kIndexMask = 0x01ffffffu;    ///< bit 25 tells messages from requests
inline constexpr uint32_t kMessageBit = 0x02000000u;
inline constexpr uint32_t kSentHandle = kRequestBase | kIndexMask;

/// The objects behind handles; the shared complete send. Never destroyed: programs use MPI until
/// they end.
extern Slab<Request*>& g_requests;
extern Request* const g_sent;

class SendRequest final : public Request {
 public:
  SendRequest(const Buffer& b, Peer to, const Envelope& e, Mode m, const char* name, Keep* k);
  ~SendRequest() override;
  Status start() override;
  void cancel() override;
  void describe(std::string* out) const override;
  bool awaits(WaitFor* out) const override;
  static void* operator new(size_t);
  static void operator delete(void* p);

  SendOp op;
  Buffer buffer;
  Mode mode;
};

class RecvRequest final : public Request {
 public:
  RecvRequest(const Buffer& b, Endpoint* at, const Envelope& pattern, const char* name, Keep* k);
  /// For `bytes` contiguous bytes.
  RecvRequest(void* data, uint64_t bytes, Endpoint* at, const Envelope& pattern, const char* name,
              Keep* k);
  ~RecvRequest() override;
  Status start() override;
  void cancel() override;
  void describe(std::string* out) const override;
  bool awaits(WaitFor* out) const override;
  static void* operator new(size_t);
  static void operator delete(void* p);

  RecvOp op;
  Buffer buffer;
  Endpoint* at;
  Envelope pattern;

 private:
  void prepare(const char* name, Keep* k);
};

}  // namespace fgmpi::pt2pt
