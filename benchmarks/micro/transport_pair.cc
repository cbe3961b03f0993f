// Half round trip, message rate and bandwidth of a transport alone, between two processes on two
// cores (nothing of MPI above it).
//   usage: transport_pair [shm|ofi [repeats]]      prints one line a measurement, the best of the
//     repeats
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "transport/registry.h"

using namespace fgmpi::transport;

namespace {

struct Count final : FrameSink, MemorySink {
  uint64_t frames = 0, reads = 0;
  char* into = nullptr;
  void deliver(const Header& header, const void* payload, size_t length) override {
    if (length) std::memcpy(into + header.addr, payload, length);
    ++frames;
  }
  void returned(void*) override {}  // this program lends nothing
  void read_done(uint64_t, fgmpi::Status status) override {
    if (status.ok()) ++reads;
  }
  void accessed(uint64_t, fgmpi::Status) override {}  // and accesses nothing
  void peer_failed(uint32_t process, const std::string& why) override {
    std::fprintf(stderr, "process %u: %s\n", process, why.c_str());
    std::exit(1);
  }
};

struct End {
  std::unique_ptr<Transport> transport;
  Count sink;
  std::vector<char> from = std::vector<char>(32 << 20, 1), to = std::vector<char>(32 << 20, 2);
  uint64_t peer = 0;
  uint32_t me = 0;

  void send(size_t length, uint64_t offset = 0) {
    Header h{};
    h.src_process = me;
    h.addr = offset;
    while (!transport->try_send(1 - me, peer, h, from.data() + offset, length)) transport->poll();
  }
  void await(uint64_t frames) {
    while (sink.frames < frames)
      if (!transport->poll()) __builtin_ia32_pause();
    sink.frames -= frames;
  }
};

void require(const fgmpi::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.what().c_str());
  std::exit(1);
}

double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

double ping_pong(End& e, size_t length, int rounds) {
  double start = now();
  for (int i = 0; i < rounds; ++i) {
    if (e.me == 0) e.send(length);
    e.await(1);
    if (e.me == 1) e.send(length);
  }
  return (now() - start) / rounds / 2;
}

/// Seconds a frame, one way.
double stream(End& e, size_t length, int frames) {
  double start = now();
  if (e.me == 0) {
    for (int i = 0; i < frames; ++i) e.send(length);
    e.await(1);
  } else {
    e.await(frames);
    e.send(0);
  }
  return (now() - start) / frames;
}

/// Seconds a message that is cut into frames of the largest size.
double large(End& e, size_t bytes, int messages) {
  size_t chunk = e.transport->max_payload(), chunks = (bytes + chunk - 1) / chunk;
  double start = now();
  for (int i = 0; i < messages; ++i) {
    if (e.me == 0) {
      for (size_t at = 0; at < bytes; at += chunk) e.send(std::min(chunk, bytes - at), at);
      e.await(1);
    } else {
      e.await(chunks);
      e.send(0);
    }
  }
  return (now() - start) / messages;
}

/// Seconds a message that the receiver reads out of the sender's memory.
double pull(End& e, uint64_t remote, size_t bytes, int messages) {
  double start = now();
  for (int i = 0; i < messages; ++i) {
    if (e.me == 0) {
      e.send(8);
      e.await(1);
    } else {
      e.await(1);
      ReadResult result =
          e.transport->memory_reader()->read(0, e.peer, remote, e.to.data(), bytes, 0);
      for (e.sink.reads = 0; result == ReadResult::kPending && e.sink.reads == 0;)
        e.transport->poll();
      if (result == ReadResult::kUnsupported || result == ReadResult::kFailed) std::exit(1);
      e.send(8);
    }
  }
  return (now() - start) / messages;
}

}  // namespace

int main(int argc, char** argv) {
  std::string which = argc > 1 ? argv[1] : "shm";
  int repeats = argc > 2 ? std::atoi(argv[2]) : 5;
  if ((which != "shm" && which != "ofi") || repeats < 1) {
    std::fprintf(stderr, "usage: transport_pair [shm|ofi [repeats]]\n");
    return 2;
  }
  setenv("FGMPI_SHM_READ_MIN", "0", 1);
  int pipes[2][2];
  if (pipe(pipes[0]) || pipe(pipes[1])) return 1;
  End* e = new End;
  e->transport = make(which);
  e->sink.into = e->to.data();
  pid_t child = fork();
  e->me = child == 0;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(e->me, &cpus);
  sched_setaffinity(0, sizeof cpus, &cpus);
  std::string address;
  require(e->transport->open({&e->sink, &e->sink}, &address));
  address.resize(256);
  std::string other(256, '\0');
  uint64_t remote = reinterpret_cast<uint64_t>(e->from.data());
  if (write(pipes[e->me][1], address.data(), 256) != 256 ||
      read(pipes[1 - e->me][0], other.data(), 256) != 256)
    return 1;
  require(e->transport->add_peer(1 - e->me, other.c_str(), &e->peer));
  auto best = [&](auto&& f) {
    double least = 1e9;
    for (int i = 0; i < repeats; ++i) least = std::min(least, f());
    return least;
  };
  int rounds = which == "shm" ? 20000 : 2000;
  for (size_t length : {0, 8, 16, 64, 256, 1024, 4096, 16000}) {
    double t = best([&] { return ping_pong(*e, length, rounds); });
    double r = best([&] { return stream(*e, length, 5 * rounds); });
    if (!e->me)
      std::printf("%6zu bytes  half round trip %8.1f ns  rate %7.2f M/s  %8.1f MB/s\n", length,
                  t * 1e9, 1e-6 / r, length / r * 1e-6);
  }
  for (size_t bytes : {32 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20}) {
    int messages = std::max<int>(10, (64 << 20) / bytes);
    double c = best([&] { return large(*e, bytes, messages); });
    double p = best([&] { return pull(*e, remote, bytes, messages); });
    if (!e->me)
      std::printf("%8zu bytes  frames %8.1f us %8.1f MB/s   pull %8.1f us %8.1f MB/s\n", bytes,
                  c * 1e6, bytes / c * 1e-6, p * 1e6, bytes / p * 1e-6);
  }
  e->transport->close();
  if (child) waitpid(child, nullptr, 0);
  std::fflush(stdout);
  _exit(0);
}
