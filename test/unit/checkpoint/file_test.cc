// Files of checkpoints: what was written is read again, and any damage is found and named.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/file/folder.h"
#include "checkpoint/file/page_list.h"
#include "checkpoint/file/reader.h"
#include "checkpoint/file/writer.h"

namespace fgmpi::checkpoint {
namespace {

namespace fs = std::filesystem;

class CheckpointFiles : public testing::Test {
 protected:
  void SetUp() override {
    char made[] = "/tmp/fgmpi-checkpoint-XXXXXX";
    folder_ = mkdtemp(made);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string folder_;
};

CheckpointHeader header_of(uint32_t process, uint32_t processes, uint64_t number) {
  CheckpointHeader h = {};
  h.process = process;
  h.processes = processes;
  h.first_rank = process * 3;
  h.ranks = 3;
  h.world_ranks = processes * 3;
  h.number = number;
  return h;
}

/// Memory with runs of zeros, of one value and of noise.
std::vector<char> memory_of(std::mt19937* random, size_t bytes) {
  std::vector<char> memory(bytes);
  for (size_t at = 0; at < bytes;) {
    const size_t run = std::min<size_t>(bytes - at, 1 + (*random)() % 30'000);
    const unsigned kind = (*random)() % 3;
    for (size_t i = 0; i < run && kind > 0; ++i)
      memory[at + i] = static_cast<char>(kind == 1 ? 7 : (*random)());
    at += run;
  }
  return memory;
}

Status read_all(const std::string& path, std::map<uint64_t, std::vector<char>>* memory) {
  CheckpointReader reader;
  FGMPI_TRY(reader.open(path));
  for (CheckpointBlock block;;) {
    FGMPI_TRY(reader.next(&block));
    if (block.kind == BlockKind::kEnd) return {};
    if (memory) (*memory)[block.address] = block.bytes;
  }
}

std::string written(const std::string& path, const std::vector<char>& memory, uint64_t address) {
  CheckpointWriter writer;
  EXPECT_TRUE(writer.open(path, header_of(0, 1, 5)).ok());
  EXPECT_TRUE(writer.write(BlockKind::kJob, 0, 0, "job", 3).ok());
  EXPECT_TRUE(writer.write(BlockKind::kMemory, 1, address, memory.data(), memory.size()).ok());
  EXPECT_TRUE(writer.finish().ok());
  EXPECT_EQ(writer.bytes_written(), fs::file_size(path));
  return path;
}

TEST_F(CheckpointFiles, GiveBackWhatWasWritten) {
  std::mt19937 random(1);
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{300'001}, size_t{2'000'000}}) {
    const std::vector<char> memory = memory_of(&random, bytes);
    constexpr uint64_t kAddress = 0x10000000;
    const std::string path = written(folder_ + "/" + std::to_string(bytes), memory, kAddress);
    std::map<uint64_t, std::vector<char>> blocks;
    const Status s = read_all(path, &blocks);
    ASSERT_TRUE(s.ok()) << s.what();
    ASSERT_EQ(blocks[0], (std::vector<char>{'j', 'o', 'b'}));
    blocks.erase(0);
    std::vector<char> back(bytes);
    for (const auto& [address, block] : blocks) {
      ASSERT_LE(address - kAddress + block.size(), bytes);
      std::copy(block.begin(), block.end(),
                back.begin() + static_cast<ptrdiff_t>(address - kAddress));
    }
    EXPECT_EQ(back, memory);
  }
}

TEST_F(CheckpointFiles, LeaveOutZeros) {
  const std::vector<char> zeros(10 << 20);
  EXPECT_LT(fs::file_size(written(folder_ + "/zeros", zeros, 0x1000)), 4096u);
}

TEST_F(CheckpointFiles, AreRefusedWhenABitIsWrong) {
  std::mt19937 random(2);
  const std::string path = written(folder_ + "/bits", memory_of(&random, 100'000), 0x1000);
  const auto bytes = static_cast<size_t>(fs::file_size(path));
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  for (int i = 0; i < 400; ++i) {
    // The headers at the beginning, then anywhere.
    const auto at =
        static_cast<std::streamoff>(i < 180 ? static_cast<size_t>(i) : random() % bytes);
    char byte = 0;
    file.seekg(at).get(byte);
    const char wrong = static_cast<char>(byte ^ (1 << random() % 8));
    file.seekp(at).put(wrong).flush();
    const Status s = read_all(path, nullptr);
    EXPECT_FALSE(s.ok()) << "bit of byte " << at;
    EXPECT_NE(s.what().find(path), std::string::npos) << s.what();
    file.seekp(at).put(byte).flush();
  }
  EXPECT_TRUE(read_all(path, nullptr).ok());
}

TEST_F(CheckpointFiles, AreRefusedWhenCutOrLonger) {
  std::mt19937 random(3);
  const std::string path = written(folder_ + "/cut", memory_of(&random, 50'000), 0x1000);
  const auto bytes = fs::file_size(path);
  std::ofstream(path, std::ios::app | std::ios::binary).put('x');
  EXPECT_NE(read_all(path, nullptr).what().find("something follows"), std::string::npos);
  for (const auto left :
       {bytes - 1, bytes - 32, bytes / 2, uintmax_t{112}, uintmax_t{111}, uintmax_t{0}}) {
    fs::resize_file(path, left);
    const Status s = read_all(path, nullptr);
    EXPECT_NE(s.what().find("it ends here"), std::string::npos) << left << ": " << s.what();
  }
}

TEST_F(CheckpointFiles, TellThatTheDiskIsFull) {
  struct rlimit before = {}, small = {};
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 100'000;
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  CheckpointWriter writer;
  std::mt19937 random(4);
  std::vector<char> noise(1 << 20);
  for (char& c : noise) c = static_cast<char>(random());
  EXPECT_TRUE(writer.open(folder_ + "/full", header_of(0, 1, 1)).ok());
  const Status s = writer.write(BlockKind::kMemory, 0, 0, noise.data(), noise.size());
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(s.what().find("/full cannot be written: File too large"), std::string::npos)
      << s.what();
}

/// Writes the files of a checkpoint, but not that of process `but`.
void write_checkpoint(const std::string& folder, uint64_t number, uint32_t processes, uint32_t but,
                      uint64_t base = 0) {
  ASSERT_TRUE(begin_checkpoint(folder, number).ok());
  for (uint32_t p = 0; p < processes; ++p) {
    if (p == but) continue;
    CheckpointWriter writer;
    CheckpointHeader header = header_of(p, processes, number);
    header.base = base;
    ASSERT_TRUE(writer.open(file_to_write(folder, number, p), header).ok());
    ASSERT_TRUE(writer.finish().ok());
  }
}

TEST_F(CheckpointFiles, AreCompleteOnlyTogether) {
  const std::string folder = folder_ + "/job";
  uint64_t number = 0;
  EXPECT_NE(find_checkpoint(folder, &number).what().find("no complete checkpoint"),
            std::string::npos);
  write_checkpoint(folder, 1, 3, 3);
  EXPECT_FALSE(find_checkpoint(folder, &number).ok());
  EXPECT_TRUE(complete_checkpoint(folder, 1).ok());
  EXPECT_TRUE(find_checkpoint(folder, &number).ok());
  EXPECT_EQ(number, 1u);
  // One process has not written its file: the checkpoint before stays.
  write_checkpoint(folder, 2, 3, 1);
  EXPECT_NE(complete_checkpoint(folder, 2).what().find("1.ckpt cannot be opened"),
            std::string::npos);
  EXPECT_TRUE(find_checkpoint(folder, &number).ok());
  EXPECT_EQ(number, 1u);
  // The next attempt begins from nothing; two checkpoints are kept.
  for (uint64_t next : {2u, 3u, 4u}) {
    write_checkpoint(folder, next, 2, 2);
    EXPECT_TRUE(complete_checkpoint(folder, next).ok());
  }
  std::vector<std::string> files;
  EXPECT_TRUE(list_checkpoint(folder, 4, &files).ok());
  EXPECT_EQ(files, (std::vector<std::string>{folder + "/4/0.ckpt", folder + "/4/1.ckpt"}));
  EXPECT_TRUE(fs::exists(folder + "/3"));
  EXPECT_FALSE(fs::exists(folder + "/2"));
}

TEST_F(CheckpointFiles, StayWhileOthersAreBasedOnThem) {
  const std::pair<uint64_t, uint64_t> kBases[] = {{1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 0}, {6, 5}};
  for (const auto& [number, base] : kBases) {
    write_checkpoint(folder_, number, 2, 2, base);
    ASSERT_TRUE(complete_checkpoint(folder_, number).ok());
    for (uint64_t before = 1; before <= number; ++before)
      EXPECT_EQ(fs::exists(folder_ + "/" + std::to_string(before)), number < 6 || before > 4)
          << before << " at " << number;
  }
}

TEST_F(CheckpointFiles, AreWrittenWhenAllHaveTheirNames) {
  write_checkpoint(folder_, 7, 3, 1);
  EXPECT_TRUE(written_checkpoints(folder_).empty());
  EXPECT_EQ(next_checkpoint(folder_), 8u);
  write_checkpoint(folder_, 8, 3, 3);
  EXPECT_EQ(written_checkpoints(folder_), std::vector<uint64_t>{8});
  ASSERT_TRUE(complete_checkpoint(folder_, 8).ok());
  EXPECT_TRUE(written_checkpoints(folder_).empty());
  EXPECT_FALSE(fs::exists(folder_ + "/7.tmp"));  // nothing will come of it
  EXPECT_EQ(next_checkpoint(folder_), 9u);
}

TEST_F(CheckpointFiles, ListPages) {
  std::mt19937_64 random(5);
  const std::string path = page_list_of(folder_ + "/0.ckpt");
  EXPECT_EQ(path, folder_ + "/0.pages");
  for (const size_t count : {0, 1, 1023, 1024, 1025, 5000}) {
    std::map<uint64_t, uint64_t> pages;
    while (pages.size() < count) pages[random() % 100'000 * kBlockPageBytes] = random();
    PageListWriter writer;
    ASSERT_TRUE(writer.open(path).ok());
    for (const auto& [address, hash] : pages) ASSERT_TRUE(writer.add({address, hash}).ok());
    ASSERT_TRUE(writer.finish().ok());
    PageList list;
    ASSERT_TRUE(list.open(path).ok());
    EXPECT_EQ(list.size(), count);
    const auto expect = [&](uint64_t address) {
      const PageRecord* found = list.find(address);
      const auto page = pages.find(address);
      ASSERT_EQ(found != nullptr, page != pages.end());
      if (found) {
        EXPECT_EQ(found->hash, page->second);
      }
    };
    for (uint64_t address = 0; address < 100'000 * kBlockPageBytes; address += kBlockPageBytes)
      expect(address);
    for (int i = 0; i < 1000; ++i) expect(random() % 100'000 * kBlockPageBytes);
  }
  // Each bit counts.
  std::string bytes;
  {
    std::ifstream in(path);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (int i = 0; i < 200; ++i) {
    std::string damaged = bytes;
    damaged[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    std::ofstream(path) << damaged;
    PageList list;
    EXPECT_FALSE(list.open(path).ok());
  }
}

TEST_F(CheckpointFiles, AreRefusedInTheWrongPlace) {
  write_checkpoint(folder_, 1, 2, 2);
  fs::copy_file(file_to_write(folder_, 1, 0), file_to_write(folder_, 1, 1),
                fs::copy_options::overwrite_existing);
  EXPECT_NE(complete_checkpoint(folder_, 1).what().find("another checkpoint or process"),
            std::string::npos);
}

}  // namespace
}  // namespace fgmpi::checkpoint
