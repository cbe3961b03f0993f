// The real engine in jobs whose other processes are pretended: in the same orders as the protocol
// alone (forwarding_test.cc), and what becomes of cancels, long messages and impossible frames.

#include "pt2pt/moved_endpoints.h"

#include <algorithm>
#include <random>

#include "../setting.h"
#include "moving_job.h"
#include "pt2pt/moved_frames.h"
#include "pt2pt/sites.h"
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

// What the model keeps in the target of a message: is it a rendezvous, and which process returns
// its credit?
uint32_t target_of(const WireItem& item) { return (item.account + 1) * 2 + item.request; }
uint32_t account_in(uint32_t target) { return target / 2 - 1; }
static_assert((kNoRank + 1) * 2 == 0);

/// How the engine's messages go.
enum class Way { kEager, kSynchronous, kRendezvous };

/// The engine as a process of a job.
class EngineProcess final : public JobProcess {
 public:
  EngineProcess(Job* job, uint32_t me, uint32_t processes, Outlet* outlet, Way way)
      : JobProcess(job, me), way_(way) {
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
    for (const Sent& each : sent_) EXPECT_TRUE(each.op.done);
    EXPECT_EQ(g_engine.bad_frames(), 0u);
    EXPECT_EQ(g_engine.expected_answers(), 0u);
    EXPECT_EQ(counters().unexpected_bytes, 0u);
    EXPECT_LE(item_bytes_in_flight(), sent_.size() * FlowControl::charge(8));
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
    Sent& s = sent_.emplace_back();
    const Envelope envelope{kMovingCtx, static_cast<int32_t>(from), number};
    std::fill(std::begin(s.content), std::end(s.content), content_of(envelope));
    s.buffer = bytes(s.content, way_ == Way::kRendezvous ? sizeof s.content : 8);
    s.op.buffer = &s.buffer;
    s.op.to = {kByWorld, to};
    s.op.envelope = envelope;
    s.op.queued = false;
    s.op.answer = static_cast<AnswerTime>(0xa5);  // as memory is that nothing has cleared
    const SendMode mode = way_ == Way::kSynchronous ? SendMode::kSynchronous : SendMode::kStandard;
    sched::Proclet* self = sched::current();
    const auto index = std::exchange(self->index, index_in(me_, from));
    s.op.done = send_buffer_at_once(s.buffer, s.op.to, envelope, mode);
    if (!s.op.done) begin_send(&s.op, mode);
    self->index = index;
  }
  bool receive_frame(uint32_t from, const Frame& f) override {
    const uint64_t bad = g_engine.bad_frames(), content = content_of(f.item.envelope);
    const bool message = f.item.kind == ForwardedItem::kMessage;
    const uint32_t target = f.item.target;
    const auto request = static_cast<uint8_t>(message ? target % 2 : 0);
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
        h.size = !message ? 0 : request ? sizeof(Sent::content) : 8;
        const WireItem item{f.item.world,
                            f.item.process,
                            message ? 0 : target,
                            f.sender,
                            account_in(message ? target : 0),
                            static_cast<uint8_t>(f.leg),
                            f.item.kind,
                            request,
                            answer};
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
    uint64_t content[kWords] = {};
    Request* request;
    EXPECT_TRUE(irecv(bytes(content, sizeof content), endpoint(index_in(me_, world)),
                      MPI_ANY_SOURCE, MPI_ANY_TAG, kMovingCtx, "irecv", nullptr, &request)
                    .ok());
    EXPECT_TRUE(request->complete());
    ForwardedItem item;
    item.envelope = {kMovingCtx, request->outcome.source, request->outcome.tag};
    for (size_t i = 0; i < request->outcome.bytes / 8; ++i)
      EXPECT_EQ(content[i], content_of(item.envelope));
    free_request(request);
    return item;
  }
  bool is_empty() const override { return forwarding().empty(); }

 private:
  static constexpr size_t kWords = 32;
  struct Sent {
    uint64_t content[kWords];
    Buffer buffer;
    SendOp op;
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
      case kRequest:
        f.type = Frame::kPlain;
        f.item.target = is_request(h.kind);
        f.item.world = to * kEach + h.dst_local;
        break;
      case kMoving: {
        WireItem item;
        memcpy(&item, payload, sizeof item);
        EXPECT_EQ(length, sizeof item + (item.request ? 0 : h.size));
        const bool answered = item.kind == ForwardedItem::kMessage && h.cookie;
        EXPECT_EQ(static_cast<AnswerTime>(item.answer),
                  answered ? AnswerTime::kWhenMatched : AnswerTime::kNone);
        f.type = Frame::kItem;
        f.leg = static_cast<ItemLeg>(item.leg);
        f.sender = item.sender;
        f.item.kind = static_cast<ForwardedItem::Kind>(item.kind);
        f.item.world = item.world;
        f.item.process = item.process;
        f.item.target = item.kind == ForwardedItem::kMessage ? target_of(item) : item.target;
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

  Way way_;
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
  constexpr size_t kMostPaths = 2250;
  // The messages of Way::kRendezvous are longer.
  const test::Setting remote("FGMPI_EAGER_REMOTE", "100"), local("FGMPI_EAGER_LOCAL", "100");
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
          const auto way = static_cast<Way>(i / stride % 3);
          return std::make_unique<EngineProcess>(of, process, c.processes, &outlet, way);
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

class MovedEndpoints : public ::testing::Test {
 protected:
  struct SentFrame {
    uint32_t process;
    Header header;
    std::string payload;
  };
  void run(std::function<void()> body) {
    outlet_.on_frame = [this](uint32_t process, const Header& h, const char* payload,
                              size_t length) {
      frames_.push_back({process, h, std::string(payload, length)});
    };
    run_with_engine(2, &outlet_, [&] {
      body();
      EXPECT_EQ(g_engine.bad_frames(), bad_);
      EXPECT_EQ(g_engine.expected_answers(), 0u);
      EXPECT_EQ(counters().unexpected_bytes, 0u);
      EXPECT_TRUE(forwarding().empty());
    });
  }
  static void deliver(Header h, const std::string& payload) {
    h.src_process = 1;
    sinks().frames->deliver(h, payload.data(), payload.size());
  }
  static Header header(FrameKind kind, uint64_t size = 0, uint64_t cookie = 0) {
    Header h{};
    h.kind = kind;
    h.ctx = kMovingCtx;
    h.src_rank = 5;
    h.tag = 7;
    h.size = size;
    h.cookie = cookie;
    h.dst_local = transport::kProcessEndpoint;
    return h;
  }
  static std::string wire(const WireItem& item, const std::string& bytes = "") {
    return std::string(reinterpret_cast<const char*>(&item), sizeof item) + bytes;
  }
  static void note(MoveNote note, uint32_t world, uint64_t argument) {
    Header h = header(kMoveNote, argument);
    h.tag = static_cast<int32_t>(note);
    h.ctx = world;
    deliver(h, "");
  }
  /// Delivers a frame that must be refused.
  void refuse(const Header& h, const std::string& payload) {
    deliver(h, payload);
    EXPECT_EQ(g_engine.bad_frames(), ++bad_);
  }
  WireItem item_of(const SentFrame& frame) {
    EXPECT_EQ(frame.header.kind, kMoving);
    WireItem item{};
    memcpy(&item, frame.payload.data(), sizeof item);
    return item;
  }
  Request* begin_send(const std::string& data, uint32_t to, SendMode mode) {
    Request* request;
    EXPECT_TRUE(isend(bytes(data.data(), data.size()), {kByWorld, to}, 1, 7, kMovingCtx, mode,
                      "isend", nullptr, &request)
                    .ok());
    return request;
  }
  std::string receive(uint32_t local) {
    std::string data(20'000, ' ');
    Request* request;
    EXPECT_TRUE(irecv(bytes(data.data(), data.size()), endpoint(local), MPI_ANY_SOURCE, MPI_ANY_TAG,
                      kMovingCtx, "irecv", nullptr, &request)
                    .ok());
    EXPECT_TRUE(request->complete());
    data.resize(request->outcome.bytes);
    free_request(request);
    return data;
  }
  /// The index of world rank 4 as a visitor of process 0.
  static constexpr uint32_t kVisitor = kEach + 4;
  void make_visitor() {
    EXPECT_TRUE(arrive(4, kVisitor).ok());
    note(MoveNote::kHandOver, 4, 0);
  }

  Outlet outlet_;
  std::vector<SentFrame> frames_;
  uint64_t bad_ = 0;
};

TEST_F(MovedEndpoints, SayWhatKeepsARank) {
  run([&] {
    char byte;
    Request* posted;
    EXPECT_TRUE(
        irecv(bytes(&byte, 1), endpoint(2), 1, 1, kMovingCtx, "irecv", nullptr, &posted).ok());
    EXPECT_EQ(depart(2, 2, 1).error_class(), MPI_ERR_PENDING);
    EXPECT_NE(depart(2, 2, 1).what().find("posted a receive"), std::string::npos);
    posted->cancel();
    free_request(posted);
    EXPECT_EQ(depart(2, 2, 0).error_class(), MPI_ERR_ARG);
    EXPECT_EQ(depart(2, 2, 2).error_class(), MPI_ERR_ARG);
    EXPECT_EQ(depart(2, 1, 1).error_class(), MPI_ERR_ARG);
    EXPECT_EQ(depart(99, 2, 1).error_class(), MPI_ERR_ARG);
    EXPECT_TRUE(depart(2, 2, 1).ok());
    EXPECT_EQ(depart(2, 2, 1).error_class(), MPI_ERR_PENDING) << "it is away";
    EXPECT_EQ(arrive(4, 2).error_class(), MPI_ERR_ARG) << "a rank's own index";
    EXPECT_TRUE(arrive(4, kVisitor).ok());
    EXPECT_EQ(arrive(4, kVisitor + 1).error_class(), MPI_ERR_ARG) << "it is a visitor already";
    EXPECT_EQ(arrive(5, kVisitor).error_class(), MPI_ERR_ARG) << "another visitor's index";
    EXPECT_NE(depart(4, kVisitor, 1).what().find("on their way"), std::string::npos);
    note(MoveNote::kHandOver, 4, 0);
    EXPECT_TRUE(depart(4, kVisitor, 1).ok());
    note(MoveNote::kStop, 4, 0);
    EXPECT_EQ(frames_.back().header.tag, static_cast<int32_t>(MoveNote::kStopped));
  });
}

TEST_F(MovedEndpoints, AreNamedByTheirWorldRank) {
  run([&] {
    make_visitor();
    EXPECT_EQ(g_av.global_of_local(kVisitor), 4u);
    EXPECT_EQ(g_av.global_of(kByWorld, 6), 6u);
    SendOp op;
    op.to = {kByWorld, 4};
    op.envelope = {kMovingCtx, 0, 3};
    op.size = 8;
    std::string words;
    describe_send(op, &words);
    EXPECT_NE(words.find("to world rank 4"), std::string::npos) << words;
    WaitFor awaited;
    EXPECT_TRUE(awaited_destination(op, &awaited));
    EXPECT_EQ(awaited.peer.process, 1u);
    EXPECT_EQ(awaited.peer.local, 0u);
  });
}

TEST_F(MovedEndpoints, CancelFollowsItsMessageAndFindsItBack) {
  run([&] {
    const std::string data = "to be cancelled";
    Request* waits = begin_send(data, 2, SendMode::kSynchronous);
    EXPECT_FALSE(waits->complete());
    EXPECT_TRUE(depart(2, 2, 1).ok());
    const WireItem request = item_of(frames_.back());
    EXPECT_EQ(request.request, 1);
    waits->cancel();
    EXPECT_FALSE(waits->complete());
    EXPECT_EQ(item_of(frames_.back()).kind, ForwardedItem::kCancel);
    const Header cancelled = header(kCancelled, 0, frames_.back().header.cookie);
    deliver(cancelled, "");
    EXPECT_TRUE(waits->complete());
    EXPECT_TRUE(waits->outcome.cancelled);
    free_request(waits);

    // The rank returns, with a message that is sent meanwhile, which then waits here again.
    waits = begin_send(data, 2, SendMode::kSynchronous);
    SentFrame sent = frames_.back();
    note(MoveNote::kLeft, 2, 0);
    WireItem back = item_of(sent);
    EXPECT_EQ(back.request, 0);
    back.leg = static_cast<uint8_t>(ItemLeg::kReturned);
    deliver(sent.header, wire(back, data));
    note(MoveNote::kStopped, 2, 0);
    EXPECT_TRUE(arrive(2, 2).ok());
    EXPECT_FALSE(endpoint(2)->unexpected.empty());
    waits->cancel();
    EXPECT_TRUE(waits->complete() && waits->outcome.cancelled);
    EXPECT_TRUE(endpoint(2)->unexpected.empty());
    free_request(waits);
  });
}

TEST_F(MovedEndpoints, CancelMeetsItsMessageOnTheWayBack) {
  run([&] {
    const std::string data(70'000, 'x');
    Request* waits = begin_send(data, 4, SendMode::kStandard);
    ASSERT_EQ(frames_.back().header.kind, kRequest);
    waits->cancel();
    const SentFrame cancel = frames_.back();
    WireItem item = item_of(cancel);
    EXPECT_EQ(item.kind, ForwardedItem::kCancel);
    EXPECT_FALSE(waits->complete());

    make_visitor();
    item.leg = static_cast<uint8_t>(ItemLeg::kToHost);
    const WireItem request{4, 0, 0, kNoRank, kNoRank, item.leg, 0, 1, 1};
    deliver(header(kMoving, data.size(), cancel.header.cookie), wire(request));
    EXPECT_TRUE(waits->complete() && waits->outcome.cancelled);
    EXPECT_TRUE(endpoint(kVisitor)->unexpected.empty());
    free_request(waits);
    deliver(cancel.header, wire(item));
    EXPECT_TRUE(endpoint(kVisitor)->unexpected.empty());
  });
}

TEST_F(MovedEndpoints, CancelFindsTheMessageAtAVisitor) {
  run([&] {
    make_visitor();
    const WireItem message{4, 1, 0, kNoRank, 1, static_cast<uint8_t>(ItemLeg::kToHost), 0, 0, 1};
    deliver(header(kMoving, 5, 77), wire(message, "hello"));
    EXPECT_FALSE(endpoint(kVisitor)->unexpected.empty());
    WireItem cancel = message;
    cancel.kind = ForwardedItem::kCancel;
    deliver(header(kMoving, 0, 78), wire(cancel));
    EXPECT_FALSE(endpoint(kVisitor)->unexpected.empty()) << "of another message";
    deliver(header(kMoving, 0, 77), wire(cancel));
    EXPECT_TRUE(endpoint(kVisitor)->unexpected.empty());
    EXPECT_EQ(frames_.back().header.kind, kCancelled);
    EXPECT_EQ(frames_.back().header.cookie, 77u);
    deliver(header(kMoving, 5, 79), wire(message, "hello"));
    EXPECT_EQ(receive(kVisitor), "hello");
    EXPECT_EQ(frames_[frames_.size() - 2].header.kind, kAck);
    EXPECT_EQ(frames_.back().header.kind, kMoveNote) << "credit goes back to its process";
    deliver(header(kMoving, 0, 79), wire(cancel));
    EXPECT_EQ(frames_.back().header.kind, kMoveNote) << "the message has been received";
  });
}

/// A send of this process whose message comes back with its rank, and leaves again.
TEST_F(MovedEndpoints, SendsWaitHereAgainWithTheirAnswer) {
  run([&] {
    const std::string data(70'000, 'x');
    const Buffer buffer = bytes(data.data(), data.size());
    SendOp op;
    op.buffer = &buffer;
    op.to = {kByWorld, 4};
    op.envelope = {kMovingCtx, 1, 7};
    op.queued = false;
    op.answer = static_cast<AnswerTime>(0xa5);  // as memory is that nothing has cleared
    pt2pt::begin_send(&op, SendMode::kStandard);
    ASSERT_EQ(frames_.back().header.kind, kRequest);

    make_visitor();
    const WireItem request{4, 0, 0, kNoRank, kNoRank, static_cast<uint8_t>(ItemLeg::kToHost),
                           0, 1, 1};
    deliver(header(kMoving, data.size(), frames_.back().header.cookie), wire(request));
    EXPECT_TRUE(op.queued);
    EXPECT_TRUE(depart(4, kVisitor, 1).ok());
    EXPECT_EQ(item_of(frames_.back()).leg, static_cast<uint8_t>(ItemLeg::kReturned));
    EXPECT_EQ(item_of(frames_.back()).request, 1);
    EXPECT_EQ(item_of(frames_.back()).answer, static_cast<uint8_t>(AnswerTime::kWhenMatched));
    EXPECT_FALSE(op.done);
    deliver(header(kAck, 0, frames_.back().header.cookie), "");
    EXPECT_TRUE(op.done);
  });
}

TEST_F(MovedEndpoints, ForwardLongMessagesInPieces) {
  run([&] {
    std::string data(10'000, ' ');
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>('a' + i % 26);
    EXPECT_TRUE(depart(2, 2, 1).ok());
    frames_.clear();
    Header h = header(kEagerSync, data.size(), 5);
    h.dst_local = 2;
    deliver(h, data.substr(0, 4096));
    h.kind = kMore;
    for (size_t at = 4096; at < data.size(); at += 4096) {
      EXPECT_TRUE(frames_.empty()) << "a message is forwarded when it is whole";
      h.addr = at;
      deliver(h, data.substr(at, 4096));
    }
    ASSERT_EQ(frames_.size(), 3u);
    EXPECT_EQ(item_of(frames_[0]).answer, 1) << "its sender is answered by the receiver";
    EXPECT_EQ(item_of(frames_[0]).account, kNoRank);
    std::string forwarded = frames_[0].payload.substr(sizeof(WireItem));
    for (size_t i = 1; i < 3; ++i) {
      EXPECT_EQ(frames_[i].header.kind, kMovingMore);
      forwarded += frames_[i].payload;
    }
    EXPECT_EQ(forwarded, data);

    make_visitor();
    WireItem item = item_of(frames_[0]);
    item.world = 4;
    item.leg = static_cast<uint8_t>(ItemLeg::kToHost);
    deliver(frames_[0].header, wire(item, frames_[0].payload.substr(sizeof item)));
    deliver(frames_[1].header, frames_[1].payload);
    refuse(frames_[1].header, frames_[1].payload);
    EXPECT_TRUE(endpoint(kVisitor)->unexpected.empty());
    deliver(frames_[2].header, frames_[2].payload);
    EXPECT_EQ(receive(kVisitor), data);
  });
}

TEST_F(MovedEndpoints, LeaveOtherPlanesAtHome) {
  run([&] {
    EXPECT_TRUE(depart(2, 2, 1).ok());
    frames_.clear();
    Header h = header(kEager, 5);
    h.ctx += 4;
    h.dst_local = 2;
    deliver(h, "hello");
    EXPECT_TRUE(frames_.empty());
    Request* request;
    char data[5];
    EXPECT_TRUE(irecv(bytes(data, 5), endpoint(2), 5, 7, h.ctx, "irecv", nullptr, &request).ok());
    EXPECT_TRUE(request->complete());
    free_request(request);
  });
}

TEST_F(MovedEndpoints, RefuseImpossibleFrames) {
  run([&] {
    make_visitor();
    EXPECT_TRUE(depart(2, 2, 1).ok());
    const WireItem good{4, 1, 0, kNoRank, 1, static_cast<uint8_t>(ItemLeg::kToHost), 0, 0, 0};
    const Header h = header(kMoving, 5);
    refuse(h, "short");
    const auto refuse_with = [&](auto WireItem::*member, auto value) {
      WireItem bad = good;
      bad.*member = static_cast<std::remove_reference_t<decltype(bad.*member)>>(value);
      refuse(h, wire(bad, "hello"));
    };
    refuse_with(&WireItem::world, 8u);
    refuse_with(&WireItem::process, 2u);
    refuse_with(&WireItem::target, 2u);
    refuse_with(&WireItem::sender, 8u);
    refuse_with(&WireItem::account, 2u);
    refuse_with(&WireItem::leg, 5);
    refuse_with(&WireItem::kind, 4);
    refuse_with(&WireItem::answer, 3);
    refuse_with(&WireItem::request, 1);
    refuse_with(&WireItem::world, 1u);  // another home's
    refuse_with(&WireItem::leg, static_cast<uint8_t>(ItemLeg::kReturned));
    refuse_with(&WireItem::leg, static_cast<uint8_t>(ItemLeg::kFromRoute));
    refuse(h, wire(good, "more than five"));
    Header plane = h;
    plane.ctx += 1;
    refuse(plane, wire(good, "hello"));
    refuse(header(kMovingMore, 5), "hello");
    for (const MoveNote each : {MoveNote::kHandOver, MoveNote::kStopped, MoveNote::kStop}) {
      Header n = header(kMoveNote);
      n.tag = static_cast<int32_t>(each);
      n.ctx = 2;
      refuse(n, "");
    }
    Header n = header(kMoveNote, 2);
    n.ctx = 4;
    n.tag = static_cast<int32_t>(MoveNote::kWhere);
    refuse(n, "");
    n.tag = 6;
    n.size = 0;
    refuse(n, "");
    deliver(h, wire(good, "hello"));
    EXPECT_EQ(receive(kVisitor), "hello");
  });
}

INSTANTIATE_TEST_SUITE_P(Small, EngineInEveryOrder, ::testing::ValuesIn(kCases),
                         [](const auto& one) { return format("Case%zu", one.index); });

}  // namespace
}  // namespace fgmpi::pt2pt
