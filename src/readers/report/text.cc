// -summary: the first page of the report, as text.
#include <algorithm>

#include "base/strings.h"
#include "readers/report/run.h"

namespace fgmpi::report {
namespace {

constexpr size_t kMostCalls = 8, kMostObservations = 6, kMostGroups = 6;

std::string percent(uint64_t part, uint64_t all) {
  return all ? format("%.1f %%", 100.0 * static_cast<double>(part) / static_cast<double>(all))
             : "-";
}

std::string end_lines(const JobRun& run) {
  std::string text = "fgmpi:   ended: " + words_of_end(run) + "\n";
  const auto groups = not_ended(run);
  for (size_t i = 0; i < std::min(groups.size(), kMostGroups); ++i)
    text += format("fgmpi:     %zu %s: rank%s %s\n", groups[i].ranks.size(), groups[i].what.c_str(),
                   groups[i].ranks.size() > 1 ? "s" : "", ranks_words(groups[i].ranks).c_str());
  return text;
}

std::string time_lines(const JobRun& run) {
  const uint64_t all = run.program_ns + run.turn_ns + run.mpi_ns;
  return format("fgmpi:   time of ranks: %s in the program, %s in MPI, %s waiting for their turn\n",
                percent(run.program_ns, all).c_str(), percent(run.mpi_ns, all).c_str(),
                percent(run.turn_ns, all).c_str());
}

std::string call_lines(const JobRun& run) {
  std::vector<int> order;
  for (int i = 0; i < kCallCount; ++i)
    if (run.calls[i].count) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return run.calls[a].ns != run.calls[b].ns ? run.calls[a].ns > run.calls[b].ns
                                              : run.calls[a].count > run.calls[b].count;
  });
  const uint64_t all = run.program_ns + run.turn_ns + run.mpi_ns;
  std::string text = format("fgmpi:   %-24s %14s %9s %12s\n", "call", "calls", "time", "bytes");
  for (size_t i = 0; i < std::min(order.size(), kMostCalls); ++i) {
    const CallTotals& c = run.calls[order[i]];
    text += format("fgmpi:   %-24s %14s %9s %12s\n", kCalls[order[i]].name,
                   number_words(c.count).c_str(), percent(c.ns, all).c_str(),
                   c.bytes ? bytes_words(static_cast<double>(c.bytes)).c_str() : "");
  }
  return text;
}

std::string one_sided_line(const JobRun& run) {
  std::string text;
  if (run.one_sided.messages)
    text += format("fgmpi:   one-sided: %s operations (%s)\n",
                   number_words(run.one_sided.messages).c_str(),
                   bytes_words(static_cast<double>(run.one_sided.bytes)).c_str());
  if (run.file_read || run.file_written)
    text += format("fgmpi:   files: %s read, %s written\n",
                   bytes_words(static_cast<double>(run.file_read)).c_str(),
                   bytes_words(static_cast<double>(run.file_written)).c_str());
  return text;
}

/// Where ranks have heaps: which of those whose memory was sampled had most, with stack and image.
std::string words_of_largest_rank(const JobRun& run) {
  uint64_t most = 0;
  int32_t rank = -1;
  for (const ProcessFile& p : run.processes) {
    const ProfileHeader& h = p.header();
    for (uint32_t row = 0; h.image_first == 0 && row < h.memory_rows; ++row)
      for (uint32_t c = 0; c < h.columns; ++c) {
        if (p.memory(row, c) <= most) continue;
        most = p.memory(row, c);
        rank = h.first_rank + rank_of_memory_row(static_cast<int32_t>(row),
                                                 static_cast<int32_t>(h.memory_rows), h.ranks);
      }
  }
  if (rank < 0) return "";
  return format("; of the ranks that were looked at, rank %d had most: %s", rank,
                bytes_words(static_cast<double>(most)).c_str());
}

}  // namespace

std::string to_text(const JobRun& run) {
  std::string text = format("fgmpi: report: %s ranks in %zu processes, %s\n",
                            number_words(static_cast<uint64_t>(run.world_size)).c_str(),
                            run.processes.size(), seconds_words(run.seconds).c_str());
  text += end_lines(run);
  if (!run.refused.empty()) text += "fgmpi:   " + words_of_refused(run) + "\n";
  if (run.processes.empty()) return text;
  static constexpr const char* kWayNames[kWays] = {"in a process", "by shared memory",
                                                   "by the network"};
  text += time_lines(run);
  if (const std::string moves = words_of_moves(run); !moves.empty())
    text += "fgmpi:   " + moves + "\n";
  text += "fgmpi:   messages:";
  bool any = false;
  for (int w = 0; w < kWays; ++w) {
    if (!run.ways[w].messages) continue;
    text += format("%s %s %s (%s)", any ? "," : "", number_words(run.ways[w].messages).c_str(),
                   kWayNames[w], bytes_words(static_cast<double>(run.ways[w].bytes)).c_str());
    any = true;
  }
  text +=
      std::string(any ? "" : " none") + "\n" +
      format("fgmpi:   memory: %s at most, %s a rank%s; unexpected messages %s at most\n",
             bytes_words(static_cast<double>(run.rss_most)).c_str(),
             bytes_words(static_cast<double>(run.rss_most) / std::max(run.world_size, 1)).c_str(),
             words_of_largest_rank(run).c_str(),
             bytes_words(static_cast<double>(run.unexpected_most)).c_str()) +
      one_sided_line(run) + call_lines(run);
  const auto observations = observe(run);
  if (const std::string care = words_of_looks(run); !care.empty())
    text += "fgmpi:   " + care + "\n";
  for (size_t i = 0; i < std::min(observations.size(), kMostObservations); ++i)
    text += format("fgmpi:   %zu. ", i + 1) + observations[i].title + "\n";
  if (observations.empty()) text += "fgmpi:   nothing stands out\n";
  return text;
}

}  // namespace fgmpi::report
