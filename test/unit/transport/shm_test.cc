#include "transport/shm/shm.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/page.h"
#include "exchange.h"
#include "transport/registry.h"
#include "transport/shm/doorbell.h"
#include "transport/shm/placement.h"

namespace fgmpi::transport {
namespace {

using namespace testing;

/// The number of this library's files in /dev/shm that belong to this test's processes.
int files_in_dev_shm(const std::string& name) {
  int count = 0;
  if (DIR* dir = opendir("/dev/shm")) {
    while (dirent* entry = readdir(dir)) count += "/" + std::string(entry->d_name) == name;
    closedir(dir);
  }
  return count;
}

TEST(Shm, AllPairsRandomSizes) {
  expect_all_good(run_job(4, [](Member& m) {
    m.connect(make("shm"));
    all_pairs(m, 1500, 1);
    m.t->close();
  }));
}

TEST(Shm, AllPairsThroughTinyRings) {
  Setting cells("FGMPI_SHM_CELLS", "64"), bulk("FGMPI_SHM_BULK", "4k");
  expect_all_good(run_job(3, [](Member& m) {
    m.connect(make("shm"));
    all_pairs(m, 2000, 2);
    m.t->close();
  }));
}

TEST(Shm, AllPairsThroughAFileInsteadOfAMemfd) {
  Setting backing("FGMPI_SHM_BACKING", "shm");
  expect_all_good(run_job(3, [](Member& m) {
    m.connect(make("shm"));
    all_pairs(m, 1000, 3);
    m.t->close();
  }));
}

/// Asks the kernel for the policy and the node of a page; returns false where it has no memory
/// policies.
bool policy_of(void* page, int* mode, unsigned long* node) {
  unsigned long mask[1024 / (8 * sizeof(unsigned long))] = {};
  if (syscall(SYS_get_mempolicy, mode, mask, 1025, page, MPOL_F_ADDR)) return false;
  *node = 0;
  for (size_t word = 0; word < std::size(mask); ++word)
    if (mask[word]) *node = word * 8 * sizeof mask[0] + std::countr_zero(mask[word]);
  return true;
}

TEST(Shm, RingsLieOnTheReceiversNode) {
  for (bool memfd : {true, false}) {
    shm::OwnSegment own;
    shm::Geometry geometry{64, 64 << 10};
    int node = shm::own_node();
    ASSERT_TRUE(own.create(geometry, memfd).ok());
    int mode = -1, fd = -1;
    unsigned long preferred = 0;
    shm::SegmentHeader* header = nullptr;
    shm::Geometry found;
    void* ring = nullptr;
    ASSERT_TRUE(shm::open_peer(own.name(), &fd, &header, &found).ok());
    EXPECT_EQ(found.cells, geometry.cells);
    EXPECT_EQ(found.bulk, geometry.bulk);
    ASSERT_TRUE(shm::map_ring(fd, geometry, 7, own.name(), &ring).ok());
    close(fd);
    if (!policy_of(ring, &mode, &preferred) || !shm::prefer_node(own.ring(9), page_bytes(), node)) {
      GTEST_SKIP() << "the kernel has or permits no memory policies here";
    }
    // The sender's mapping has the policy that the owner gave to the segment. None of its pages has
    // been touched yet.
    EXPECT_EQ(mode, MPOL_PREFERRED);
    if (node == shm::own_node()) {
      EXPECT_EQ(static_cast<int>(preferred), node);
    }
    static_cast<char*>(ring)[100] = 1;
    int lies_on = -1;
    ASSERT_EQ(syscall(SYS_get_mempolicy, &lies_on, nullptr, 0, ring, MPOL_F_ADDR | MPOL_F_NODE), 0);
    EXPECT_EQ(lies_on, static_cast<int>(preferred));
    shm::unmap_ring(ring, geometry);
    shm::unmap_control(header);
  }
  EXPECT_FALSE(shm::prefer_node(nullptr, page_bytes(), -1));
  EXPECT_FALSE(shm::prefer_node(nullptr, page_bytes(), 1 << 20));
}

TEST(Shm, AFileIsGoneWhenItsOwnerIsKilledBeforeAllHaveIt) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    shm::OwnSegment own;
    if (!own.create({64, 64 << 10}, false).ok()) _exit(1);
    std::string name = own.name().file();
    if (write(ends[1], name.data(), name.size()) < 0) _exit(1);
    kill(getpid(), SIGKILL);
  }
  char name[100] = "";
  ASSERT_GT(read(ends[0], name, sizeof name - 1), 10);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  for (int i = 0; i < 200 && files_in_dev_shm(name); ++i) usleep(10'000);
  EXPECT_EQ(files_in_dev_shm(name), 0);
  close(ends[0]);
  close(ends[1]);
}

TEST(Shm, FullRingPushesBackAndLosesNothing) {
  expect_all_good(run_job(2, [](Member& m) {
    m.connect(make("shm"));
    uint64_t refused_at = 0;
    if (m.rank == 0) {
      while (m.try_send(1, refused_at, "12345678")) ++refused_at;
      REQUIRE(refused_at >= 64);
      for (int i = 0; i < 100; ++i) REQUIRE(!m.try_send(1, refused_at, "12345678"));
      m.board->numbers[0] = refused_at;
    }
    m.meet();
    if (m.rank == 1) {
      while (m.t->poll()) {
      }
      REQUIRE(m.sink.frames.size() == m.board->numbers[0]);
      for (size_t i = 0; i < m.sink.frames.size(); ++i)
        REQUIRE(m.sink.frames[i].header.cookie == i);
    }
    m.meet();
    if (m.rank == 0) {
      REQUIRE(m.t->poll());  // true: there is room again
      REQUIRE(m.try_send(1, refused_at, "12345678"));
    }
    m.t->close();
  }));
}

TEST(Shm, SleeperIsWokenForEveryMessage) {
  Setting spin("FGMPI_SPIN", "0");
  for (const char* barrier : {"on", "off"}) {
    Setting setting("FGMPI_SHM_MEMBARRIER", barrier);
    expect_all_good(run_job(2, [](Member& m) {
      m.connect(make("shm"));
      sleeping_ping_pong(m, 20000);
    }));
  }
}

TEST(Shm, SleeperOnADescriptorIsWokenForEveryMessage) {
  Setting spin("FGMPI_SPIN", "0");
  expect_all_good(run_job(2, [](Member& m) {
    m.connect(make("shm"));
    REQUIRE(m.t->wait_fd() == -1 && m.t->use_wait_fd() >= 0 && m.t->wait_fd() >= 0);
    sleeping_ping_pong(m, 20000);
  }));
}

TEST(Shm, ALateRingEndsOneSleepOnly) {
  Keeper sink;
  shm::Shm mine;
  std::string address;
  ASSERT_TRUE(mine.open({&sink, &sink}, &address).ok());
  shm::SegmentName name;
  ASSERT_TRUE(name.parse(address));
  int fd, wake_up = mine.use_wait_fd();
  shm::SegmentHeader* header;
  shm::Geometry geometry;
  ASSERT_TRUE(shm::open_peer(name, &fd, &header, &geometry).ok());
  close(fd);
  auto readable = [&] {
    pollfd p{wake_up, POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
  };
  // A peer rings in two steps, and the owner wakes for another reason between them.
  ASSERT_TRUE(mine.arm());
  ASSERT_EQ(header->armed.exchange(shm::kAwake), uint32_t{shm::kOnPipe});
  mine.disarm();
  char byte = 1;
  ASSERT_EQ(write(header->pipe.load(), &byte, 1), 1);
  ASSERT_TRUE(mine.arm());
  EXPECT_TRUE(readable());
  mine.disarm();
  ASSERT_TRUE(mine.arm());
  EXPECT_FALSE(readable());
  mine.disarm();
  shm::unmap_control(header);
}

TEST(Shm, RingingASleeperThatHasEndedRaisesNoSignal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t sleeper = fork();
  if (sleeper == 0) {
    pause();
    _exit(0);
  }
  close(ends[0]);  // only the sleeper has the reading end now
  close(ends[1]);
  shm::SegmentHeader header{};
  header.armed = shm::kOnPipe;
  header.pipe = ends[1];
  int own = -1;
  shm::ring(&header, sleeper, &own);
  EXPECT_GE(own, 0);
  kill(sleeper, SIGKILL);
  waitpid(sleeper, nullptr, 0);
  struct sigaction none {};
  none.sa_handler = SIG_DFL;
  sigaction(SIGPIPE, &none, nullptr);
  header.armed = shm::kOnPipe;
  shm::ring(&header, sleeper, &own);  // SIGPIPE would end the test
  close(own);
}

TEST(Shm, ShortSpinsBeforeSleeping) {
  Setting spin("FGMPI_SPIN", "2");
  expect_all_good(run_job(2, [](Member& m) {
    m.connect(make("shm"));
    sleeping_ping_pong(m, 20000);
  }));
}

TEST(Shm, SenderThatSleepsIsWokenForRoom) {
  expect_all_good(run_job(2, [](Member& m) {
    m.connect(make("shm"));
    sender_sleeps_for_room(m);
  }));
}

TEST(Shm, IdleCostsNothing) {
  expect_all_good(run_job(2, [](Member& m) {
    m.connect(make("shm"));
    idle_costs_nothing(m);
  }));
}

TEST(Shm, ReadsAPeersMemory) {
  for (const char* setting : {"on", "off"}) {
    Setting cma("FGMPI_SHM_CMA", setting), least("FGMPI_SHM_READ_MIN", "0");
    bool on = std::string(setting) == "on";
    expect_all_good(run_job(2, [&](Member& m) {
      std::string mine(3'000'000, static_cast<char>('a' + m.rank)), theirs(mine.size(), '\0');
      m.board->numbers[m.rank] = reinterpret_cast<uint64_t>(mine.data());
      m.connect(make("shm"));
      int other = 1 - m.rank;
      uint64_t remote = m.board->numbers[other];
      ReadResult result = m.t->memory_reader()->read(other, m.peers[other], remote + 1,
                                                     theirs.data(), theirs.size() - 1, 7);
      if (!on || result == ReadResult::kUnsupported) {
        REQUIRE(result == ReadResult::kUnsupported);
      } else {
        REQUIRE(result == ReadResult::kDone);
        REQUIRE(theirs == std::string(mine.size() - 1, static_cast<char>('a' + other)) + '\0');
        REQUIRE(m.t->memory_reader()->read(other, m.peers[other], 4096, theirs.data(), 100, 7) ==
                ReadResult::kFailed);
      }
      m.meet();
    }));
  }
}

TEST(Shm, ReadsMoreThanTheKernelMovesAtOnce) {
  constexpr size_t kBytes = (size_t{9} << 28) + 12345;  // 2.25 GiB
  const auto body = [&](Member& m) {
    char* memory = static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    REQUIRE(memory != MAP_FAILED);
    if (m.rank == 0) {
      m.board->numbers[0] = reinterpret_cast<uint64_t>(memory);
      for (size_t i = 0; i < kBytes; i += 4096 * 97) memory[i] = static_cast<char>(i >> 12);
      memory[kBytes - 1] = 'e';
    }
    m.connect(make("shm"));
    if (m.rank == 1) {
      ReadResult result =
          m.t->memory_reader()->read(0, m.peers[0], m.board->numbers[0], memory, kBytes, 0);
      if (result != ReadResult::kUnsupported) {
        REQUIRE(result == ReadResult::kDone);
        for (size_t i = 0; i < kBytes; i += 4096 * 97)
          REQUIRE(memory[i] == static_cast<char>(i >> 12));
        REQUIRE(memory[kBytes - 1] == 'e');
      }
    }
    m.meet();
  };
  // The limit is longer than in other tests: some virtual machines need 6 s for a GiB of new
  // memory.
  expect_all_good(run_job(2, body, 300));
}

TEST(Shm, KilledPeerIsReportedAfterItsLastFrames) {
  auto status = run_job(3, [](Member& m) {
    m.connect(make("shm"));
    if (m.rank == 2) {
      for (int i = 0; i < 50; ++i) m.send(0, i, "last words");
      m.send(1, 0, "");
      kill(getpid(), SIGKILL);
    }
    if (m.rank == 1) m.send(0, 0, "");
    m.wait_for_a_failure();
    REQUIRE(m.sink.failures.size() == 1 && m.sink.failures[0].first == 2);
    REQUIRE(m.sink.failures[0].second.find("of this host has ended") != std::string::npos);
    const auto frames_of = [&m](uint32_t process) {
      return std::count_if(m.sink.frames.begin(), m.sink.frames.end(),
                           [=](const auto& f) { return f.header.src_process == process; });
    };
    REQUIRE(frames_of(2) == (m.rank == 0 ? 50 : 1));
    // Frames to a process that has ended are dropped, not queued.
    for (int i = 0; i < 1000; ++i) REQUIRE(m.try_send(2, i, "anybody?"));
    // The frame of process 1 may arrive later. Before it does, process 0 must not end: process 1
    // could not open its memory any more.
    while (m.rank == 0 && frames_of(1) == 0) m.t->poll();
    m.t->close();
  });
  EXPECT_TRUE(WIFSIGNALED(status[2]));
  expect_all_good({status[0], status[1]});
}

TEST(Shm, FinishedPeerIsNotAFailure) {
  expect_all_good(run_job(2, [](Member& m) {
    m.connect(make("shm"));
    if (m.rank == 1) {
      m.send(0, 0, "bye");
      m.t->close();
      _exit(0);
    }
    usleep(100'000);
    for (int i = 0; i < 5; ++i) m.t->tick();
    m.t->poll();
    REQUIRE(m.sink.frames.size() == 1 && m.sink.failures.empty());
  }));
}

TEST(Shm, MemfdHasNoNameAndAFileIsPrivateAndSoonGone) {
  shm::OwnSegment segment;
  shm::Geometry geometry{64, 4096};
  ASSERT_TRUE(segment.create(geometry, true).ok());
  EXPECT_EQ(files_in_dev_shm(segment.name().file()), 0);
  segment.close();
  shm::OwnSegment file;
  ASSERT_TRUE(file.create(geometry, false).ok());
  EXPECT_EQ(files_in_dev_shm(file.name().file()), 1);
  struct stat info;
  ASSERT_EQ(stat(("/dev/shm" + file.name().file()).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  file.unlink();
  EXPECT_EQ(files_in_dev_shm(segment.name().file()), 0);
}

TEST(Shm, AddressesAreStrict) {
  shm::SegmentName name;
  for (const char* bad :
       {"", "shm3:", "ofi2:00", "shm3:ab:1:2:3", "shm3:ab:0:3:00000000000000010000000000000002",
        "shm3:ab:5:-3:00000000000000010000000000000002",
        "shm3:ab:5:3:00000000000000010000000000000002x",
        "shm3:ab: 5:3:00000000000000010000000000000002",
        "shm3:ab:+5:3:00000000000000010000000000000002",
        "shm3:ab:5:3:0x000000000000010000000000000002",
        "shm3:ab:5:-1:00000000000000010000000000000002",
        "shm3::5:3:00000000000000010000000000000002",
        "shm3:ab:4294967301:3:00000000000000010000000000000002",
        "shm3:ab:5:3:00000000000000010000000000000002:",
        // Addresses of earlier versions.
        "shm2:ab:5:3:00000000000000010000000000000002"})
    EXPECT_FALSE(name.parse(bad)) << bad;
  ASSERT_TRUE(name.parse("shm3:ab:5:3:00000000000000010000000000000002"));
  EXPECT_EQ(name.to_string(), "shm3:ab:5:3:00000000000000010000000000000002");
  EXPECT_EQ(name.nonce[1], 2u);
}

TEST(Shm, SegmentOfAStrangerIsRefused) {
  Keeper sink, other_sink;
  shm::Shm mine, other;
  std::string address, other_address;
  ASSERT_TRUE(mine.open({&sink, &sink}, &address).ok());
  ASSERT_TRUE(other.open({&other_sink, &other_sink}, &other_address).ok());
  EXPECT_TRUE(mine.reaches(other_address));
  other_address.back() = other_address.back() == '0' ? '1' : '0';
  uint64_t peer;
  ASSERT_TRUE(mine.add_peer(1, other_address, &peer).ok());
  EXPECT_TRUE(mine.try_send(1, peer, Header{}, nullptr, 0));
  mine.poll();
  ASSERT_EQ(sink.failures.size(), 1u);
  EXPECT_NE(sink.failures[0].second.find("not the published one"), std::string::npos);
  {
    Setting host("FGMPI_HOST_ID", "elsewhere");
    shm::Shm far;
    std::string far_address;
    ASSERT_TRUE(far.open({&other_sink, &other_sink}, &far_address).ok());
    EXPECT_FALSE(mine.reaches(far_address));
  }
}

/// Bytes of this process's mappings of memfds.
size_t mapped_of_memfds() {
  size_t bytes = 0;
  char line[512];
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  while (std::fgets(line, sizeof line, maps)) {
    unsigned long low, high;
    if (std::strstr(line, "memfd:fgmpi") && std::sscanf(line, "%lx-%lx", &low, &high) == 2)
      bytes += high - low;
  }
  std::fclose(maps);
  return bytes;
}

TEST(Shm, GeometryThatAPeerChangesLaterIsNotUsed) {
  shm::Geometry lies[] = {{64, 4096}, {1 << 16, 64 << 20}, {0, 0}, {~0u, ~0u}};
  for (shm::Geometry lie : lies) {
    Keeper sink, other_sink;
    shm::Shm other;
    std::string other_address;
    ASSERT_TRUE(other.open({&other_sink, &other_sink}, &other_address).ok());
    shm::SegmentName name;
    ASSERT_TRUE(name.parse(other_address));
    int fd;
    shm::SegmentHeader* header;
    shm::Geometry geometry;
    ASSERT_TRUE(shm::open_peer(name, &fd, &header, &geometry).ok());
    close(fd);
    const size_t before = mapped_of_memfds();
    {
      shm::Shm mine;
      std::string address;
      uint64_t peer;
      ASSERT_TRUE(mine.open({&sink, &sink}, &address).ok());
      ASSERT_TRUE(mine.add_peer(1, other_address, &peer).ok());
      EXPECT_TRUE(mine.try_send(1, peer, Header{}, "12345678", 8));
      EXPECT_TRUE(sink.failures.empty());
      header->geometry = lie;
      EXPECT_TRUE(mine.try_send(1, peer, Header{}, "12345678", 8));
    }
    // The transport has unmapped its own mappings exactly: neither less, nor neighbouring mappings.
    EXPECT_EQ(mapped_of_memfds(), before) << lie.cells << ' ' << lie.bulk;
    int again;
    shm::SegmentHeader* refused;
    if (lie.cells != 64 && lie.cells != 1 << 16) {
      EXPECT_FALSE(shm::open_peer(name, &again, &refused, &geometry).ok());
    }
    shm::unmap_control(header);
  }
}

TEST(Shm, MalformedFramesAreRefusedAndCounted) {
  Keeper sink;
  shm::Shm mine;
  std::string address;
  ASSERT_TRUE(mine.open({&sink, &sink}, &address).ok());
  shm::SegmentName name;
  ASSERT_TRUE(name.parse(address));
  uint64_t peer;
  ASSERT_TRUE(mine.add_peer(0, address, &peer).ok());
  // The test plays a peer that claims slot 0 and writes arbitrary data.
  int fd;
  shm::SegmentHeader* header;
  shm::Geometry geometry;
  ASSERT_TRUE(shm::open_peer(name, &fd, &header, &geometry).ok());
  void* ring;
  ASSERT_TRUE(shm::map_ring(fd, geometry, 0, name, &ring).ok());
  close(fd);
  header->claimed = 1;
  shm::SlotControl* slot = &shm::slot_controls(header)[0];
  slot->sender.process = 77;  // no process has this number
  slot->sender.pid = getpid();
  slot->sender.ready = shm::kReady;
  shm::RingWriter writer(ring, &slot->credits, geometry);
  Header h{};
  writer.push(h, "12345678", 8);
  for (int i = 0; i < 3; ++i) mine.poll();
  EXPECT_TRUE(sink.frames.empty());
  slot->sender.process = 0;
  for (int i = 0; i < 3; ++i) mine.poll();
  EXPECT_EQ(sink.frames.size(), 1u);
  h.src_process = 5;  // another process than the ring's
  writer.push(h, "12345678", 8);
  mine.poll();
  EXPECT_EQ(mine.refused(), 1u);
  EXPECT_EQ(sink.frames.size(), 1u);
  static_cast<shm::Cell*>(ring)[2].word = uint64_t{3} << 32 | 0xfffffff0u;
  for (int i = 0; i < 3; ++i) mine.poll();
  EXPECT_EQ(mine.refused(), 2u);
  ASSERT_EQ(sink.failures.size(), 1u);
  EXPECT_NE(sink.failures[0].second.find("impossible length"), std::string::npos);
  EXPECT_TRUE(mine.arm());  // a broken ring does not prevent sleep
  mine.disarm();
  shm::unmap_ring(ring, geometry);
  shm::unmap_control(header);
}

}  // namespace
}  // namespace fgmpi::transport
