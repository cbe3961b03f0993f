// The search for conflicting accesses to files among those of all ranks.

#include "readers/findings/files.h"

#include <algorithm>

#include "base/strings.h"

namespace fgmpi::findings {
namespace {

/// The most comparisons of two accesses for a file; further ones are left out.
constexpr size_t kMostComparisons = 50'000'000;

}  // namespace

void FileAccesses::add(std::string_view line) {
  FileAccess a;
  uint64_t file = 0, atomic = 0;
  if (!read_number(split_word(&line, ' '), &file, 16) ||
      !read_number(split_word(&line, ' '), &a.rank, 10))
    return;
  a.writes = split_word(&line, ' ') == "w";
  for (uint64_t* number : {&atomic, &a.syncs, &a.fenced, &a.call})
    if (!read_number(split_word(&line, ' '), number, 16)) return;
  a.atomic = atomic != 0;
  while (!line.empty()) {
    std::string_view range = split_word(&line, ' ');
    uint64_t low = 0, bytes = 0;
    if (!read_number(split_word(&range, '.'), &low, 16) || !read_number(range, &bytes, 16)) return;
    files_[file].push_back({low, low + bytes, accesses_.size()});
  }
  accesses_.push_back(a);
}

bool FileAccesses::conflict(const FileAccess& a, const FileAccess& b) const {
  if (a.rank == b.rank || (a.atomic && b.atomic)) return false;
  return a.syncs >= b.fenced && b.syncs >= a.fenced;
}

void FileAccesses::report_overlap(const FileRange& a, const FileRange& b, const NamedCalls& calls,
                                  std::vector<Finding>* found) const {
  const uint64_t low = std::max(a.low, b.low), high = std::min(a.high, b.high) - 1;
  Finding f;
  f.kind = FindingKind::kFiles;
  const bool both = accesses_[a.access].writes && accesses_[b.access].writes;
  f.sentence = both ? "two ranks write the same bytes of a file at the same time"
                    : "bytes of a file are written that another rank reads at the same time";
  f.allowed =
      "between them are MPI_File_sync, a barrier and MPI_File_sync, or the file is in atomic mode";
  for (const FileRange* range : {&a, &b}) {
    const FileAccess& access = accesses_[range->access];
    auto call = calls.find(access.call);
    Participant p =
        call == calls.end() ? Participant{access.rank, "?", "", 0, ""} : call->second.front();
    p.rank = access.rank;
    p.role = format("%s bytes %llu to %llu", access.writes ? "writes" : "reads",
                    static_cast<unsigned long long>(low), static_cast<unsigned long long>(high));
    f.calls.push_back(std::move(p));
  }
  // The two orders of the same accesses are one finding.
  if (f.calls[1].site < f.calls[0].site) std::swap(f.calls[0], f.calls[1]);
  found->push_back(std::move(f));
}

void FileAccesses::find_in(std::vector<FileRange> ranges, const NamedCalls& calls, Pairs* told,
                           std::vector<Finding>* found) const {
  std::sort(ranges.begin(), ranges.end(),
            [](const FileRange& a, const FileRange& b) { return a.low < b.low; });
  // Accesses that reach the begin of the present one, or did so recently.
  std::vector<FileRange> reads, writes;
  size_t comparisons = 0;
  auto compare = [&](std::vector<FileRange>* with, const FileRange& now) {
    std::erase_if(*with, [&](const FileRange& r) { return r.high <= now.low; });
    comparisons += with->size();
    for (const FileRange& before : *with) {
      const FileAccess &a = accesses_[before.access], &b = accesses_[now.access];
      if (!conflict(a, b)) continue;
      if (told->insert(std::minmax(a.call, b.call)).second)
        report_overlap(before, now, calls, found);
    }
  };
  for (const FileRange& now : ranges) {
    const bool is_write = accesses_[now.access].writes;
    compare(&writes, now);
    if (is_write) compare(&reads, now);
    (is_write ? writes : reads).push_back(now);
    if (comparisons > kMostComparisons) return;
  }
}

std::vector<Finding> FileAccesses::find(const NamedCalls& calls) const {
  std::vector<Finding> found;
  Pairs told;
  for (const auto& [file, ranges] : files_) find_in(ranges, calls, &told, &found);
  return found;
}

}  // namespace fgmpi::findings
