// fgmpi-calibrate: measures the links between rank 0 and other ranks, for fgmpi-info -calibrate.
//
// The ranks other than 0 do what rank 0 asks for (LinkOrder). Rank 0 measures with one of them
// after the other, and prints what it has found, times in ns:
//
//   sample PEER BYTES ONE-WAY SEND RECEIVE INTERVAL
//                             SEND, RECEIVE: 0 where messages are not eager
//   eager PEER BYTES          longer messages wait for their receive
//   overlaps PEER PART BYTES  the part of a message that moves while both ranks compute, not eager
//   buffered PEER PART BYTES  the same of one that is eager
//   reduction BYTES-PER-NS    how fast operands are combined
//   end
//
// The program uses mpi.h alone, so it measures any library with MPICH's ABI. Thread rule: one
// thread.

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

constexpr int kOrderTag = 1, kDataTag = 2, kGoTag = 3;
constexpr int kMostBytes = 4 << 20;
/// A kind of message is measured for about so long in each pass, ns.
constexpr double kTimeForEach = 2e7;
/// Longer messages are not measured where one takes longer, ns, except some that are not eager.
constexpr double kLongest = 1e8;
/// Sizes are measured several times, with the others between: other work on the hosts disturbs all
/// messages of a while.
constexpr int kPasses = 4;
/// More peers would only take longer: links of a class are alike.
constexpr int kMostPeers = 2;

enum LinkWork : int { kPingPong, kLateReceive, kStream, kEager, kOverlap, kEnd };
/// What the peer is to do next.
struct LinkOrder {
  int work, bytes, count;  ///< count: of messages; kOverlap: the time of one, us
};
/// Times of one size, ns.
struct MeasuredTimes {
  double one_way = 0, send = 0, receive = 0, interval = 0;
};

double now_ns() { return 1e9 * MPI_Wtime(); }

/// What chance has made longer is left out.
double lower_quartile(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 4];
}
double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// One end of a link.
class LinkEnd {
 public:
  explicit LinkEnd(int peer) : peer_(peer), buffer_(kMostBytes) {}

  void send(int bytes, int tag = kDataTag) {
    MPI_Send(buffer_.data(), bytes, MPI_CHAR, peer_, tag, MPI_COMM_WORLD);
  }
  void receive(int bytes, int tag = kDataTag) {
    MPI_Recv(buffer_.data(), bytes, MPI_CHAR, peer_, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

  // Rank 0's side of each kind of work.

  MeasuredTimes ping_pong(int bytes, int count) {
    order({kPingPong, bytes, count});
    std::vector<double> ways, sends;
    for (int i = 0; i < count; ++i) {
      const double begin = now_ns();
      send(bytes);
      const double sent = now_ns();
      receive(bytes);
      ways.push_back((now_ns() - begin) / 2);
      sends.push_back(sent - begin);
    }
    return {median(ways), lower_quartile(sends)};
  }
  /// How long a receive takes whose message has arrived.
  double late_receive(int bytes, int count) {
    order({kLateReceive, bytes, count});
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
      send(0, kGoTag);
      receive(0, kGoTag);  // sent behind the message
      const double begin = now_ns();
      receive(bytes);
      times.push_back(now_ns() - begin);
    }
    return lower_quartile(times);
  }
  /// How long `count` messages one after the other take, until an answer comes.
  double stream(int bytes, int count) {
    order({kStream, bytes, count});
    const double begin = now_ns();
    stream_end(bytes, count, true);
    receive(0, kGoTag);
    return now_ns() - begin;
  }
  /// Is a send complete though nobody receives?
  bool is_eager(int bytes, double patience) {
    order({kEager, bytes, 1});
    MPI_Request request = MPI_REQUEST_NULL;
    int done = 0;
    MPI_Isend(buffer_.data(), bytes, MPI_CHAR, peer_, kDataTag, MPI_COMM_WORLD, &request);
    for (const double begin = now_ns(); !done && now_ns() - begin < patience;)
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    send(0, kGoTag);
    if (!done) MPI_Wait(&request, MPI_STATUS_IGNORE);
    return done;
  }
  /// Which part of a message's time is left when both ranks have computed for twice as long?
  double left_after_computing(int bytes, double one_way) {
    order({kOverlap, bytes, static_cast<int>(one_way / 1000)});
    MPI_Request request = MPI_REQUEST_NULL;
    receive(0, kGoTag);  // the receive is posted
    MPI_Isend(buffer_.data(), bytes, MPI_CHAR, peer_, kDataTag, MPI_COMM_WORLD, &request);
    compute(2 * one_way);
    const double begin = now_ns();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    receive(0, kGoTag);  // all has come
    return (now_ns() - begin) / one_way;
  }
  void end() { order({kEnd, 0, 0}); }

  /// The other side: does what it is asked for, until the end.
  void answer() {
    for (;;) {
      LinkOrder order{};
      MPI_Recv(&order, 3, MPI_INT, peer_, kOrderTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (order.work == kEnd) return;
      if (order.work == kStream) {
        stream_end(order.bytes, order.count, false);
        send(0, kGoTag);
        continue;
      }
      const int times = order.work == kOverlap ? 1 : order.count;
      for (int i = 0; i < times; ++i) answer_one(order);
    }
  }

 private:
  static void compute(double ns) {
    for (const double begin = now_ns(); now_ns() - begin < ns;) {
    }
  }
  void order(LinkOrder order) { MPI_Send(&order, 3, MPI_INT, peer_, kOrderTag, MPI_COMM_WORLD); }
  /// Messages one after the other, of which several are under way: long ones wait for their
  /// receives.
  void stream_end(int bytes, int count, bool sends) {
    constexpr int kWindow = 8;
    MPI_Request requests[kWindow];
    for (int i = 0; i < count; ++i) {
      MPI_Request* const request = &requests[i % kWindow];
      if (i >= kWindow) MPI_Wait(request, MPI_STATUS_IGNORE);
      if (sends)
        MPI_Isend(buffer_.data(), bytes, MPI_CHAR, peer_, kDataTag, MPI_COMM_WORLD, request);
      else
        MPI_Irecv(buffer_.data(), bytes, MPI_CHAR, peer_, kDataTag, MPI_COMM_WORLD, request);
    }
    MPI_Waitall(std::min(count, kWindow), requests, MPI_STATUSES_IGNORE);
  }
  void answer_one(const LinkOrder& order) {
    MPI_Request request = MPI_REQUEST_NULL;
    switch (order.work) {
      case kPingPong:
        receive(order.bytes);
        return send(order.bytes);
      case kLateReceive:
        receive(0, kGoTag);
        send(order.bytes);
        return send(0, kGoTag);
      case kEager:
        receive(0, kGoTag);
        return receive(order.bytes);
      default:
        MPI_Irecv(buffer_.data(), order.bytes, MPI_CHAR, peer_, kDataTag, MPI_COMM_WORLD, &request);
        send(0, kGoTag);
        compute(2e3 * order.count);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        send(0, kGoTag);
    }
  }

  const int peer_;
  std::vector<char> buffer_;
};

int count_for(double one) {
  return static_cast<int>(std::clamp(kTimeForEach / std::max(one, 1.0), 3.0, 4000.0));
}

/// The most bytes of an eager message.
int find_eager(LinkEnd* link, double short_way) {
  const double patience = std::max(2e6, 20 * short_way);
  int least = 0, most = 64;
  for (; most < kMostBytes && link->is_eager(most, patience); most *= 2) least = most;
  if (most == kMostBytes && link->is_eager(most, patience)) return most;
  while (most - least > 1) {
    const int middle = least + (most - least) / 2;
    (link->is_eager(middle, patience) ? least : most) = middle;
  }
  return least;
}

/// The sizes of messages, and what is known of them: the least times of all passes.
struct MeasuredSize {
  int bytes;
  MeasuredTimes times;
};

/// Measures one size once more. `estimate`: about how long a message takes, ns.
void measure_size(LinkEnd* link, int eager, double estimate, MeasuredSize* size) {
  const int bytes = size->bytes, count = count_for(2 * estimate), some = std::max(count / 4, 1);
  MeasuredTimes now = link->ping_pong(bytes, count);
  if (bytes > eager)
    now.send = 0;
  else
    now.receive = link->late_receive(bytes, std::min(count, 400));
  const double more = link->stream(bytes, 3 * some) - link->stream(bytes, some);
  now.interval = std::max(more / (2 * some), 0.0);
  MeasuredTimes& least = size->times;
  const bool known = least.one_way > 0;
  for (double MeasuredTimes::*time : {&MeasuredTimes::one_way, &MeasuredTimes::send,
                                      &MeasuredTimes::receive, &MeasuredTimes::interval})
    least.*time = known ? std::min(least.*time, now.*time) : now.*time;
}

/// Prints how much of a message of this size moves while both ranks compute.
void measure_overlap(LinkEnd* link, const char* key, int peer, const MeasuredSize& size,
                     double shortest) {
  const double one_way = size.times.one_way;
  std::vector<double> left;
  for (int i = 0; i < (one_way < kTimeForEach ? 9 : 3); ++i)
    left.push_back(link->left_after_computing(size.bytes, one_way));
  std::sort(left.begin(), left.end());
  const double rest = left[left.size() / 2] - shortest / one_way;
  std::printf("%s %d %.3f %d\n", key, peer, std::clamp(1 - rest, 0.0, 1.0), size.bytes);
}

void measure_overlaps(LinkEnd* link, int peer, int eager, const std::vector<MeasuredSize>& sizes) {
  const MeasuredSize *short_one = &sizes.front(), *long_one = nullptr;
  for (const MeasuredSize& size : sizes) {
    if (size.bytes <= eager) short_one = &size;
    if (size.bytes > eager && (!long_one || size.times.one_way < kTimeForEach)) long_one = &size;
  }
  const double shortest = sizes.front().times.one_way;
  measure_overlap(link, "buffered", peer, *short_one, shortest);
  measure_overlap(link, "overlaps", peer, long_one ? *long_one : *short_one, shortest);
}

void measure_peer(int peer) {
  LinkEnd link(peer);
  link.ping_pong(0, 20);
  link.ping_pong(kMostBytes / 64, 2);  // connects, and maps the buffers
  const int eager = find_eager(&link, link.ping_pong(0, 50).one_way);
  std::printf("eager %d %d\n", peer, eager);
  std::vector<MeasuredSize> sizes;
  for (const int bytes : {0, 8, 64, 256, 512}) sizes.push_back({bytes, {}});
  for (int bytes = 1024; bytes <= kMostBytes; bytes *= 2) sizes.push_back({bytes, {}});
  for (int pass = 0; pass < kPasses; ++pass) {
    double estimate = link.ping_pong(0, 3).one_way;
    for (size_t i = 0; i < sizes.size(); ++i) {
      // Chance matters little for messages that take long.
      if (pass > 1 && sizes[i].times.one_way > kTimeForEach) continue;
      measure_size(&link, eager, estimate, &sizes[i]);
      estimate = sizes[i].times.one_way;
      const bool shows_line = sizes[i].bytes / 3 > eager;
      if (estimate > (shows_line ? kLongest : 10 * kLongest)) sizes.resize(i + 1);
    }
  }
  for (const MeasuredSize& size : sizes) {
    const MeasuredTimes& t = size.times;
    std::printf("sample %d %d %.1f %.1f %.1f %.1f\n", peer, size.bytes, t.one_way, t.send,
                t.receive, t.interval);
  }
  measure_overlaps(&link, peer, eager, sizes);
  link.end();
}

void measure_reduction() {
  const int count = 1 << 15;
  std::vector<double> in(count, 1), out(count, 1), times;
  for (int i = 0; i < 50; ++i) {
    const double begin = now_ns();
    MPI_Reduce_local(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM);
    times.push_back(now_ns() - begin);
  }
  std::printf("reduction %.4g\n", count * sizeof(double) / std::max(lower_quartile(times), 1.0));
}

}  // namespace

int main(int argc, char** argv) {
  int rank = 0, size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    const int peers = std::min(size - 1, kMostPeers);
    for (int i = 1; i <= peers; ++i) measure_peer(i * (size - 1) / peers);
    for (int i = 1; i < size; ++i) {
      bool measured = false;
      for (int k = 1; k <= peers; ++k) measured |= k * (size - 1) / peers == i;
      if (!measured) LinkEnd(i).end();
    }
    measure_reduction();
    std::puts("end");
  } else {
    LinkEnd(0).answer();
  }
  MPI_Finalize();
}
