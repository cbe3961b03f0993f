// The real engine in jobs whose other processes are pretended: in the same orders as the protocol
// alone (forwarding_test.cc), and what becomes of cancels, long messages and impossible frames.

#include "pt2pt/moved_endpoints.h"

#include <algorithm>
#include <random>

#include "moving_job.h"
#include "pt2pt/moved_frames.h"
#include "world.h"

namespace fgmpi::pt2pt {
namespace {

using namespace testing;
using transport::Header;

/// As moved_endpoints.h draws it.
struct WireItem {
  uint32_t world, process, target, sender, account;
  uint8_t leg, kind, request, answer;
};

uint64_t content_of(const Envelope& e) {
  return uint64_t{static_cast<uint32_t>(e.source)} << 32 | static_cast<uint32_t>(e.tag);
}

/// Gives the engine's frames to a function.
class Outlet final : public transport::FrameCarrier {
 public:
  const char* name() const override { return "outlet"; }
  size_t max_payload() const override { return 4096; }
  size_t most_unasked() const override { return 64 << 10; }
  bool try_send(uint32_t process, uint64_t, const Header& header, const void* payload,
                size_t length) override {
    on_frame(process, header, static_cast<const char*>(payload), length);
    return true;
  }
  bool poll() override { return false; }
  bool arm() override { return false; }
  int wait_fd() const override { return -1; }
  std::function<void(uint32_t, const Header&, const char*, size_t)> on_frame;
};

/// The engine as a process of a job.
class EngineProcess final : public JobProcess {
 public:
  EngineProcess(Job* job, uint32_t me, uint32_t processes, Outlet* outlet, bool synchronous)
      : JobProcess(job, me), synchronous_(synchronous) {
    std::vector<uint32_t> starts;
    for (uint32_t p = 0; p <= processes; ++p) starts.push_back(p * kEach);
    g_av.init(starts, me);
    g_engine.begin(me, processes);
    begin_forwarding();
    outlet->on_frame = [this](uint32_t to, const Header& h, const char* payload, size_t length) {
      send_frame(to, h, payload, length);
    };
  }
  ~EngineProcess() override {
    for (Sent& each : sent_) {
      EXPECT_TRUE(each.request->complete());
      free_request(each.request);
    }
    EXPECT_EQ(g_engine.bad_frames(), 0u);
    EXPECT_EQ(g_engine.expected_answers(), 0u);
    EXPECT_EQ(counters().unexpected_bytes, 0u);
  }
  bool may_depart(uint32_t world) const override {
    return pt2pt::may_depart(world, index_in(me_, world)).ok();
  }
  void depart(uint32_t world, uint32_t next) override {
    EXPECT_TRUE(pt2pt::depart(world, index_in(me_, world), next).ok());
    EXPECT_FALSE(has_message(world));
  }
  void arrive(uint32_t world) override {
    EXPECT_TRUE(pt2pt::arrive(world, index_in(me_, world)).ok());
  }
  void send(uint32_t from, uint32_t to, int32_t number) override {
    const Envelope envelope{kMovingCtx, static_cast<int32_t>(from), number};
    sent_.push_back({content_of(envelope), nullptr});
    Sent& s = sent_.back();
    sched::Proclet* self = sched::current();
    const auto index = std::exchange(self->index, index_in(me_, from));
    EXPECT_TRUE(isend(bytes(&s.content, 8), {kByWorld, to}, envelope.source, number, kMovingCtx,
                      synchronous_ ? SendMode::kSynchronous : SendMode::kStandard, "isend", nullptr,
                      &s.request)
                    .ok());
    self->index = index;
  }
  bool receive_frame(uint32_t from, const Frame& f) override {
    const uint64_t bad = g_engine.bad_frames(), content = content_of(f.item.envelope);
    const bool message = f.item.kind == ForwardedItem::kMessage;
    // The target of a message tells whether it is a rendezvous, of the engine.
    const auto request = static_cast<uint8_t>(message ? f.item.target : 0);
    Header h{};
    h.src_process = from;
    h.dst_local = transport::kProcessEndpoint;
    h.ctx = kMovingCtx;
    h.src_rank = f.item.envelope.source;
    h.tag = f.item.envelope.tag;
    h.cookie = f.item.cookie;
    h.size = 8;
    char payload[sizeof(WireItem) + 8];
    size_t length = 0;
    const uint8_t answer = f.item.cookie ? 1 : 0;
    switch (f.type) {
      case Frame::kPlain:
        h.kind = answer ? kEagerSync : kEager;
        h.dst_local = index_in(me_, f.item.world);
        memcpy(payload, &content, length = 8);
        break;
      case Frame::kItem: {
        h.kind = kMoving;
        h.size = message ? 8 : 0;
        const WireItem item{f.item.world, f.item.process, message ? 0 : f.item.target,
                            f.sender,     f.item.process, static_cast<uint8_t>(f.leg),
                            f.item.kind,  request,        answer};
        memcpy(payload, &item, length = sizeof item);
        if (message && !request) memcpy(payload + length, &content, 8), length += 8;
        break;
      }
      case Frame::kNote:
        h.kind = kMoveNote;
        h.tag = static_cast<int32_t>(f.note);
        h.ctx = f.world;
        h.size = f.argument;
        break;
      case Frame::kAck:
        h.kind = kAck;
        break;
    }
    sinks().frames->deliver(h, payload, length);
    return g_engine.bad_frames() == bad;
  }
  bool has_message(uint32_t world) const override {
    return !endpoint(index_in(me_, world))->unexpected.empty();
  }
  ForwardedItem take_message(uint32_t world) override {
    uint64_t content = 0;
    Request* request;
    EXPECT_TRUE(irecv(bytes(&content, 8), endpoint(index_in(me_, world)), MPI_ANY_SOURCE,
                      MPI_ANY_TAG, kMovingCtx, "irecv", nullptr, &request)
                    .ok());
    EXPECT_TRUE(request->complete());
    ForwardedItem item;
    item.envelope = {kMovingCtx, request->outcome.source, request->outcome.tag};
    EXPECT_EQ(content, content_of(item.envelope));
    free_request(request);
    return item;
  }
  bool is_empty() const override { return forwarding().empty(); }

 private:
  struct Sent {
    uint64_t content;
    Request* request;
  };
  void send_frame(uint32_t to, const Header& h, const char* payload, size_t length) {
    Frame f{};
    f.sender = kNoRank;
    f.item.envelope = {h.ctx, h.src_rank, h.tag};
    f.item.cookie = h.cookie;
    f.item.process = me_;
    switch (h.kind) {
      case kEager:
      case kEagerSync:
        f.type = Frame::kPlain;
        f.item.world = to * kEach + h.dst_local;
        break;
      case kMoving: {
        WireItem item;
        memcpy(&item, payload, sizeof item);
        EXPECT_EQ(length, sizeof item + (item.request ? 0 : h.size));
        f.type = Frame::kItem;
        f.leg = static_cast<ItemLeg>(item.leg);
        f.sender = item.sender;
        f.item.kind = static_cast<ForwardedItem::Kind>(item.kind);
        f.item.world = item.world;
        f.item.process = item.process;
        f.item.target = item.kind == ForwardedItem::kMessage ? item.request : item.target;
        break;
      }
      case kMoveNote:
        if (h.tag > static_cast<int32_t>(MoveNote::kWhere)) return;  // credit
        f.type = Frame::kNote;
        f.note = static_cast<MoveNote>(h.tag);
        f.world = static_cast<uint32_t>(h.ctx);
        f.argument = static_cast<uint32_t>(h.size);
        f.item = {};
        break;
      default:
        return;  // credit and acknowledgements: pretended processes do not count them
    }
    push(to, f);
  }

  bool synchronous_;
  std::deque<Sent> sent_;
};

/// Runs body() on a proclet, with an engine for `processes` processes.
void run_with_engine(uint32_t processes, Outlet* outlet, std::function<void()> body) {
  let_ranks_move();
  std::vector<uint32_t> starts;
  for (uint32_t p = 0; p <= processes; ++p) starts.push_back(p * kEach);
  g_av.init(starts, 0);
  Setup setup;
  setup.local_count = kEach + kEach * processes;
  setup.transports[0] = outlet;
  ASSERT_TRUE(init(setup).ok());
  sched::Hooks hooks;
  hooks.poll = progress;
  hooks.sleep = [](int64_t) {};
  sched::set_hooks(hooks);
  static std::function<void()> current;
  current = std::move(body);
  ASSERT_TRUE(sched::create_ranks(
                  1, [](void*) { current(); }, nullptr)
                  .ok());
  EXPECT_EQ(sched::run(), 0);
  finalize();
  let_ranks_move(false);
}

class EngineInEveryOrder : public ::testing::TestWithParam<Case> {};

/// Each process in turn is the engine. At most so many paths are tried for it, evenly chosen.
TEST_P(EngineInEveryOrder, DoesWhatTheModelDoes) {
  constexpr size_t kMostPaths = 1500;
  const Case& c = GetParam();
  std::vector<Path> paths;
  explore(c, [&](const Path& path) { paths.push_back(path); });
  const size_t stride = 1 + paths.size() / kMostPaths;
  Outlet outlet;
  run_with_engine(c.processes, &outlet, [&] {
    std::mt19937_64 random(5);
    for (uint32_t engine = 0; engine < c.processes; ++engine)
      for (size_t i = engine % stride; i < paths.size(); i += stride) {
        Job job(c, [&](Job* of, uint32_t process) -> std::unique_ptr<JobProcess> {
          if (process != engine) return nullptr;
          return std::make_unique<EngineProcess>(of, process, c.processes, &outlet, i / stride % 2);
        });
        std::string why;
        for (size_t step = 0;; ++step) {
          const auto choices = job.choices();
          if (choices.empty()) break;
          const uint32_t choice =
              step < paths[i].size() ? paths[i][step] : choices[random() % choices.size()];
          EXPECT_TRUE(std::count(choices.begin(), choices.end(), choice))
              << c.name << ", path " << i << ", step " << step << ", process " << engine;
          if (HasFailure()) return;
          if (!job.choose(choice, &why))
            ADD_FAILURE() << c.name << ", path " << i << ", process " << engine << ": " << why;
          if (HasFailure()) return;
        }
        EXPECT_TRUE(job.is_complete(&why)) << c.name << ", path " << i << ": " << why;
      }
  });
}

INSTANTIATE_TEST_SUITE_P(Small, EngineInEveryOrder, ::testing::ValuesIn(kCases),
                         [](const auto& one) { return format("Case%zu", one.index); });

}  // namespace
}  // namespace fgmpi::pt2pt
