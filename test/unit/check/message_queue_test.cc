#include "check/messages/message_queue.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/hash.h"

namespace fgmpi::check {

// Replaces the function of messages.cc, which needs MPI.
void release_wire_number(RememberedCall*) {}

namespace {

SharedCall call_with(uint64_t signature_name) {
  SharedCall call = SharedCall::make();
  call->properties.signature_name = signature_name;
  return call;
}

/// A message that the queue must have.
struct Expected {
  uint64_t id;
  const RememberedCall* call;
  bool receive_begun, send_begun;
  bool asked = false;  ///< its sender has asked for an answer
};

/// A queue, and a list of the messages that must be in it.
class QueueAndModel {
 public:
  explicit QueueAndModel(bool stays) { queue_.stays = stays; }

  void send(const SharedCall& call, const Knowledge& knows, bool send_begun) {
    const uint64_t id = ++last_id_;
    const bool receive_begun = ready_ > 0;
    if (receive_begun) --ready_;
    if (queue_.has_place(call.get(), knows)) {
      EXPECT_TRUE(queue_.stays);
      EXPECT_EQ(queue_.add_placed(id, send_begun, false), receive_begun);
      ++placed_;
    } else {
      EXPECT_EQ(queue_.add_queued(make_message(call, id, send_begun, knows.near)), receive_begun);
    }
    model_.push_back({id, call.get(), receive_begun, send_begun});
    known_.push_back(knows.near);
  }

  void begin_receive() {
    ++receives_;
    for (Expected& one : model_)
      if (!one.receive_begun) {
        one.receive_begun = true;
        for (uint16_t i = 0; i < queue_.placed_count; ++i)
          if (queue_.placed[i].id == one.id) {
            queue_.placed[i].receive_begun = 1;
            EXPECT_EQ(queue_.placed[i].notify_sender, one.asked);
            if (!one.asked) queue_.receives_begun_up_to = one.id;
          }
        for (QueuedMessage* m = queue_.list; m; m = m->next)
          if (m->id == one.id) m->receive_begun = 1;
        return;
      }
    ++ready_;
    ++queue_.receives_waiting;
  }

  void ask(size_t which) {
    if (model_.empty()) return;
    Expected& one = model_[which % model_.size()];
    bool placed = false;
    for (uint16_t i = 0; i < queue_.placed_count; ++i) placed |= queue_.placed[i].id == one.id;
    const bool known = queue_.has_receive_begun(one.id);
    EXPECT_TRUE(!known || one.receive_begun);
    EXPECT_EQ(known, queue_.receives_begun_up_to >= one.id);
    if (placed && !known) one.asked = true;
  }

  void take(bool as_message) {
    if (as_message || !queue_.placed_count) {
      QueuedMessage* m = queue_.first();
      ASSERT_EQ(m != nullptr, !model_.empty());
      if (!m) return;
      EXPECT_EQ(queue_.placed_count, 0);
      ASSERT_EQ(queue_.remove_first(), m);
      expect(m->id, m->call.get(), m->receive_begun, m->send_begun, m->known.near);
      EXPECT_EQ(m->signature_name, model_.front().call->properties.signature_name);
      drop_message(m);
    } else {
      const SharedCall call = queue_.call;
      const PlacedMessage one = queue_.remove_placed();
      expect(one.id, call.get(), one.receive_begun, one.send_begun, queue_.near);
      EXPECT_EQ(one.notify_sender, model_.front().asked);
    }
    model_.pop_front();
    known_.pop_front();
    EXPECT_EQ(queue_.empty(), model_.empty());
  }

  size_t size() const { return model_.size(); }
  int placed() const { return placed_; }

 private:
  void expect(uint64_t id, const RememberedCall* call, bool receive_begun, bool send_begun,
              const Knowledge::Near& near) {
    ASSERT_FALSE(model_.empty());
    const Expected& one = model_.front();
    EXPECT_EQ(id, one.id);
    EXPECT_EQ(call, one.call);
    EXPECT_EQ(receive_begun, one.receive_begun);
    EXPECT_EQ(send_begun, one.send_begun);
    EXPECT_EQ(near, known_.front());
  }

  MessageQueue queue_;
  std::deque<Expected> model_;
  std::deque<Knowledge::Near> known_;
  uint64_t last_id_ = uint64_t{7} << 32;
  int ready_ = 0, receives_ = 0, placed_ = 0;
};

TEST(MessageQueue, AsAList) {
  for (const bool stays : {true, false})
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      RandomSequence random(seed);
      QueueAndModel both(stays);
      const SharedCall calls[] = {call_with(11), call_with(22), call_with(0)};
      Knowledge knows[2];
      knows[1].learn_named({of_comm(5), 3});
      const uint64_t most = 1 + seed % 5;  // about the most messages at a time
      for (int turn = 0; turn < 3000; ++turn) {
        const uint64_t drawn = random.next();
        const bool seldom = drawn >> 8 & 15 ? false : true;
        const size_t which = seldom ? (drawn >> 16) % 3 : seed % 3;
        switch (drawn % 5) {
          case 0:
          case 1:
            if (both.size() < most || seldom)
              both.send(calls[which], knows[drawn >> 20 & seldom], drawn >> 24 & 1);
            break;
          case 2:
            both.begin_receive();
            break;
          case 3:
            both.ask(drawn >> 32);
            break;
          default:
            both.take(seldom);
        }
        if (HasFatalFailure()) return;
      }
      while (both.size()) both.take(false);
      EXPECT_EQ(both.placed() > 0, stays);
    }
}

TEST(MessageQueue, OfAnotherCallOrKnowledgeOrWithAClockIsAMessage) {
  MessageQueue queue;
  queue.stays = true;
  const SharedCall a = call_with(1), b = call_with(2);
  Knowledge knows, more, clock;
  more.learn_named({of_comm(9), 1});
  clock.clock = std::make_shared<const std::vector<ClockPart>>(1, ClockPart{1, 1});
  EXPECT_FALSE(queue.has_place(a.get(), clock));
  ASSERT_TRUE(queue.has_place(a.get(), knows));
  queue.add_placed(1, true, false);
  EXPECT_FALSE(queue.has_place(b.get(), knows));
  EXPECT_FALSE(queue.has_place(a.get(), more));
  ASSERT_TRUE(queue.has_place(a.get(), knows));
  queue.add_placed(2, true, false);
  EXPECT_FALSE(queue.has_place(a.get(), knows)) << "there are no more places";
  queue.remove_placed();
  queue.remove_placed();
  EXPECT_TRUE(queue.has_place(b.get(), more)) << "an empty queue begins again";
  EXPECT_EQ(queue.signature_name, 2u);
}

TEST(Inbox, ErasesOnlyQueuesBeyondTheFirstThousand) {
  Inbox inbox;
  const int many = static_cast<int>(Inbox::kMostEmpty) + 100;
  for (int i = 0; i < many; ++i) EXPECT_EQ(inbox.queue({1, i, 0}), inbox.queue({1, i, 0}));
  const uint32_t before = g_queues_erased;
  for (int i = 0; i < many; ++i) inbox.erase_if_many(*inbox.queue({1, i, 0}), {1, i, 0});
  EXPECT_EQ(inbox.queues.size(), Inbox::kMostEmpty);
  EXPECT_EQ(g_queues_erased - before, 100u);
  for (const auto& [key, queue] : inbox.queues) EXPECT_TRUE(queue.stays);
}

}  // namespace
}  // namespace fgmpi::check
