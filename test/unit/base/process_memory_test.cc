// Compares transfers by the kernel with copies, in this process and in a child, at the edges of
// memory that cannot be read.
#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <vector>

#include "base/page.h"
#include "base/process_memory.h"

namespace fgmpi {
namespace {

const size_t kPage = machine_page_bytes();

uint64_t address_of(const void* there) { return reinterpret_cast<uint64_t>(there); }

/// Three pages, of which the last cannot be read or written.
class GuardedPages {
 public:
  GuardedPages() {
    pages_ = static_cast<char*>(
        mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(pages_ + kUsable, kPage, PROT_NONE);
    for (size_t i = 0; i < kUsable; ++i) pages_[i] = static_cast<char>(i * 7 + i / 256);
  }
  ~GuardedPages() { munmap(pages_, 3 * kPage); }
  GuardedPages(const GuardedPages&) = delete;
  static inline const size_t kUsable = 2 * kPage;
  char* begin() { return pages_; }
  char* end() { return pages_ + kUsable; }

 private:
  char* pages_;
};

/// A child process that has a copy of this one's memory and waits.
class WaitingChild {
 public:
  WaitingChild() : pid_(fork()) {
    if (pid_ == 0)
      for (;;) pause();
  }
  ~WaitingChild() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  WaitingChild(const WaitingChild&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(ProcessMemory, ReadsAllOrNothing) {
  GuardedPages pages;
  const ProcessMemory self(getpid());
  std::vector<char> out(kPage + 10);
  EXPECT_TRUE(self.read(address_of(pages.begin() + 5), out.data(), out.size()));
  EXPECT_EQ(memcmp(out.data(), pages.begin() + 5, out.size()), 0);
  EXPECT_FALSE(self.read(address_of(pages.end() - 1), out.data(), 2));
  EXPECT_TRUE(self.read(address_of(pages.end() - 1), out.data(), 1));
  EXPECT_FALSE(self.read(address_of(pages.end()), out.data(), 1));
  EXPECT_EQ(errno, EFAULT);
  EXPECT_FALSE(self.read(0, out.data(), 1));
}

TEST(ProcessMemory, ReadsLongOnesUpToTheFirstThatIsMissing) {
  GuardedPages pages;
  const ProcessMemory self(getpid());
  std::vector<char> out(3 * kPage);
  EXPECT_EQ(self.read_long(address_of(pages.begin()), out.data(), GuardedPages::kUsable),
            GuardedPages::kUsable);
  EXPECT_EQ(memcmp(out.data(), pages.begin(), GuardedPages::kUsable), 0);
  EXPECT_EQ(self.read_long(address_of(pages.begin()), out.data(), 0), 0u);
  EXPECT_EQ(self.read_long(address_of(pages.begin() + 9), out.data(), GuardedPages::kUsable),
            GuardedPages::kUsable - 9);
  EXPECT_EQ(errno, EFAULT);
}

TEST(ProcessMemory, MovesPiecesLikeCopies) {
  GuardedPages pages;
  std::mt19937 random(11);
  const WaitingChild child;
  for (const pid_t process : {getpid(), child.pid()}) {
    const ProcessMemory memory(process);
    for (int round = 0; round < 200; ++round) {
      // `there` is what the process has: a copy of it is the model.
      std::vector<char> model(GuardedPages::kUsable), here(GuardedPages::kUsable);
      ASSERT_TRUE(memory.read(address_of(pages.begin()), model.data(), model.size()));
      for (char& c : here) c = static_cast<char>(random());
      std::vector<char> wanted = here;
      std::vector<iovec> local, remote;
      const bool reads = random() % 2;
      size_t at = random() % 50, to = random() % 50;
      while (local.size() < 20) {
        const size_t bytes = 1 + random() % 300;
        local.push_back({here.data() + to, bytes});
        remote.push_back({pages.begin() + at, bytes});
        if (reads)
          memcpy(wanted.data() + to, model.data() + at, bytes);
        else
          memcpy(model.data() + at, here.data() + to, bytes);
        at += bytes + random() % 60;
        to += bytes + random() % 60;
      }
      MemoryPieces pieces{local.data(), remote.data(), local.size()};
      ASSERT_TRUE(
          memory.move(reads ? ProcessMemory::Move::kRead : ProcessMemory::Move::kWrite, &pieces));
      EXPECT_EQ(pieces.count, 0u);
      EXPECT_EQ(here, wanted);
      std::vector<char> now(GuardedPages::kUsable);
      ASSERT_TRUE(memory.read(address_of(pages.begin()), now.data(), now.size()));
      EXPECT_EQ(now, model);
    }
  }
}

TEST(ProcessMemory, NamesThePieceThatFails) {
  GuardedPages pages;
  std::vector<char> here(4 * kPage);
  for (const auto what : {ProcessMemory::Move::kRead, ProcessMemory::Move::kWrite}) {
    iovec local[] = {{here.data(), 100}, {here.data() + 100, 200}, {here.data() + 300, 50}};
    iovec remote[] = {{pages.begin(), 100}, {pages.end() - 120, 200}, {pages.begin(), 50}};
    MemoryPieces pieces{local, remote, 3};
    EXPECT_FALSE(ProcessMemory(getpid()).move(what, &pieces));
    EXPECT_EQ(errno, EFAULT);
    EXPECT_EQ(pieces.count, 2u);
    // The kernel may have moved what lies before the guarded page.
    EXPECT_EQ(static_cast<char*>(pieces.remote->iov_base) + pieces.remote->iov_len,
              pages.end() + 80);
    EXPECT_EQ(pieces.remote->iov_len, pieces.local->iov_len);
  }
}

TEST(ProcessMemory, FailsForProcessesThatHaveEnded) {
  pid_t pid = 0;
  {
    const WaitingChild child;
    pid = child.pid();
  }
  char byte = 0;
  EXPECT_FALSE(ProcessMemory(pid).read(address_of(&byte), &byte, 1));
  EXPECT_EQ(errno, ESRCH);
}

}  // namespace
}  // namespace fgmpi
