// A job in one process for the tests of pt2pt: rank proclets, and a carrier of frames that plays a second
// process.
//
// "Process 1" is this process again: a frame for its proclet k comes back, later, to our proclet k
// as if process 1 had sent it. So every protocol between processes runs here, with chosen delays
// and refusals. Ranks of process 1 in messages are our own.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <random>
#include <vector>

#include "base/clock.h"
#include "pt2pt/engine.h"

#ifdef FGMPI_SANITIZE
#include <sanitizer/asan_interface.h>
#endif

namespace fgmpi::pt2pt::testing {

class Loop : public transport::FrameCarrier, public transport::MemoryReader {
 public:
  enum Read : uint8_t { kAtOnce, kLater, kNever };

  const char* name() const override { return "loop"; }
  size_t max_payload() const override { return payload; }
  size_t least_lent() const override { return lend_from; }
  size_t most_unasked() const override { return std::max(payload, unasked); }
  bool try_send(uint32_t process, uint64_t, const transport::Header& header, const void* data,
                size_t length) override {
    EXPECT_EQ(process, 1u);
    EXPECT_LE(length, payload);
    if (frames.size() >= room || (chance() < refuse)) return false;
    std::vector<char> copy(static_cast<const char*>(data), static_cast<const char*>(data) + length);
    push({header, std::move(copy), nullptr, nullptr});
    return true;
  }
  /// Copies some payloads at once. It reads the others when it delivers them, and returns them some
  /// time later.
  transport::LendResult try_lend(uint32_t process, uint64_t peer, const transport::Header& header,
                                 const void* data, size_t length, void* lender) override {
    EXPECT_GE(length, lend_from);
    EXPECT_NE(lender, nullptr);
    if (chance() < 30)
      return try_send(process, peer, header, data, length) ? transport::LendResult::kSent
                                                           : transport::LendResult::kNoRoom;
    EXPECT_LE(length, payload);
    if (frames.size() >= room || (chance() < refuse)) return transport::LendResult::kNoRoom;
    push({header, std::vector<char>(length), static_cast<const char*>(data), lender});
    ++lent;
    return transport::LendResult::kLent;
  }
  /// Gives room for some payloads, which have no place in the queue before they are sent.
  char* try_reserve(uint32_t process, uint64_t, size_t length) override {
    EXPECT_EQ(process, 1u);
    EXPECT_LE(length, payload);
    if (frames.size() >= room || chance() >= reserve) return nullptr;
    reserved_.assign(length, 'r');
    return reserved_.data();
  }
  void send_reserved(uint32_t process, uint64_t, const transport::Header& header,
                     size_t length) override {
    EXPECT_EQ(process, 1u);
    EXPECT_EQ(length, reserved_.size());
    push({header, std::move(reserved_), nullptr, nullptr});
    ++filled;
  }
  transport::ReadResult read(uint32_t, uint64_t, uint64_t remote, void* local, size_t length,
                             uint64_t cookie) override {
    if (reading == kNever) return transport::ReadResult::kUnsupported;
    memcpy(local, reinterpret_cast<void*>(remote), length);
    if (reading == kAtOnce) return transport::ReadResult::kDone;
    reads.push_back(cookie);
    return transport::ReadResult::kPending;
  }
  bool poll() override {
    ++polls;
    for (const int64_t end = now_ns() + poll_ns; poll_ns > 0 && now_ns() < end;) {
    }
    if (chance() < delay) return false;
    bool any = !lenders.empty();
    for (size_t back = lenders.size() / 2 + any; back > 0; --back) {
      void* lender = lenders.front();
      lenders.pop_front();
      g_engine.returned(lender);
    }
    for (int burst = 0; burst < 8 && !frames.empty(); ++burst) {
      Frame frame = std::move(frames.front());
      frames.pop_front();
      if (frame.lender) {
        memcpy(frame.payload.data(), frame.lent, frame.payload.size());
        lenders.push_back(frame.lender);
      }
      g_engine.deliver(frame.header, frame.payload.data(), frame.payload.size());
      any = true;
    }
    if (!reads.empty()) {
      uint64_t cookie = reads.front();
      reads.pop_front();
      g_engine.read_done(cookie, {});
      any = true;
    }
    return any;
  }
  bool arm() override { return false; }
  int wait_fd() const override { return -1; }
  transport::MemoryReader* memory_reader() override { return this; }

  size_t payload = 4096;
  size_t room = 64;
  int refuse = 0, delay = 0;  ///< percent
  int reserve = 0;            ///< percent of payloads that are written in place
  uint64_t filled = 0;        ///< how many were
  Read reading = kAtOnce;
  size_t lend_from = SIZE_MAX;  ///< the result of least_lent()
  size_t unasked = 0;           ///< the result of most_unasked(), if more than a frame
  size_t most = 0;
  uint64_t lent = 0;
  uint64_t sent[256] = {};  ///< frames, by kind
  uint64_t polls = 0;
  int64_t poll_ns = 0;  ///< duration of a poll

 private:
  struct Frame {
    transport::Header header;
    std::vector<char> payload;
    const char* lent;
    void* lender;
  };
  void push(Frame frame) {
    ++sent[frame.header.kind];
    frames.push_back(std::move(frame));
    frames.back().header.src_process = 1;
    most = std::max(most, frames.size());
  }
  int chance() { return static_cast<int>(random_() % 100); }
  std::mt19937_64 random_{7};
  std::deque<Frame> frames;
  std::vector<char> reserved_;
  std::deque<uint64_t> reads;
  std::deque<void*> lenders;  ///< whose payloads are to be returned
};

/// Runs body(rank) on `ranks` proclets until all have ended; returns the exit status of the run.
inline int run_ranks(uint32_t ranks, Loop* loop, std::function<void(uint32_t)> body) {
  if (loop)
    g_av.init({0, ranks, 2 * ranks}, 0);
  else
    g_av.init({0, ranks}, 0);
  Setup setup;
  setup.local_count = ranks;
  setup.transports[0] = loop;
  EXPECT_TRUE(init(setup).ok());
  sched::Hooks hooks;
  hooks.poll = progress;
  hooks.all_parked = all_parked;
  hooks.sleep = [](int64_t) {};
  sched::set_hooks(hooks);
  static std::function<void(uint32_t)> current;
  current = std::move(body);
  Status made = sched::create_ranks(
      ranks, [](void*) { current(sched::current()->index); }, nullptr);
  EXPECT_TRUE(made.ok()) << made.what();
#ifdef FGMPI_SANITIZE
  // After a deadlock, proclets are still in the middle of their functions, and their stacks'
  // addresses are used again.
  for (uint32_t i = 0; i < ranks; ++i)
    __asan_unpoison_memory_region(sched::rank_proclet(i)->stack_low,
                                  sched::rank_proclet(i)->stack_size);
#endif
  return sched::run();
}

inline Buffer bytes(const void* data, size_t n) {
  Buffer b;
  b.address = const_cast<void*>(data);
  b.count = static_cast<int64_t>(n);
  return b;
}

}  // namespace fgmpi::pt2pt::testing
