// Which receive took which message: by the rules of MPI, compared with a naive search.
#include "launcher/mpiexec/message_search.h"

#include <gtest/gtest.h>
#include <mpi.h>

#include <random>

namespace fgmpi::launcher {
namespace {

using MessageEnd = MessageSearch::MessageEnd;

TEST(MessageSearch, MatchesTheEldest) {
  MessageSearch search;
  const size_t any = search.receive({1, MPI_ANY_SOURCE, MPI_ANY_TAG, 0});
  const size_t tagged = search.receive({2, 4, 7, 0});
  search.send({3, 4, 7, 1});  // another communicator
  EXPECT_EQ(search.sender_of(any), 0u);
  search.send({4, 4, 7, 0});
  search.send({5, 4, 7, 0});
  EXPECT_EQ(search.sender_of(any), 4u);
  EXPECT_EQ(search.sender_of(tagged), 5u);
  EXPECT_EQ(search.sender_of(search.receive({6, 4, 7, 1})), 3u);
}

TEST(MessageSearch, ForgetsCancelledReceivesAndMessagesThatWereProbed) {
  MessageSearch search;
  const size_t cancelled = search.receive({1, 2, 3, 0}), other = search.receive({2, 2, 3, 0});
  search.cancel(cancelled);
  search.send({3, 2, 3, 0});
  EXPECT_EQ(search.sender_of(cancelled), 0u);
  EXPECT_EQ(search.sender_of(other), 3u);
  search.cancel(other);  // too late
  search.send({4, 2, 3, 0});
  search.send({5, 2, 3, 0});
  EXPECT_EQ(search.sender_of(search.take({6, MPI_ANY_SOURCE, 3, 0})), 4u);
  EXPECT_EQ(search.sender_of(search.receive({7, 2, MPI_ANY_TAG, 0})), 5u);
}

/// All operations in a row, each with what it has matched.
struct NaiveSearch {
  struct Entry {
    MessageEnd operation;
    bool receives;
    uint64_t matched = 0;
  };
  std::vector<Entry> entries;

  static bool covers(const MessageEnd& r, const MessageEnd& s) {
    return r.comm == s.comm && (r.source == s.source || r.source == MPI_ANY_SOURCE) &&
           (r.tag == s.tag || r.tag == MPI_ANY_TAG);
  }
  void add(const MessageEnd& operation, bool receives) {
    Entry fresh{operation, receives};
    for (Entry& e : entries) {
      if (fresh.matched || e.matched || e.receives == receives) continue;
      if (!covers(receives ? operation : e.operation, receives ? e.operation : operation)) continue;
      e.matched = operation.event;
      fresh.matched = e.operation.event;
    }
    entries.push_back(fresh);
  }
};

TEST(MessageSearch, AgreesWithANaiveSearch) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    MessageSearch search;
    NaiveSearch naive;
    std::vector<size_t> receives;
    for (uint64_t event = 1; event <= 60; ++event) {
      const bool is_receive = random() % 2;
      MessageEnd operation{event, static_cast<int32_t>(random() % 3),
                           static_cast<int32_t>(random() % 2), static_cast<uint16_t>(random() % 2)};
      if (is_receive && random() % 3 == 0) operation.source = MPI_ANY_SOURCE;
      if (is_receive && random() % 3 == 0) operation.tag = MPI_ANY_TAG;
      naive.add(operation, is_receive);
      if (is_receive)
        receives.push_back(search.receive(operation));
      else
        search.send(operation);
    }
    size_t next = 0;
    for (const NaiveSearch::Entry& e : naive.entries)
      if (e.receives) {
        EXPECT_EQ(search.sender_of(receives[next++]), e.matched) << "round " << round;
      }
  }
}

}  // namespace
}  // namespace fgmpi::launcher
