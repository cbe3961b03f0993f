// A carrier of frames that often has no room, and often finds nothing when it is polled. What waits
// in the engine meanwhile must neither be lost nor overtake other frames.
#pragma once

#include "transport/frames.h"

namespace fgmpi::pt2pt::testing {

class UnsteadyCarrier final : public transport::FrameCarrier {
 public:
  /// `percent`: of frames and polls. The carrier does otherwise what `steady` does.
  UnsteadyCarrier(transport::FrameCarrier* steady, int percent, uint64_t seed)
      : steady_(steady), percent_(percent), random_(seed) {}
  const char* name() const override { return steady_->name(); }
  size_t max_payload() const override { return steady_->max_payload(); }
  size_t most_unasked() const override { return steady_->most_unasked(); }
  size_t least_lent() const override { return steady_->least_lent(); }
  bool try_send(uint32_t process, uint64_t peer, const transport::Header& header,
                const void* payload, size_t length) override {
    return !refuses() && steady_->try_send(process, peer, header, payload, length);
  }
  char* try_reserve(uint32_t process, uint64_t peer, size_t length) override {
    return refuses() ? nullptr : steady_->try_reserve(process, peer, length);
  }
  void send_reserved(uint32_t process, uint64_t peer, const transport::Header& header,
                     size_t length) override {
    steady_->send_reserved(process, peer, header, length);
  }
  transport::LendResult try_lend(uint32_t process, uint64_t peer, const transport::Header& header,
                                 const void* payload, size_t length, void* lender) override {
    if (refuses()) return transport::LendResult::kNoRoom;
    return steady_->try_lend(process, peer, header, payload, length, lender);
  }
  transport::MemoryReader* memory_reader() override { return steady_->memory_reader(); }
  bool poll() override { return !refuses() && steady_->poll(); }
  bool arm() override { return steady_->arm(); }
  int wait_fd() const override { return steady_->wait_fd(); }

 private:
  bool refuses() {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((random_ >> 33) % 100) < percent_;
  }
  transport::FrameCarrier* steady_;
  int percent_;
  uint64_t random_;
};

}  // namespace fgmpi::pt2pt::testing
