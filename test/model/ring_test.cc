// The ring of a pair of processes, and its doorbell (src/transport/shm).

#include <gtest/gtest.h>

#include <cstring>

#include "base/futex.h"
#include "model.h"
#include "transport/shm/doorbell.h"
#include "transport/shm/ring.h"

namespace fgmpi::transport::shm {
namespace {

/// What runs out first in a ring.
enum class Limit : uint8_t { kCells, kBulk };
constexpr Geometry geometry_of(Limit limit) { return {limit == Limit::kCells ? 4u : 8u, 256}; }
constexpr uint32_t kFrames = 7;
constexpr int kExecutions = 20'000;

/// A ring with a producer and a consumer.
struct RingScenario : model::Scenario {
  alignas(kLine) char memory[8 * sizeof(Cell) + 256] = {};
  Credits credits{};
  Limit limit;
  RingWriter writer{memory, &credits, geometry_of(limit), Stores::Rule::kThroughCaches};
  RingReader reader{memory, &credits, geometry_of(limit)};

  explicit RingScenario(Limit l) : limit(l) {
    for (uint32_t i = 0; i < geometry_of(limit).cells; ++i)
      model::name(&reinterpret_cast<Cell*>(memory)[i].word, "word");
    model::name(&credits.cells_done, "cells_done");
    model::name(&credits.bulk_done, "bulk_done");
  }
  uint32_t length_of(uint32_t number) const {
    return limit == Limit::kCells || number % 4 == 0 ? 5 : 30 + number;
  }
  bool push(uint32_t number) {
    Header header{};
    header.src_process = number;
    char payload[64];
    std::memset(payload, static_cast<int>(number) + 1, sizeof payload);
    return writer.push(header, payload, length_of(number));
  }
  void check_frame(const RingFrame& frame, uint32_t number) {
    if (frame.header.src_process != number || frame.length != length_of(number))
      model::fail("another frame");
    const auto* bytes = static_cast<const unsigned char*>(frame.payload);
    for (uint32_t i = 0; i < frame.length; ++i)
      if (bytes[i] != number + 1) model::fail("another payload");
  }
};

struct PassFrames : RingScenario {
  using RingScenario::RingScenario;
  std::vector<std::function<void()>> threads() override {
    return {[this] {
              for (uint32_t i = 0; i < kFrames; ++i)
                while (!push(i)) model::step();
            },
            [this] {
              RingFrame frame;
              for (uint32_t i = 0; i < kFrames; ++i) {
                while (reader.peek(&frame) != RingReader::Next::kFrame) model::step();
                check_frame(frame, i);
                reader.consume(frame);
              }
            }};
  }
};

/// Orders of the credits that do not show where the other ones run out first.
const std::set<model::Operation> kOfBulk = {"bulk_done load", "bulk_done store"};
const std::set<model::Operation> kOfCells = {"cells_done load", "cells_done store"};

TEST(ModelOfRing, FramesArriveWholeAndInOrder) {
  EXPECT_EQ(model::judge([] { return std::make_unique<PassFrames>(Limit::kCells); }, kExecutions,
                         kOfBulk),
            "");
  EXPECT_EQ(model::judge([] { return std::make_unique<PassFrames>(Limit::kBulk); }, kExecutions,
                         kOfCells),
            "");
}

/// A consumer that sleeps where the ring is empty, and a producer that rings.
template <bool registered>
struct RingOnArrival : RingScenario {
  SegmentHeader header{};

  RingOnArrival() : RingScenario(Limit::kBulk) { model::name(&header.armed, "armed"); }
  void wait_for_frame() {
    arm_doorbell(&header, kOnFutex, registered);
    if (!reader.ready()) futex_wait(&header.armed, kOnFutex, -1, FutexScope::kShared);
    header.armed.exchange(kAwake);
  }
  std::vector<std::function<void()>> threads() override {
    return {[this] {
              for (uint32_t i = 0; i < 3; ++i) {
                int pipe = -1;
                push(i);
                ring_if_armed(&header, registered, 0, &pipe);
              }
            },
            [this] {
              RingFrame frame;
              for (uint32_t i = 0; i < 3; ++i) {
                while (reader.peek(&frame) != RingReader::Next::kFrame) wait_for_frame();
                check_frame(frame, i);
                reader.consume(frame);
              }
            }};
  }
};

/// Orders that do not show here: so few frames need no credits.
const std::set<model::Operation> kOfCredits = {"cells_done store", "bulk_done store"};

/// These pass on the descriptor of a pipe, which a sleep on the word does without.
const std::set<model::Operation> kOfPipe = {"armed store", "armed change"};

TEST(ModelOfDoorbell, RegisteredSenderNeedsNoFence) {
  std::set<model::Operation> not_needed = kOfCredits;
  not_needed.insert("fence");  // membarrier is one for its caller, too
  not_needed.merge(std::set(kOfPipe));
  EXPECT_EQ(
      model::judge([] { return std::make_unique<RingOnArrival<true>>(); }, kExecutions, not_needed),
      "");
}

TEST(ModelOfDoorbell, UnregisteredSenderPassesAFence) {
  std::set<model::Operation> not_needed = kOfCredits;
  not_needed.merge(std::set(kOfPipe));
  EXPECT_EQ(model::judge([] { return std::make_unique<RingOnArrival<false>>(); }, kExecutions,
                         not_needed),
            "");
}

/// A producer that sleeps where the ring is full, and a consumer that rings: what Shm::slow_send()
/// and Shm::wake_starving_sender() do.
struct RingForRoom : RingScenario {
  SegmentHeader header{};
  std::atomic<uint32_t> wants_room{0};

  explicit RingForRoom(Limit limit) : RingScenario(limit) {
    model::name(&header.armed, "armed");
    model::name(&wants_room, "wants_room");
  }
  void wait_for_room() {
    ask_for_room(&wants_room);
    if (writer.refresh()) return;
    arm_doorbell(&header, kOnFutex, false);
    if (!has_room(&writer, &wants_room))
      futex_wait(&header.armed, kOnFutex, -1, FutexScope::kShared);
    header.armed.exchange(kAwake);
    has_room(&writer, &wants_room);
  }
  std::vector<std::function<void()>> threads() override {
    return {[this] {
              for (uint32_t i = 0; i < kFrames; ++i)
                while (!push(i)) wait_for_room();
            },
            [this] {
              RingFrame frame;
              int pipe = -1;
              for (uint32_t i = 0; i < kFrames; ++i) {
                while (reader.peek(&frame) != RingReader::Next::kFrame) model::step();
                check_frame(frame, i);
                if (reader.consume(frame) && is_room_wanted(&wants_room))
                  ring_if_armed(&header, false, 0, &pipe);
              }
            }};
  }
};

TEST(ModelOfDoorbell, ASenderThatWaitsForRoomIsWoken) {
  for (const Limit limit : {Limit::kCells, Limit::kBulk}) {
    std::set<model::Operation> not_needed = limit == Limit::kCells ? kOfBulk : kOfCells;
    not_needed.merge(std::set(kOfPipe));
    EXPECT_EQ(
        model::judge([=] { return std::make_unique<RingForRoom>(limit); }, kExecutions, not_needed),
        "");
  }
}

}  // namespace
}  // namespace fgmpi::transport::shm
