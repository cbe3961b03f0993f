// The deadlock report: its cycles, its words, and its encoding between processes.

#include "pt2pt/report.h"

#include <algorithm>

#include "base/fields.h"
#include "base/strings.h"

namespace fgmpi::pt2pt {
namespace {

/// Finds a cycle of "rank a waits for rank b": its ranks in order, or nothing.
std::vector<int64_t> find_cycle(const std::map<int64_t, int64_t>& edges) {
  std::map<int64_t, int64_t> seen;  // rank -> number of the walk that reached it
  int64_t walk = 0;
  for (const auto& [start, unused] : edges) {
    (void)unused;
    ++walk;
    std::vector<int64_t> path;
    for (int64_t at = start;;) {
      auto [where, fresh] = seen.emplace(at, walk);
      if (!fresh) {
        if (where->second != walk) break;
        return {std::find(path.begin(), path.end(), at), path.end()};
      }
      path.push_back(at);
      auto edge = edges.find(at);
      if (edge == edges.end()) break;
      at = edge->second;
    }
  }
  return {};
}

std::string cycle_words(const std::vector<int64_t>& cycle) {
  std::string words = "fgmpi:   cycle: ";
  for (size_t i = 0; i < cycle.size() && i < Report::kMostLines; ++i)
    words += Report::words(cycle[i]) + " waits for ";
  if (cycle.size() > Report::kMostLines) words += format("... (%zu ranks) ", cycle.size());
  return words + Report::words(cycle[0]) + "\n";
}

}  // namespace

std::string Report::words(int64_t name) {
  const auto group = static_cast<uint32_t>(name >> 32), rank = static_cast<uint32_t>(name);
  return group == 0 ? format("rank %u", rank) : format("spawned rank %u <%08x>", rank, group);
}

std::vector<uint8_t> Report::to_bytes() const {
  std::vector<uint8_t> bytes;
  append(&bytes, ranks);
  append(&bytes, past_limit);
  append(&bytes, static_cast<uint32_t>(calls.size()));
  for (const auto& [call, count] : calls) {
    append(&bytes, count);
    append_text(&bytes, call);
  }
  append(&bytes, static_cast<uint32_t>(edges.size()));
  for (const auto& [from, to] : edges) {
    append(&bytes, from);
    append(&bytes, to);
  }
  append(&bytes, static_cast<uint32_t>(lines.size()));
  for (const auto& [call, line] : lines) {
    append_text(&bytes, call);
    append_text(&bytes, line);
  }
  return bytes;
}

bool Report::add_bytes(const void* bytes, size_t size) {
  FieldReader in(bytes, size);
  Report more;
  more.ranks = in.get<uint64_t>();
  more.past_limit = in.get<uint64_t>();
  for (auto n = in.get<uint32_t>(); n > 0 && !in.failed(); --n) {
    const auto count = in.get<uint64_t>();
    more.calls[std::string(in.get_text())] += count;
  }
  for (auto n = in.get<uint32_t>(); n > 0 && !in.failed(); --n) {
    const auto from = in.get<int64_t>();
    more.edges[from] = in.get<int64_t>();
  }
  for (auto n = in.get<uint32_t>(); n > 0 && !in.failed(); --n) {
    std::string call(in.get_text()), line(in.get_text());
    more.lines.emplace_back(std::move(call), std::move(line));
  }
  if (in.failed() || in.left()) return false;
  ranks += more.ranks;
  past_limit += more.past_limit;
  for (const auto& [call, count] : more.calls) calls[call] += count;
  edges.insert(more.edges.begin(), more.edges.end());
  for (auto& line : more.lines)
    if (lines.size() < kMostLines) lines.push_back(std::move(line));
  return true;
}

std::string Report::to_text() const {
  std::string text =
      ranks == 1
          ? "fgmpi: deadlock: the only rank that has not ended waits and no message is on its way\n"
          : format(
                "fgmpi: deadlock: all %llu ranks that have not ended wait and no message is on its "
                "way\n",
                static_cast<unsigned long long>(ranks));
  std::map<std::string, uint64_t> not_shown = calls;
  for (const auto& [call, line] : lines) {
    text += "fgmpi:   " + escaped(line) + "\n";
    auto in = not_shown.find(call);
    if (in != not_shown.end() && in->second > 0) --in->second;
  }
  for (const auto& [call, count] : not_shown)
    if (count > 0)
      text += format("fgmpi:   %llu more in %s\n", static_cast<unsigned long long>(count),
                     escaped(call).c_str());
  std::vector<int64_t> cycle = find_cycle(edges);
  if (!cycle.empty()) text += cycle_words(cycle);
  return text;
}

}  // namespace fgmpi::pt2pt
