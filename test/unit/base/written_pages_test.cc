// The pages that were written, beside what the test has written.
#include "base/written_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <random>
#include <vector>

namespace fgmpi {
namespace {

std::vector<bool> written_pages_of(const char* memory, size_t pages) {
  const size_t bytes = machine_page_bytes();
  std::vector<bool> written(pages);
  WrittenPages list;
  EXPECT_TRUE(list.known());
  const auto low = reinterpret_cast<uintptr_t>(memory);
  uintptr_t before = 0;
  EXPECT_TRUE(list.visit(low, low + pages * bytes, [&](uintptr_t first, uintptr_t end) {
    EXPECT_GT(first, before);  // else two runs would be one
    EXPECT_LT(first, end);
    before = end;
    for (uintptr_t at = first; at < end; at += bytes) written[(at - low) / bytes] = true;
  }));
  return written;
}

/// Writes to a quarter of the pages, at random.
std::vector<bool> write_some(char* memory, size_t pages, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<bool> written(pages);
  for (size_t i = 0; i < pages; ++i) {
    if (random() % 4 != 0) continue;
    memory[i * machine_page_bytes() + random() % machine_page_bytes()] = 1;
    written[i] = true;
  }
  return written;
}

/// Reads a byte of each page; returns how many are not zero.
size_t read_all(const char* memory, size_t pages) {
  size_t count = 0;
  for (size_t i = 0; i < pages; ++i) count += memory[i * machine_page_bytes()] != 0;
  return count;
}

TEST(WrittenPages, OfAnonymousMemory) {
  constexpr size_t kPages = 5000;
  const size_t bytes = kPages * machine_page_bytes();
  auto* memory = static_cast<char*>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  std::vector<bool> written = write_some(memory, kPages, 5);
  EXPECT_EQ(written_pages_of(memory, kPages), written);
  // Pages that were given back are as if they had never been written.
  madvise(memory + 100 * machine_page_bytes(), 1000 * machine_page_bytes(), MADV_DONTNEED);
  std::fill(written.begin() + 100, written.begin() + 1100, false);
  EXPECT_EQ(written_pages_of(memory, kPages), written);
  munmap(memory, bytes);
}

TEST(WrittenPages, OfAPrivateMappingOfAFile) {
  constexpr size_t kPages = 200;
  const size_t bytes = kPages * machine_page_bytes();
  const int fd = memfd_create("written_pages_test", 0);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
  auto* memory =
      static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_EQ(read_all(memory, kPages), 0u);
  const std::vector<bool> written = write_some(memory, kPages, 11);
  EXPECT_EQ(written_pages_of(memory, kPages), written);
  munmap(memory, bytes);
  close(fd);
}

TEST(WrittenPages, OfNoMemoryAreNone) {
  const std::vector<bool> written =
      written_pages_of(reinterpret_cast<char*>(uintptr_t{1} << 44), 3000);
  EXPECT_EQ(written, std::vector<bool>(3000));
}

}  // namespace
}  // namespace fgmpi
