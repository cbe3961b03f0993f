#include "comm/meeting.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/strings.h"

namespace fgmpi::comm {
namespace {

/// A communicator of all ranks of one process, and the function that each rank runs.
struct World {
  explicit World(uint32_t n) {
    shared.size = static_cast<int32_t>(n);
    shared.members = n;
    shared.map = RankMap::direct(static_cast<int32_t>(n));
    comms = std::vector<Comm>(n);
    for (uint32_t i = 0; i < n; ++i) {
      comms[i].shared = &shared;
      comms[i].rank = static_cast<int32_t>(i);
    }
  }
  ~World() {
    for (Comm& c : comms) c.shared = nullptr;
  }
  void run(std::function<void(Comm*)> f, sched::Options options = {}) {
    body = std::move(f);
    sched::set_options(options);
    ASSERT_TRUE(sched::create_ranks(
                    static_cast<uint32_t>(comms.size()),
                    [](void* w) {
                      auto* world = static_cast<World*>(w);
                      world->body(&world->comms[sched::current()->index]);
                    },
                    this)
                    .ok());
    EXPECT_EQ(sched::run(), 0);
  }
  SharedComm shared;
  std::vector<Comm> comms;
  std::function<void(Comm*)> body;
};

struct Number : Arrival {
  int value = 0;
  int sum = 0;
};

void add_up(SharedComm*, Meeting* meeting) {
  int sum = 0;
  for (Arrival* a = meeting->arrivals; a; a = a->next) sum += static_cast<Number*>(a)->value;
  for (Arrival* a = meeting->arrivals; a; a = a->next) static_cast<Number*>(a)->sum = sum;
}

void barrier(Comm* c, Status* status) {
  Meeting* m = join(c, 1, "MPI_Barrier");
  if (m->full)
    release(m);
  else
    wait(c, m, "MPI_Barrier");
  *status = leave(m);
}

TEST(Meeting, NobodyPassesABarrierEarly) {
  for (auto policy : {sched::Options::kFifo, sched::Options::kLifo, sched::Options::kRandom}) {
    World w(17);
    int inside = 0;
    sched::Options options;
    options.policy = policy;
    options.seed = 5;
    w.run(
        [&](Comm* c) {
          for (int round = 0; round < 50; ++round) {
            for (int k = (c->rank * 7 + round) % 4; k > 0; --k) sched::yield();
            ++inside;
            Status status;
            barrier(c, &status);
            EXPECT_TRUE(status.ok());
            EXPECT_GE(inside, 17 * (round + 1));
            EXPECT_LE(inside, 17 * (round + 2));
          }
        },
        options);
  }
}

TEST(Meeting, TheLastToComeActsForAll) {
  World w(9);
  w.run([&](Comm* c) {
    for (int round = 0; round < 20; ++round) {
      Number mine;
      mine.value = c->rank + round;
      EXPECT_TRUE(meet(c, &mine, 2, "MPI_Allreduce", add_up).ok());
      EXPECT_EQ(mine.sum, 36 + 9 * round);
    }
  });
}

TEST(Meeting, AMismatchNamesBoth) {
  World w(4);
  w.run([&](Comm* c) {
    Number mine;
    Status status;
    if (c->rank == 2)
      status = meet(c, &mine, 2, "MPI_Allreduce", add_up);
    else
      barrier(c, &status);
    EXPECT_EQ(status.error_class(), MPI_ERR_OTHER);
    EXPECT_NE(status.what().find("rank 2 is in MPI_Allreduce, rank 0 in MPI_Barrier"),
              std::string::npos);
    // The communicator still works.
    barrier(c, &status);
    EXPECT_TRUE(status.ok());
  });
}

class NumberRequest final : public pt2pt::Request {
 public:
  Number number;
};

TEST(Meeting, NonblockingOnesOverlapAndMayBeMetOutOfOrder) {
  World w(6);
  w.run([&](Comm* c) {
    c->nonblocking_sequence = 8 * kNextOfKind + 1;
    std::vector<std::unique_ptr<NumberRequest>> requests;
    for (uint32_t i = 0; i < 8; ++i) {
      // Each rank starts the collectives in another order, as it may start persistent collectives.
      uint32_t which = (i + static_cast<uint32_t>(c->rank)) % 8;
      requests.push_back(std::make_unique<NumberRequest>());
      requests.back()->number.value = static_cast<int>(which);
      EXPECT_TRUE(meet_nonblocking_at(c, which * kNextOfKind + 1, 0, &requests.back()->number, 3,
                                      "MPI_Start", add_up, requests.back().get())
                      .ok());
    }
    Status status;
    barrier(c, &status);
    for (auto& r : requests) {
      pt2pt::wait(r.get(), "MPI_Wait");
      EXPECT_TRUE(r->outcome.error.ok());
      EXPECT_EQ(r->number.sum, 6 * r->number.value);
    }
  });
}

TEST(Meeting, BlockingAndNonblockingOnesAreInOrdersOfTheirOwn) {
  World w(5);
  w.run([&](Comm* c) {
    for (int round = 0; round < 20; ++round) {
      NumberRequest requests[3];
      Number mine;
      Status status;
      // Each rank starts another number of nonblocking collectives before the blocking one.
      const int before = (c->rank + round) % 4;
      for (int i = 0; i < 3; ++i) {
        if (i == before) barrier(c, &status);
        requests[i].number.value = round + i;
        EXPECT_TRUE(
            meet_nonblocking(c, &requests[i].number, 3, "MPI_Iallreduce", add_up, &requests[i])
                .ok());
      }
      if (before == 3) barrier(c, &status);
      EXPECT_TRUE(status.ok()) << status.what();
      mine.value = c->rank;
      EXPECT_TRUE(meet(c, &mine, 2, "MPI_Allreduce", add_up).ok());
      EXPECT_EQ(mine.sum, 10);
      for (int i = 0; i < 3; ++i) {
        pt2pt::wait(&requests[i], "MPI_Wait");
        EXPECT_EQ(requests[i].number.sum, 5 * (round + i));
      }
    }
    EXPECT_EQ(c->collectives(), 20u * 5);
  });
}

int g_ended_blocks = 0;

TEST(Meeting, ABlockEndsOnceWhenTheLastMemberHasLeft) {
  constexpr int kMembers = 5;
  World world(kMembers);
  int left = 0;
  world.run([&](Comm* c) {
    for (int round = 0; round < 4; ++round) {
      Meeting* m = join(c, 1, "MPI_Barrier");
      if (m->arrived == 1) {
        begin_block<int>(m, 10 * round);
        if (round % 2 == 0) m->end_block = [](Meeting*) { ++g_ended_blocks; };
      }
      ++*block_of<int>(m);
      if (m->full)
        release(m);
      else
        wait(c, m, "MPI_Barrier");
      EXPECT_EQ(*block_of<int>(m), 10 * round + kMembers);
      EXPECT_EQ(g_ended_blocks, (round + 1) / 2);
      EXPECT_TRUE(leave(m).ok());
      EXPECT_EQ(g_ended_blocks, ++left / kMembers == round + 1 ? round / 2 + 1 : (round + 1) / 2);
    }
  });
}

TEST(Meeting, AReportSaysHowManyAreMissing) {
  World w(3);
  std::string words;
  w.run([&](Comm* c) {
    Number mine;
    NumberRequest request;
    if (c->rank == 0) {
      EXPECT_TRUE(meet_nonblocking(c, &request.number, 3, "MPI_Ibarrier", add_up, &request).ok());
      describe(c, request.number.meeting, &words);
      pt2pt::wait(&request, "MPI_Wait");
    } else {
      NumberRequest other;
      EXPECT_TRUE(meet_nonblocking(c, &other.number, 3, "MPI_Ibarrier", add_up, &other).ok());
      pt2pt::wait(&other, "MPI_Wait");
    }
  });
  EXPECT_NE(words.find("nonblocking collective number 0: 1 of 3 members of this process are there, "
                       "2 missing"),
            std::string::npos)
      << words;
}

}  // namespace
}  // namespace fgmpi::comm
