// Tests of collectives that fail, in a job of two processes: this one, and one that a transport
// plays. A frame for process 1 returns as if process 1 had sent it, so this process receives its
// own notices as those of process 1.
#include "coll/failure.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "../pt2pt/world.h"
#include "coll/team.h"
#include "comm/broken.h"
#include "comm/context.h"

namespace fgmpi::coll {
namespace {

using comm::SharedComm;
using pt2pt::testing::Loop;
using pt2pt::testing::run_ranks;

constexpr uint8_t kOperation = 4;
constexpr uint64_t kAgreed = 100, kOther = 200;

/// Makes a communicator of rank 0, here, and rank 1, in process 1. It exists until the program
/// ends.
SharedComm* make_comm() {
  static uint32_t lbi = 0;
  static auto& kept = *new std::vector<SharedComm*>;  // reachable for leak checkers
  const RankMap map = RankMap::direct(2);
  comm::CommSpec spec;
  spec.id = comm::ContextId::make(0, ++lbi);
  spec.map = &map;
  spec.members = 1;
  spec.processes = 2;
  spec.creating_call = "test";
  SharedComm* shared = comm::make_shared(spec);
  shared->meetings.reset(new comm::OpenMeetings);
  comm::hierarchy(shared);
  kept.push_back(shared);
  return shared;
}

uint64_t context(const SharedComm* shared) { return shared->id.plane(comm::kPlaneColl); }
int32_t tag_of(uint32_t number) { return team_tag(number, kOperation, false, false); }

/// The signature that all messages carry of a value on which the processes must agree.
pt2pt::Signature signature_of(uint64_t agreed) {
  static SharedComm* shared = make_comm();
  return OpenTeam(shared, context(shared), tag_of(1), agreed, "test").signature;
}

/// Lets process 1 send a message of a collective.
void receive_message(const SharedComm* shared, uint32_t number, uint64_t agreed) {
  const char data[8] = {};
  Status status = pt2pt::process_send(1, context(shared), tag_of(number), data, sizeof data, "test",
                                      signature_of(agreed));
  EXPECT_TRUE(status.ok()) << status.what();
}

/// Lets process 1 send a notice (docs/wire-format.md): kind, tag, signature, error class or number of
/// the asking collective; then the error's text.
void receive_notice(uint64_t ctx, uint32_t kind, int32_t tag, pt2pt::Signature signature,
                    int32_t error_class, const std::string& text) {
  const uint32_t fields[] = {kind, static_cast<uint32_t>(tag), signature,
                             static_cast<uint32_t>(error_class)};
  std::string message(reinterpret_cast<const char*>(fields), sizeof fields);
  message += text;
  pt2pt::notify(1, pt2pt::kNoticeCollective, ctx, message.data(), message.size());
}
constexpr uint32_t kFailedNotice = 1, kCompareNotice = 2, kAnswerNotice = 3;

void settle() {
  for (int i = 0; i < 20; ++i) {
    pt2pt::progress();
    sched::yield();
  }
}

/// Ends a collective whose part in this process ended with `status`; returns its result.
Status result_of_number(SharedComm* shared, uint32_t number, Status status) {
  comm::Meeting meeting;
  meeting.sequence = number;
  conclude(shared, &meeting, &status);
  return status;
}
void conclude_number(SharedComm* shared, uint32_t number, const Status& status) {
  const Status result = result_of_number(shared, number, comm::copy_status(status));
  if (!status.ok()) {
    EXPECT_EQ(result.what(), status.what());
  }
}

struct Opened : OpenTeam {
  Opened(SharedComm* shared, uint32_t number)
      : OpenTeam(shared, context(shared), tag_of(number), kAgreed, "MPI_Bcast") {}
};

/// Runs a test's body on a proclet of process 0.
void run(Loop* loop, std::function<void()> body) {
  comm::init_context();
  EXPECT_EQ(run_ranks(1, loop,
                      [&](uint32_t) {
                        init_failures();
                        body();
                      }),
            0);
}

TEST(Failure, MessagesOfTheSameOpinionAreReceived) {
  Loop loop;
  run(&loop, [&] {
    SharedComm* shared = make_comm();
    Opened team(shared, 1);
    receive_message(shared, 1, kAgreed);
    settle();
    EXPECT_FALSE(team.failed());
    EXPECT_TRUE(team.failure().ok());
    EXPECT_EQ(pt2pt::count_unmatched(), 1u);
    char data[8];  // the envelope names the true sender, process 0
    EXPECT_TRUE(
        pt2pt::process_recv(0, team.ctx, team.tag, data, sizeof data, "test", team.signature).ok());
  });
}

TEST(Failure, AMessageOfAnotherOpinionEndsAnOpenCollective) {
  Loop loop;
  run(&loop, [&] {
    SharedComm* shared = make_comm();
    {
      Opened team(shared, 1);
      receive_message(shared, 1, kOther);
      settle();
      EXPECT_TRUE(team.failed());
      EXPECT_EQ(team.failure().error_class(), MPI_ERR_TRUNCATE);
      EXPECT_NE(team.failure().what().find("processes 0 and 1"), std::string::npos);
      EXPECT_NE(team.failure().what().find("MPI_Bcast"), std::string::npos);
      EXPECT_EQ(pt2pt::count_unmatched(), 0u);  // messages of the collective are dropped
      conclude_number(shared, 1, team.failure());
    }
    // Both processes have learned of the failure and ended the collective: its entry is removed.
    EXPECT_FALSE(Opened(shared, 1).failed());
  });
}

// The data that this process waits for has come, too, so its part ends without an error. Process 1
// may have ended its own: this process is the only one that can still return the error.
TEST(Failure, AMessageOfAnotherOpinionIsTheResultThoughTheDataCame) {
  Loop loop;
  run(&loop, [&] {
    SharedComm* shared = make_comm();
    {
      Opened team(shared, 1);
      compare_signature(team.ctx, team.tag, signature_of(kOther), 1);
    }
    const Status result = result_of_number(shared, 1, {});
    EXPECT_EQ(result.error_class(), MPI_ERR_TRUNCATE);
    EXPECT_NE(result.what().find("processes 0 and 1"), std::string::npos);
    { Opened next(shared, 3); }
    EXPECT_TRUE(result_of_number(shared, 3, {}).ok());
    settle();
  });
}

TEST(Failure, AMessageThatCameFirstFailsTheCollectiveAsItBegins) {
  Loop loop;
  run(&loop, [&] {
    SharedComm* shared = make_comm();
    receive_message(shared, 1, kOther);
    settle();
    EXPECT_EQ(pt2pt::count_unmatched(), 1u);
    Opened team(shared, 1);
    EXPECT_TRUE(team.failed());
    EXPECT_EQ(pt2pt::count_unmatched(), 0u);
    settle();
    conclude_number(shared, 1, team.failure());
  });
}

TEST(Failure, ACompletedCollectiveIsComparedToo) {
  Loop loop;
  run(&loop, [&] {
    SharedComm* shared = make_comm();
    { Opened completed(shared, 1); }
    receive_message(shared, 1, kOther);
    settle();
    EXPECT_EQ(pt2pt::count_unmatched(), 0u);
    EXPECT_FALSE(Opened(shared, 2).failed());  // the message was one of collective 1
    receive_message(shared, 2, kAgreed);
    settle();
    EXPECT_EQ(pt2pt::count_unmatched(), 1u);
    conclude_number(shared, 1, {});
    pt2pt::cancel_traffic(context(shared), tag_of(2), kNotNumber, error(MPI_ERR_OTHER, "dropped"));
  });
}

TEST(Failure, AnErrorHereIsNotifiedAndEndsPostedReceives) {
  Loop loop;
  run(&loop, [&] {
    SharedComm* shared = make_comm();
    Opened team(shared, 1);
    char data[8];
    pt2pt::Request* request = nullptr;
    ASSERT_TRUE(pt2pt::process_irecv(1, team.ctx, team.tag, data, sizeof data, "test", &request,
                                     team.signature)
                    .ok());
    conclude_number(shared, 1, error(MPI_ERR_OP, "the operation is not defined on the type"));
    EXPECT_TRUE(request->complete());
    EXPECT_EQ(pt2pt::process_outcome(request).error_class(), MPI_ERR_OP);
    pt2pt::free_request(request);
    EXPECT_TRUE(team.failed());
    settle();  // the notice of the other process arrives, so the entry is removed
    EXPECT_FALSE(Opened(shared, 1).failed());
  });
}

TEST(Failure, ANoticeFailsACollectiveThatHasYetToBegin) {
  Loop loop;
  run(&loop, [&] {
    SharedComm* shared = make_comm();
    receive_notice(context(shared), kFailedNotice, tag_of(3), 0, MPI_ERR_ROOT, "roots differ");
    receive_notice(context(shared), kFailedNotice, tag_of(4), 0, -7, "no such class");
    settle();
    EXPECT_FALSE(Opened(shared, 2).failed());
    Opened third(shared, 3);
    EXPECT_TRUE(third.failed());
    EXPECT_EQ(third.failure().error_class(), MPI_ERR_ROOT);
    EXPECT_EQ(third.failure().what(), "roots differ");
    Opened fourth(shared, 4);
    EXPECT_EQ(fourth.failure().error_class(), MPI_ERR_OTHER);
  });
}

TEST(Failure, NoticesThatCannotBeAreRefused) {
  Loop loop;
  run(&loop, [&] {
    SharedComm* shared = make_comm();
    Opened team(shared, 1);
    const uint64_t refused = pt2pt::g_engine.bad_frames();
    receive_notice(shared->id.plane(comm::kPlanePt2pt), kFailedNotice, tag_of(1), 0, MPI_ERR_OTHER,
                   "");
    receive_notice(context(shared), 77, tag_of(1), 0, MPI_ERR_OTHER, "");
    pt2pt::notify(1, pt2pt::kNoticeCollective, context(shared), "short", 5);
    settle();
    EXPECT_EQ(pt2pt::g_engine.bad_frames(), refused + 3);
    EXPECT_FALSE(team.failed());
  });
}

TEST(Failure, SignaturesAreComparedWhileIdle) {
  Loop loop;
  run(&loop, [&] {
    SharedComm* shared = make_comm();
    EXPECT_EQ(compare_signatures_when_idle(), -1);  // no collective is open: no limit
    Opened team(shared, 1);
    const int64_t wait = compare_signatures_when_idle();
    EXPECT_GT(wait, 0);
    // When this process has been idle for that long, it sends a notice with the signature to
    // process 1. The notice returns, and its signature agrees.
    const uint64_t before = loop.sent[10];
    timespec pause{0, wait + 1'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
    EXPECT_GT(compare_signatures_when_idle(), 0);
    EXPECT_EQ(loop.sent[10], before + 1);
    settle();
    EXPECT_FALSE(team.failed());
    // Process 1 asks with another signature, and gets an answer; it ends the collective, not we. The
    // answer returns here, where its number is that of no collective.
    receive_notice(team.ctx, kCompareNotice, team.tag, signature_of(kOther), team.serial + 1, "");
    settle();
    EXPECT_EQ(loop.sent[10], before + 3);
    EXPECT_FALSE(team.failed());
    receive_notice(team.ctx, kCompareNotice, team.tag, signature_of(kAgreed), team.serial + 1, "");
    settle();
    EXPECT_EQ(loop.sent[10], before + 4) << "the question alone";
    // An answer to a question of a collective that has ended is too late.
    receive_notice(team.ctx, kAnswerNotice, team.tag, signature_of(kOther), team.serial - 1, "");
    settle();
    EXPECT_FALSE(team.failed());
    receive_notice(team.ctx, kAnswerNotice, team.tag, signature_of(kOther), team.serial, "");
    settle();
    EXPECT_TRUE(team.failed());
    EXPECT_EQ(team.failure().error_class(), MPI_ERR_TRUNCATE);
  });
}

// A multicast has no receive: its signature alone is compared.
TEST(Failure, AMulticastOfAnotherOpinionFailsTheCollectiveOrTheNextOne) {
  Loop loop;
  run(&loop, [&] {
    SharedComm *shared = make_comm(), *other = make_comm();
    {
      Opened team(shared, 1);
      compare_signature(team.ctx, team.tag, team.signature, 1);
      EXPECT_FALSE(team.failed());
      compare_signature(team.ctx, team.tag, signature_of(kOther), 1);
      EXPECT_TRUE(team.failed());
      EXPECT_EQ(team.failure().error_class(), MPI_ERR_TRUNCATE);
      settle();
      conclude_number(shared, 1, team.failure());
    }
    // This process has ended number 3 and perhaps has nobody left in it: number 5 fails instead,
    // once, and only on this communicator.
    { Opened completed(shared, 3); }
    compare_signature(context(shared), tag_of(3), signature_of(kAgreed), 1);
    EXPECT_FALSE(Opened(shared, 5).failed()) << "they agree";
    compare_signature(context(shared), tag_of(5), signature_of(kOther), 1);
    compare_signature(context(shared), tag_of(5), signature_of(kOther), 1);
    EXPECT_FALSE(Opened(other, 7).failed());
    {
      Opened next(shared, 7);
      EXPECT_TRUE(next.failed());
      EXPECT_NE(next.failure().what().find("processes 0 and 1"), std::string::npos);
      settle();
      conclude_number(shared, 7, next.failure());
    }
    settle();
    EXPECT_FALSE(Opened(shared, 9).failed());
    // Messages of other planes, and of collectives that nobody knows here, change nothing.
    compare_signature(shared->id.plane(comm::kPlanePt2pt), tag_of(9), signature_of(kOther), 1);
    compare_signature(context(shared), tag_of(1001), signature_of(kOther), 1);
    EXPECT_FALSE(Opened(shared, 11).failed());
  });
}

TEST(Failure, LateNoticesOfAForgottenCollectiveAreIgnored) {
  Loop loop;
  run(&loop, [&] {
    SharedComm* shared = make_comm();
    {
      Opened team(shared, 1);
      conclude_number(shared, 1, error(MPI_ERR_OP, "x"));
    }
    settle();
    EXPECT_FALSE(Opened(shared, 1).failed()) << "its entry is removed";
    const uint64_t before = loop.sent[10];
    receive_notice(context(shared), kFailedNotice, tag_of(1), 0, MPI_ERR_OP, "late");
    settle();
    EXPECT_EQ(loop.sent[10], before + 1) << "the notice itself, and no answer";
    EXPECT_FALSE(Opened(shared, 1).failed());
  });
}

// The communicator of these notices does not exist here, so that no process answers for them.
TEST(Failure, OfManyNoticesTheEldestAreDropped) {
  Loop loop;
  loop.room = 4096;
  run(&loop, [&] {
    SharedComm* shared = make_comm();
    const uint64_t unknown = comm::ContextId::make(0, 999'999).plane(comm::kPlaneColl);
    receive_notice(context(shared), kFailedNotice, tag_of(1), 0, MPI_ERR_ROOT, "first");
    for (int round = 0; round < 11; ++round) {
      for (uint32_t i = 0; i < 100; ++i)
        receive_notice(unknown, kFailedNotice, tag_of(1 + static_cast<uint32_t>(round) * 100 + i),
                       0, MPI_ERR_ROOT, "x");
      settle();
    }
    receive_notice(context(shared), kFailedNotice, tag_of(5), 0, MPI_ERR_ROOT, "last");
    settle();
    EXPECT_FALSE(Opened(shared, 1).failed()) << "more than 1024 came behind it";
    Opened last(shared, 5);
    EXPECT_TRUE(last.failed());
    EXPECT_EQ(last.failure().what(), "last");
    settle();
    conclude_number(shared, 5, last.failure());
  });
}

TEST(Failure, TheTextOfANoticeIsCut) {
  Loop loop;
  run(&loop, [&] {
    SharedComm* shared = make_comm();
    for (const size_t length : {size_t{0}, size_t{900}, size_t{901}, size_t{50'000}}) {
      SharedComm* of = make_comm();
      const std::string text(length, 'e');
      Opened team(of, 1);
      conclude_number(of, 1, error(MPI_ERR_OP, "%s", text.c_str()));
      EXPECT_EQ(team.failure().what(), text) << "here it is whole";
      settle();
    }
    // What comes is taken as it is, whatever its length.
    receive_notice(context(shared), kFailedNotice, tag_of(1), 0, MPI_ERR_OP,
                   std::string(3000, 'f'));
    settle();
    Opened team(shared, 1);
    EXPECT_EQ(team.failure().what(), std::string(3000, 'f'));
    conclude_number(shared, 1, team.failure());
  });
}

TEST(Failure, ARevokedCommunicatorEndsItsOpenCollectives) {
  Loop loop;
  run(&loop, [&] {
    SharedComm *shared = make_comm(), *other = make_comm();
    Opened team(shared, 1), of_other(other, 1);
    receive_message(shared, 3, kAgreed);
    settle();
    EXPECT_EQ(pt2pt::count_unmatched(), 1u);
    const uint64_t before = loop.sent[10];
    EXPECT_TRUE(comm::revoke(shared->id));
    EXPECT_TRUE(team.failed());
    EXPECT_NE(team.failure().error_class(), MPI_SUCCESS);
    EXPECT_FALSE(of_other.failed());
    EXPECT_EQ(pt2pt::count_unmatched(), 0u);
    EXPECT_EQ(loop.sent[10], before) << "each process learns of it by itself";
    receive_message(shared, 5, kAgreed);
    settle();
    EXPECT_EQ(pt2pt::count_unmatched(), 0u) << "messages that come later are dropped";
    conclude_number(shared, 1, team.failure());
    EXPECT_FALSE(comm::revoke(shared->id));
  });
}

// Many collectives run, some of them at the same time. A collective fails if process 1 has another
// signature for it, or if a process has an error in it; no other collective fails.
TEST(Failure, RandomCollectivesFailAloneAndAreForgotten) {
  Loop loop;
  loop.delay = 50;
  run(&loop, [&] {
    std::mt19937 random(11);
    SharedComm* shared[] = {make_comm(), make_comm()};
    for (uint32_t number = 1; number < 400; number += 2) {
      SharedComm* of = shared[random() % 2];
      std::optional<Opened> teams[2];
      bool fails[2], error_at_end[2];
      for (uint32_t i = 0; i < 2; ++i) {
        const uint32_t what = random() % 5;
        fails[i] = what >= 1 && what <= 3;
        error_at_end[i] = what == 4;
        if (what == 1) receive_message(of, number + i, kOther);
        if (what == 2)
          receive_notice(context(of), kFailedNotice, tag_of(number + i), 0, MPI_ERR_OP, "x");
        if (random() % 2) settle();
        teams[i].emplace(of, number + i);
        if (what == 3) receive_message(of, number + i, kOther);
      }
      settle();
      for (uint32_t i = 0; i < 2; ++i) {
        EXPECT_EQ(teams[i]->failed(), fails[i]) << number + i;
        Status status = teams[i]->failure();
        EXPECT_EQ(status.ok(), !fails[i]);
        if (error_at_end[i]) status = error(MPI_ERR_COUNT, "count");
        teams[i].reset();
        conclude_number(of, number + i, status);
      }
      settle();
      for (uint32_t i = 0; i < 2; ++i) EXPECT_FALSE(Opened(of, number + i).failed()) << number + i;
      EXPECT_EQ(pt2pt::count_unmatched(), 0u);
    }
  });
}

}  // namespace
}  // namespace fgmpi::coll
