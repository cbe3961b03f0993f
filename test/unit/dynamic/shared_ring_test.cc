// Tests of the ring of a link: frames arrive as they were sent, sleepers are woken, and only memory
// with a valid ring is mapped.
#include "dynamic/shared_ring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <random>
#include <thread>

#include "base/page.h"

namespace fgmpi::dynamic {
namespace {

using transport::Header;
using transport::shm::RingFrame;
using transport::shm::RingReader;

struct Ends {
  std::unique_ptr<RingOut> out;
  std::unique_ptr<RingIn> in;
};

Ends make() {
  int fd = -1;
  Ends ends;
  ends.out = RingOut::make(&fd);
  EXPECT_TRUE(ends.out);
  ends.in = RingIn::map(fd);
  EXPECT_TRUE(ends.in);
  close(fd);
  return ends;
}

Header header(int32_t tag) {
  Header h{};
  h.tag = tag;
  return h;
}

struct Message {
  int32_t tag;
  std::vector<char> bytes;
};

/// Receives the next frame; returns false when there is none.
bool take(RingIn* in, Message* message, bool* wake) {
  RingFrame frame;
  if (in->peek(&frame) != RingReader::Next::kFrame) return false;
  const auto* bytes = static_cast<const char*>(frame.payload);
  *message = {frame.header.tag, {bytes, bytes + frame.length}};
  *wake = in->consume(frame);
  return true;
}

TEST(SharedRing, FramesEqualThoseOfAQueue) {
  Ends ends = make();
  std::mt19937 random(7);
  std::deque<Message> queue;
  int32_t tag = 0;
  bool refused = false;
  int wakes = 0;
  for (int step = 0; step < 200000; ++step) {
    if (random() % 2) {
      const size_t longest = random() % 50 ? 300 : RingOut::kMostPayload;
      Message m{++tag, std::vector<char>(random() % (longest + 1))};
      for (char& c : m.bytes) c = static_cast<char>(random());
      if (ends.out->push(header(m.tag), m.bytes.data(), m.bytes.size()))
        queue.push_back(std::move(m));
      else
        refused = true;
    } else {
      Message got;
      bool wake = false;
      ASSERT_EQ(take(ends.in.get(), &got, &wake), !queue.empty());
      if (queue.empty()) continue;
      EXPECT_EQ(got.tag, queue.front().tag);
      EXPECT_EQ(got.bytes, queue.front().bytes);
      queue.pop_front();
      // Only a writer that was refused asks to be woken; then there is room.
      if (wake) {
        EXPECT_TRUE(refused);
        EXPECT_TRUE(ends.out->has_room());
        refused = false;
        ++wakes;
      }
    }
  }
  EXPECT_GT(wakes, 0);
}

TEST(SharedRing, AFullRingAsksForAByteOnce) {
  Ends ends = make();
  int sent = 0;
  while (ends.out->push(header(sent), nullptr, 0)) ++sent;
  EXPECT_FALSE(ends.out->has_room());
  int asked = 0;
  Message got;
  bool wake = false;
  for (int i = 0; i < sent; ++i) {
    ASSERT_TRUE(take(ends.in.get(), &got, &wake));
    EXPECT_EQ(got.tag, i);
    asked += wake;
  }
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(ends.out->has_room());
}

TEST(SharedRing, OneByteWakesASleeper) {
  Ends ends = make();
  EXPECT_FALSE(ends.out->clear_reader_sleep());
  ends.in->sleep();
  fence_for_sleep();
  EXPECT_FALSE(ends.in->ready());
  ASSERT_TRUE(ends.out->push(header(1), nullptr, 0));
  EXPECT_TRUE(ends.out->clear_reader_sleep());
  EXPECT_FALSE(ends.out->clear_reader_sleep());
  EXPECT_TRUE(ends.in->ready());
  ends.in->sleep();
  ends.in->wake();
  EXPECT_FALSE(ends.out->clear_reader_sleep());
}

// A reader sleeps whenever there is no frame, and a writer when there is no room: both are woken.
TEST(SharedRing, NoWakeUpIsLost) {
  Ends ends = make();
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  constexpr int kFrames = 100000;
  char byte = 0;
  std::thread reader([&] {
    char taken;
    Message got;
    bool wake = false;
    for (int i = 0; i < kFrames;) {
      if (take(ends.in.get(), &got, &wake)) {
        EXPECT_EQ(got.tag, i++);
        if (wake) {
          EXPECT_EQ(write(pair[0], &taken, 1), 1);
        }
        continue;
      }
      ends.in->sleep();
      fence_for_sleep();
      if (!ends.in->ready()) {
        EXPECT_EQ(read(pair[0], &taken, 1), 1);
      }
      ends.in->wake();
    }
  });
  std::mt19937 random(3);
  std::vector<char> payload(3000);
  for (int i = 0; i < kFrames;) {
    if (ends.out->push(header(i), payload.data(), random() % payload.size())) {
      ++i;
      if (ends.out->clear_reader_sleep()) {
        EXPECT_EQ(write(pair[1], &byte, 1), 1);
      }
    } else if (!ends.out->has_room()) {
      EXPECT_EQ(read(pair[1], &byte, 1), 1);
    }
  }
  reader.join();
  close(pair[0]);
  close(pair[1]);
}

TEST(SharedRing, WhatIsNoRingIsNotMapped) {
  const int plain = memfd_create("plain", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  EXPECT_FALSE(RingIn::map(plain));
  int fd = -1;
  auto out = RingOut::make(&fd);
  ASSERT_TRUE(out);
  const off_t size = lseek(fd, 0, SEEK_END);
  ASSERT_EQ(ftruncate(plain, size), 0);
  EXPECT_FALSE(RingIn::map(plain)) << "it can shrink";
  ASSERT_EQ(fcntl(plain, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_TRUE(RingIn::map(plain)) << "the memory of a ring that nobody has written";
  ASSERT_EQ(ftruncate(plain, size + static_cast<off_t>(page_bytes())), 0);
  EXPECT_FALSE(RingIn::map(plain)) << "another size";
  EXPECT_FALSE(RingIn::map(STDERR_FILENO));
  EXPECT_FALSE(RingIn::map(-1));
  close(plain);
  close(fd);
}

TEST(SharedRing, AnImpossibleLengthIsSeen) {
  int fd = -1;
  auto out = RingOut::make(&fd);
  auto in = RingIn::map(fd);
  ASSERT_TRUE(out && in);
  // A malicious process may write this first cell of a ring: position 1, a length that no frame
  // has.
  const uint64_t word = uint64_t{1} << 32 | (RingOut::kMostPayload + 1);
  ASSERT_EQ(pwrite(fd, &word, sizeof word, static_cast<off_t>(page_bytes())),
            static_cast<ssize_t>(sizeof word));
  RingFrame frame;
  EXPECT_EQ(in->peek(&frame), RingReader::Next::kBad);
  close(fd);
}

}  // namespace
}  // namespace fgmpi::dynamic
