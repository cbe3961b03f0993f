// Marks the blocks to which pointers lead.
#include "heap/leaks.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/page.h"
#include "heap/blocks.h"

namespace fgmpi::heap {

namespace {

class Marker {
 public:
  explicit Marker(std::vector<PlacedBlock> blocks)
      : blocks_(std::move(blocks)), reached_(blocks_.size()) {}

  /// Marks all blocks to which words of the range lead, and those to which these lead in turn.
  void mark_from(MemoryRange range) {
    scan(range);
    while (!open_.empty()) {
      const PlacedBlock& block = blocks_[open_.back()];
      open_.pop_back();
      const auto* low = reinterpret_cast<const char*>(~block.inverted);
      scan({low, low + block.bytes});
    }
  }

  /// The blocks that are not marked, by place.
  std::vector<LeakedBlocks> leaks() const {
    std::map<const void*, LeakedBlocks> by_place;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (reached_[i]) continue;
      LeakedBlocks& leak = by_place[blocks_[i].place];
      leak.place = blocks_[i].place;
      leak.bytes += blocks_[i].bytes;
      ++leak.blocks;
    }
    std::vector<LeakedBlocks> all;
    for (const auto& [place, leak] : by_place) all.push_back(leak);
    std::ranges::stable_sort(
        all, [](const LeakedBlocks& a, const LeakedBlocks& b) { return a.bytes > b.bytes; });
    return all;
  }

 private:
  void scan(MemoryRange range) {
    const auto low = (reinterpret_cast<uintptr_t>(range.low) + 7) & ~uintptr_t{7};
    const auto high = reinterpret_cast<uintptr_t>(range.high);
    if (blocks_.empty() || low >= high) return;
    // Programs take the right to be read from whole pages.
    if (high - low < machine_page_bytes())
      scan_words(reinterpret_cast<const char*>(low), high - low);
    else
      scan_pages(low, high);
  }

  /// Scans memory of which pages may be unreadable, by copies that the kernel makes.
  void scan_pages(uintptr_t low, uintptr_t high) {
    while (low < high) {
      const size_t bytes = std::min<size_t>(high - low, kCopied);
      const iovec to{copy_.data(), bytes}, from{reinterpret_cast<void*>(low), bytes};
      const ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
      if (got < 0 && errno != EFAULT)  // the system does not allow this call
        return scan_words(reinterpret_cast<const char*>(low), high - low);
      const size_t read = got < 0 ? 0 : static_cast<size_t>(got);
      scan_words(copy_.data(), read);
      low += read;
      if (read < bytes) low = page_down(low, machine_page_bytes()) + machine_page_bytes();
    }
  }

  void scan_words(const char* words, size_t bytes) {
    const uintptr_t first = ~blocks_.front().inverted, end = end_of(blocks_.back());
    for (size_t at = 0; at + sizeof first <= bytes; at += sizeof first) {
      uintptr_t word;
      __builtin_memcpy(&word, words + at, sizeof word);
      if (word - first < end - first) mark(word);
    }
  }
  /// A block of no bytes has one, to which its pointer leads.
  static uintptr_t end_of(const PlacedBlock& block) {
    return ~block.inverted + std::max<size_t>(block.bytes, 1);
  }
  void mark(uintptr_t word) {
    const auto behind = std::ranges::partition_point(
        blocks_, [&](const PlacedBlock& block) { return ~block.inverted <= word; });
    if (behind == blocks_.begin() || word >= end_of(behind[-1])) return;
    const auto at = static_cast<size_t>(behind - blocks_.begin()) - 1;
    if (reached_[at]) return;
    reached_[at] = true;
    open_.push_back(at);
  }

  static constexpr size_t kCopied = size_t{64} << 10;

  std::vector<char> copy_ = std::vector<char>(kCopied);
  std::vector<PlacedBlock> blocks_;
  std::vector<bool> reached_;
  std::vector<size_t> open_;  ///< reached, and not yet scanned
};

}  // namespace

std::vector<LeakedBlocks> find_leaks(uintptr_t low, uintptr_t high, const MemoryRange* roots,
                                     size_t count) {
  Marker marker(blocks_between(low, high));
  for (size_t i = 0; i < count; ++i) marker.mark_from(roots[i]);
  return marker.leaks();
}

}  // namespace fgmpi::heap
