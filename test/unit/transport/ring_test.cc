// Compares the ring with a naive queue, and tests it with a producer that writes invalid data.
#include "transport/shm/ring.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace fgmpi::transport::shm {
namespace {

struct Memory {
  explicit Memory(Geometry g)
      : geometry(g), ring(static_cast<char*>(aligned_alloc(4096, g.bytes()))) {
    std::memset(ring, 0, g.bytes());
  }
  ~Memory() { std::free(ring); }
  Geometry geometry;
  char* ring;
  Credits credits{};
};

TEST(Ring, AgreesWithAQueueUnderRandomUse) {
  using Rule = Stores::Rule;
  const std::pair<Geometry, Rule> kinds[] = {{{64, 4096}, Rule::kMeasured},
                                             {{128, 65536}, Rule::kMeasured},
                                             {{128, 65536}, Rule::kPastCaches},
                                             {{64, 1 << 20}, Rule::kMeasured}};
  for (const auto& [geometry, rule] : kinds) {
    Memory memory(geometry);
    RingWriter writer(memory.ring, &memory.credits, geometry, rule);
    RingReader reader(memory.ring, &memory.credits, geometry);
    std::deque<std::string> model;
    std::mt19937 random(7);
    uint64_t sent = 0, taken = 0;
    size_t refusals = 0, timed = 0, in_place = 0;
    for (int step = 0; step < 200000; ++step) {
      if (random() % 8 < ((step >> 12) & 1 ? 5 : 3)) {  // writer and reader are faster in turns
        size_t length = random() % 4 ? random() % 20 : random() % (geometry.max_payload() + 1);
        std::string payload(length, static_cast<char>(random()));
        Header h{};
        h.cookie = sent;
        char* place = length > kInline && random() % 3 ? writer.reserve(length) : nullptr;
        if (place) {
          std::memcpy(place, payload.data(), length);
          writer.push_reserved(h, length);
          ++in_place;
        } else if (!writer.push(h, payload.data(), length)) {
          ++refusals;
          ASSERT_FALSE(model.empty()) << "refused while nothing is in the ring";
          continue;
        }
        ++sent;
        model.push_back(payload);
      } else {
        RingFrame frame;
        RingReader::Next next = reader.peek(&frame);
        ASSERT_EQ(next == RingReader::Next::kFrame, !model.empty());
        if (model.empty()) continue;
        ASSERT_EQ(frame.header.cookie, taken++);
        ASSERT_EQ(std::string(static_cast<const char*>(frame.payload), frame.length),
                  model.front());
        model.pop_front();
        timed += frame.timed;
        if (frame.timed) reader.took(frame, 100 + random() % 100);
        reader.consume(frame);
      }
    }
    EXPECT_GT(refusals, 0u);
    EXPECT_GT(in_place, sent / 8);
    EXPECT_GT(sent, geometry.cells * 4);
    EXPECT_EQ(timed > 0, rule == Rule::kMeasured && geometry.max_payload() > Stores::kLeast);
    EXPECT_EQ(memory.credits.timed_bytes.load() > 0, timed > 0);
  }
}

TEST(Ring, PositionsWrapAround) {
  // 2^32 cells are too many to send; a counter near its end shows in the sequence arithmetic.
  Geometry geometry{64, 4096};
  Memory memory(geometry);
  RingReader reader(memory.ring, &memory.credits, geometry);
  EXPECT_FALSE(reader.ready());
  EXPECT_EQ(bulk_place(100, 100, 4096), 100u);
  EXPECT_EQ(bulk_place(4096 - 64, 65, 4096), 4096u);
  EXPECT_EQ(bulk_place(4096 - 64, 64, 4096), 4096u - 64);
  EXPECT_EQ(bulk_place(uint64_t{1} << 40, 4096, 4096), uint64_t{1} << 40);
}

TEST(Ring, RefusesImpossibleLengths) {
  Geometry geometry{64, 4096};
  for (uint32_t length : {1025u, 4096u, 4097u, 0x7fffffffu, 0x80000401u, 0xffffffffu}) {
    Memory memory(geometry);
    RingReader reader(memory.ring, &memory.credits, geometry);
    reinterpret_cast<Cell*>(memory.ring)->word = uint64_t{1} << 32 | length;
    RingFrame frame;
    EXPECT_EQ(reader.peek(&frame), RingReader::Next::kBad) << length;
  }
}

TEST(Ring, CreditsThatCannotBeAreIgnored) {
  Geometry geometry{64, 4096};
  Memory memory(geometry);
  RingWriter writer(memory.ring, &memory.credits, geometry);
  Header h{};
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(writer.push(h, nullptr, 0));
  for (uint32_t lie : {65u, 1000u, 0x80000000u, 0xffffffffu}) {
    memory.credits.cells_done = lie;
    EXPECT_FALSE(writer.push(h, nullptr, 0)) << lie;
  }
  memory.credits.cells_done = 1;
  memory.credits.bulk_done = 64;  // more than was sent
  EXPECT_FALSE(writer.push(h, nullptr, 0));
  memory.credits.bulk_done = 0;
  EXPECT_TRUE(writer.push(h, nullptr, 0));
}

TEST(Ring, SmallCopiesStayInTheirBounds) {
  for (size_t length = 0; length <= 8; ++length) {
    std::vector<unsigned char> from(length), to(length, 0xee);
    for (size_t i = 0; i < length; ++i) from[i] = static_cast<unsigned char>(i + 1);
    copy_inline(to.data(), from.data(), length);
    EXPECT_EQ(to, from);
  }
}

}  // namespace
}  // namespace fgmpi::transport::shm
