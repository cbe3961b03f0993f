// -report: the data of the page, as JSON. Its layout is in page/.
//
// The size of the page does not depend on the number of ranks: ranks are summed in at
// most kMostBins bins, the communication matrix has at most 20,000 cells (run.cc), the
// timeline has 64 rows.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>

#include "base/strings.h"
#include "readers/report/page_parts.h"
#include "readers/report/run.h"

namespace fgmpi::report {
namespace {

constexpr size_t kMostBins = 400, kMostPlaces = 20, kMostWaited = 10, kMostFindings = 12;
constexpr size_t kMostMoves = 5000;
constexpr size_t kMostProcesses = 500, kMostGroupRows = 20, kSlices = 256, kHistogram = 40;
constexpr ptrdiff_t kMostLines = 8;  ///< the number of distinguishable colours

// ---- JSON ---------------------------------------------------------------------------------------

/// A string for a script element: no text in it can end the element.
std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c < 0x20 || c == '<' || c == 0x7f)
      out += format("\\u%04x", c);
    else
      out += static_cast<char>(c);
  }
  return out + "\"";
}
/// A text that cannot begin an element or an entity.
std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}
std::string json(double value) { return format("%.6g", value); }
std::string json(uint64_t value) { return std::to_string(value); }

template <class List, class Item>
std::string array(const List& list, Item&& item) {
  std::string out = "[";
  for (const auto& one : list) out += (out.size() > 1 ? "," : "") + item(one);
  return out + "]";
}

std::string text_of(const char* field, size_t size) {
  return std::string(field, strnlen(field, size));
}

// ---- Parts of the page --------------------------------------------------------------------------

class Page {
 public:
  explicit Page(const JobRun& run) : run_(run) {}

  std::string data() const {
    return "{\"run\":" + about() + ",\n\"findings\":" + findings() + ",\n\"time\":" + time() +
           ",\n\"ranks\":" + bins() + ",\n\"histogram\":" + histogram() +
           ",\n\"worst\":" + worst() + ",\n\"calls\":" + calls() + ",\n\"places\":" + places() +
           ",\n\"processes\":" + processes() + ",\n\"ways\":" + ways() +
           ",\n\"matrix\":" + matrix() + ",\n\"waited\":" + waited() + ",\n\"files\":[" +
           json(run_.file_read) + "," + json(run_.file_written) + "," +
           json(to_seconds(run_.file_ns)) + "," + json(to_seconds(run_.one_sided_ns)) + "]" +
           ",\n\"families\":" + families() + ",\n\"memory\":" + memory() +
           ",\n\"activity\":" + activity() + ",\n\"timeline\":" + timeline() + "}";
  }

 private:
  std::string about() const {
    std::vector<std::pair<std::string, std::pair<uint64_t, uint64_t>>> hosts;
    uint64_t when = 0;
    for (const ProcessFile& p : run_.processes) {
      const ProfileHeader& h = p.header();
      const std::string host = text_of(h.host, sizeof h.host);
      auto at =
          std::find_if(hosts.begin(), hosts.end(), [&](const auto& o) { return o.first == host; });
      if (at == hosts.end()) at = hosts.insert(hosts.end(), {host, {0, 0}});
      ++at->second.first;
      at->second.second += static_cast<uint64_t>(h.ranks);
      when = when ? std::min(when, h.real_ns) : h.real_ns;
    }
    if (!when) when = static_cast<uint64_t>(std::time(nullptr)) * 1'000'000'000u;
    auto groups = not_ended(run_);
    groups.resize(std::min(groups.size(), kMostGroupRows));
    return "{\"predicted\":" + predicted() + ",\"command\":" + json_string(run_.end.command) +
           ",\"when\":" + json(when / 1'000'000) + ",\"seconds\":" + json(run_.seconds) +
           ",\"init\":" + json(run_.init_seconds) + ",\"end\":" + json_string(words_of_end(run_)) +
           ",\"status\":" + std::to_string(run_.end.status) +
           ",\"ranks\":" + std::to_string(run_.world_size) +
           ",\"processes\":" + json(uint64_t{run_.processes.size()}) + ",\"hosts\":" +
           array(hosts,
                 [](const auto& h) {
                   return "[" + json_string(h.first) + "," + json(h.second.first) + "," +
                          json(h.second.second) + "]";
                 }) +
           ",\"looks\":" + json(run_.samples) + ",\"each\":" + json(run_.looks) +
           ",\"care\":" + json_string(words_of_care()) + ",\"settings\":" +
           array(run_.end.settings, [](const auto& s) { return json_string(s); }) +
           ",\"version\":" + json_string(run_.end.version) + ",\"left\":" +
           array(groups,
                 [](const UnfinishedRanks& g) {
                   return "[" + json_string(g.what) + "," + json(uint64_t{g.ranks.size()}) + "," +
                          json_string(ranks_words(g.ranks, 12)) + "]";
                 }) +
           "}";
  }

  std::string predicted() const {
    const PredictedOn& on = run_.predicted;
    if (!on) return "null";
    return "{\"machine\":" + json_string(on.machine) + ",\"nodes\":" + json(uint64_t{on.count()}) +
           "}";
  }

  std::string words_of_care() const {
    const std::string looks = words_of_looks(run_), refused = words_of_refused(run_);
    return looks + (looks.empty() || refused.empty() ? "" : " ") + refused;
  }

  std::string findings() const {
    auto list = observe(run_);
    list.resize(std::min(list.size(), kMostFindings));
    return array(list, [](const Observation& o) {
      return "{\"title\":" + json_string(o.title) + ",\"detail\":" + json_string(o.detail) +
             ",\"advice\":" + json_string(o.advice) + "}";
    });
  }

  /// Seconds of all ranks by activity, in the order of Doing.
  std::string time() const {
    double sums[static_cast<size_t>(Doing::kCount)] = {};
    sums[static_cast<size_t>(Doing::kProgram)] = to_seconds(run_.program_ns);
    sums[static_cast<size_t>(Doing::kTurn)] = to_seconds(run_.turn_ns);
    double named = 0;
    for (int i = 0; i < kCallCount; ++i) {
      sums[static_cast<size_t>(kCalls[i].doing)] += to_seconds(run_.calls[i].ns);
      named += to_seconds(run_.calls[i].ns);
    }
    sums[static_cast<size_t>(Doing::kOther)] += std::max(to_seconds(run_.mpi_ns) - named, 0.0);
    return array(sums, [](double s) { return json(s); });
  }

  /// Averages over bins of ranks, at most kMostBins: [first, ranks, program, turn,
  /// collectives, other].
  std::string bins() const {
    const size_t n = run_.ranks.size(), count = std::min(n, kMostBins);
    std::vector<std::string> out;
    for (size_t b = 0; b < count; ++b) {
      const size_t first = b * n / count, past = (b + 1) * n / count;
      double sums[4] = {};
      for (size_t i = first; i < past; ++i) {
        const RankSum& r = run_.ranks[i];
        sums[0] += r.program;
        sums[1] += r.turn;
        sums[2] += r.collective;
        sums[3] += std::max(r.mpi - r.collective, 0.0f);
      }
      std::string bin = "[" + json(uint64_t{first}) + "," + json(uint64_t{past - first});
      for (double sum : sums) bin += "," + json(sum / static_cast<double>(past - first));
      out.push_back(bin + "]");
    }
    return array(out, [](const std::string& s) { return s; });
  }

  std::string histogram() const {
    float low = 0, high = 0;
    for (size_t i = 0; i < run_.ranks.size(); ++i) {
      const float mpi = run_.ranks[i].mpi;
      low = i == 0 ? mpi : std::min(low, mpi);
      high = std::max(high, mpi);
    }
    std::vector<uint64_t> counts(std::min(kHistogram, std::max<size_t>(run_.ranks.size(), 1)));
    for (const RankSum& r : run_.ranks) {
      const auto at = high > low ? static_cast<size_t>((r.mpi - low) / (high - low) *
                                                       static_cast<float>(counts.size()))
                                 : 0;
      ++counts[std::min(at, counts.size() - 1)];
    }
    return "{\"low\":" + json(low) + ",\"high\":" + json(high) +
           ",\"counts\":" + array(counts, [](uint64_t n) { return json(n); }) + "}";
  }

  std::string worst() const {
    std::vector<int32_t> order(run_.ranks.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
    const size_t shown = std::min<size_t>(order.size(), 10);
    std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(shown), order.end(),
                      [&](int32_t a, int32_t b) {
                        const float x = run_.ranks[static_cast<size_t>(a)].mpi;
                        const float y = run_.ranks[static_cast<size_t>(b)].mpi;
                        return x != y ? x > y : a < b;
                      });
    order.resize(shown);
    return array(order, [&](int32_t rank) {
      const RankSum& r = run_.ranks[static_cast<size_t>(rank)];
      const auto place =
          run_.predicted ? run_.predicted.node_of(static_cast<uint64_t>(rank)) : r.process;
      return "[" + std::to_string(rank) + "," + std::to_string(place) + "," + json(r.program) +
             "," + json(r.turn) + "," + json(r.mpi) + "," +
             json_string(costliest_place(run_, rank)) + "]";
    });
  }

  std::string calls() const {
    std::vector<int> order;
    for (int i = 0; i < kCallCount; ++i)
      if (run_.calls[i].count) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return run_.calls[a].ns > run_.calls[b].ns; });
    return array(order, [&](int i) {
      const CallTotals& c = run_.calls[i];
      return "[" + json_string(kCalls[i].name) + "," +
             std::to_string(static_cast<int>(kCalls[i].doing)) + "," + json(c.count) + "," +
             json(c.bytes) + "," + json(to_seconds(c.ns)) + "]";
    });
  }

  std::string places() const {
    std::vector<std::pair<CallSite, PlaceTime>> list(run_.places.begin(), run_.places.end());
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
    list.resize(std::min(list.size(), kMostPlaces));
    return array(list, [&](const auto& p) {
      return "[" + json_string(run_.words_of(p.first)) + "," +
             json_string(kCalls[p.second.call].name) + "," + json(to_seconds(p.second.ns)) + "]";
    });
  }

  std::string processes() const {
    std::vector<const ProfileHeader*> list;
    for (const ProcessFile& p : run_.processes)
      if (list.size() < kMostProcesses) list.push_back(&p.header());
    return array(list, [](const ProfileHeader* h) {
      return "[" + std::to_string(h->process) + "," +
             json_string(text_of(h->host, sizeof h->host)) + "," + std::to_string(h->first_rank) +
             "," + std::to_string(h->ranks) + "," + json(to_seconds(h->program_ns)) + "," +
             json(to_seconds(h->mpi_ns)) + "," + json(to_seconds(h->idle_ns)) + "," +
             json(h->rss_most) + "," + json(h->unexpected_most) + "]";
    });
  }

  std::string ways() const {
    std::vector<Flow> all(run_.ways, run_.ways + kWays);
    all.push_back(run_.one_sided);
    return array(all,
                 [](const Flow& w) { return "[" + json(w.messages) + "," + json(w.bytes) + "]"; });
  }

  std::string matrix() const {
    return "{\"shift\":" + std::to_string(run_.matrix_shift) + ",\"cells\":" +
           array(run_.matrix,
                 [](const auto& cell) {
                   return std::to_string(cell.first.from) + "," + std::to_string(cell.first.to) +
                          "," + std::to_string(cell.first.way) + "," + json(cell.second.messages) +
                          "," + json(cell.second.bytes);
                 }) +
           "}";
  }

  std::string waited() const {
    std::vector<std::pair<int32_t, double>> list(run_.waited_for.begin(), run_.waited_for.end());
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    list.resize(std::min(list.size(), kMostWaited));
    return array(list, [](const auto& p) {
      return "[" + std::to_string(p.first) + "," + json(p.second) + "]";
    });
  }

  std::string families() const {
    return array(run_.families, [&](const Family& f) {
      return "{\"call\":" + json_string(f.call) +
             ",\"place\":" + json_string(run_.words_of(f.place)) +
             ",\"parent\":" + std::to_string(f.parent) +
             ",\"inter\":" + (f.inter ? "true" : "false") + ",\"made\":" + json(f.made) +
             ",\"handles\":" + json(f.members_made) +
             ",\"left\":" + json(f.members_made - std::min(f.members_freed, f.members_made)) +
             ",\"least\":" + std::to_string(f.least) + ",\"most\":" + std::to_string(f.most) +
             ",\"model\":" + json_string(f.model) + ",\"encoding\":" + json_string(f.encoding) +
             ",\"map\":" + std::to_string(f.map_bytes) + ",\"collectives\":" + json(f.collectives) +
             ",\"bytes\":" + json(f.bytes) + ",\"seconds\":" + json(to_seconds(f.ns)) +
             ",\"when\":" + life(f) + ",\"by\":" + collectives(f) + "}";
    });
  }

  /// Seconds of handles: made first, made last, freed first, freed last, average life; -1: never.
  static std::string life(const Family& f) {
    const double mean = f.members_freed ? f.lived / static_cast<double>(f.members_freed) : -1;
    return "[" + json(f.first_made) + "," + json(f.last_made) + "," + json(f.first_freed) + "," +
           json(f.last_freed) + "," + json(mean) + "]";
  }

  /// [call, count, bytes, seconds, its algorithms in words] for each collective, and at the end the
  /// algorithms that MPI has run for itself.
  std::string collectives(const Family& f) const {
    std::vector<std::string> rows;
    bool told[counters::kAlgorithms] = {};
    // Those of a predicted machine are in the summary.
    if (run_.predicted) std::fill(std::begin(told), std::end(told), true);
    for (const auto& [call, sum] : f.by_call)
      rows.push_back("[" + json_string(kCalls[call].name) + "," + json(sum.count) + "," +
                     json(sum.bytes) + "," + json(to_seconds(sum.ns)) + "," +
                     json_string(algorithms_of(f, collective_of(kCalls[call].name), told)) + "]");
    if (const std::string rest = algorithms_of(f, "", told); !rest.empty())
      rows.push_back("[\"in MPI itself\",0,0,0," + json_string(rest) + "]");
    return array(rows, [](const std::string& row) { return row; });
  }

  /// The column of a process at a slice of the run's time; nothing where it has none.
  std::optional<uint32_t> column_at(const ProcessFile& p, size_t slice) const {
    const ProfileHeader& h = p.header();
    if (h.column_ns == 0 || h.columns == 0) return {};
    const double at = (static_cast<double>(slice) + 0.5) / kSlices * run_.seconds * 1e9;
    const auto column = static_cast<uint64_t>(at / static_cast<double>(h.column_ns));
    if (column >= h.columns) return {};
    return static_cast<uint32_t>(column);
  }
  static uint64_t rss_at(const ProcessFile& p, uint32_t column) {
    return unpack_kib(p.column(column).rss) << 10;
  }

  std::string memory() const {
    std::vector<uint64_t> rss(kSlices);
    for (const ProcessFile& p : run_.processes)
      for (size_t i = 0; i < kSlices; ++i)
        if (const auto c = column_at(p, i)) rss[i] += rss_at(p, *c);
    return "{\"rss\":" + array(rss, [](uint64_t v) { return json(v); }) +
           ",\"each\":" + memory_of_processes() + ",\"ranks\":" + memory_of_ranks() +
           ",\"stacks\":" + stacks() +
           ",\"text\":" + array(memory_words(), [](const auto& s) { return json_string(s); }) + "}";
  }

  /// [number, bytes over time] of processes; of many only those with the most and the least memory.
  std::string memory_of_processes() const {
    std::vector<const ProcessFile*> order;
    for (const ProcessFile& p : run_.processes) order.push_back(&p);
    if (order.size() > size_t{kMostLines}) {
      std::stable_sort(order.begin(), order.end(), [](const ProcessFile* a, const ProcessFile* b) {
        return a->header().rss_most > b->header().rss_most;
      });
      order.erase(order.begin() + kMostLines / 2, order.end() - kMostLines / 2);
    }
    return array(order, [&](const ProcessFile* p) {
      std::vector<uint64_t> values;
      for (size_t i = 0; i < kSlices; ++i)
        if (const auto c = column_at(*p, i)) values.push_back(rss_at(*p, *c));
      return "[" + std::to_string(p->header().process) + "," +
             array(values, [](uint64_t v) { return json(v); }) + "]";
    });
  }

  /// [rank, bytes over time] of sampled ranks; of many only those of evenly spread processes.
  std::string memory_of_ranks() const {
    std::vector<std::string> out;
    const size_t all = run_.processes.size(), some = std::min(all, size_t{kMemoryRowsInAll});
    for (size_t i = 0; i < some; ++i) {
      const ProcessFile& p = run_.processes[i * all / some];
      const ProfileHeader& h = p.header();
      for (uint32_t row = 0; row < h.memory_rows && out.size() < kMemoryRowsInAll; ++row) {
        // The maximum of each slice of the run's time, so that no peak is lost.
        std::vector<uint64_t> values;
        const double columns =
            h.column_ns ? run_.seconds * 1e9 / static_cast<double>(h.column_ns) : 0;
        for (size_t i = 0; i < kSlices; ++i) {
          const auto at = [&](size_t slice) {
            const double column = static_cast<double>(slice) / kSlices * columns;
            return static_cast<uint32_t>(std::min(column, double{kColumns}));
          };
          const uint32_t past = i + 1 == kSlices ? h.columns : std::min(h.columns, at(i + 1));
          uint64_t most = 0;
          uint32_t c = at(i);
          if (c >= h.columns) break;
          do most = std::max(most, p.memory(row, c));
          while (++c < past);
          values.push_back(most);
        }
        const int32_t rank =
            h.first_rank + rank_of_memory_row(static_cast<int32_t>(row),
                                              static_cast<int32_t>(h.memory_rows), h.ranks);
        out.push_back("[" + std::to_string(rank) + "," +
                      array(values, [](uint64_t v) { return json(v); }) + "]");
      }
    }
    return array(out, [](const std::string& s) { return s; });
  }

  /// [first rank, count, largest written stack in bytes] of bins of ranks.
  std::string stacks() const {
    const size_t ranks = run_.ranks.size(), count = std::min(kMostBins, ranks);
    std::vector<std::string> out;
    for (size_t bin = 0; bin < count; ++bin) {
      const size_t first = bin * ranks / count, past = (bin + 1) * ranks / count;
      uint64_t most = 0;
      for (size_t i = first; i < past; ++i) most = std::max(most, run_.ranks[i].stack);
      out.push_back("[" + json(uint64_t{first}) + "," + json(uint64_t{past - first}) + "," +
                    json(most) + "]");
    }
    return array(out, [](const std::string& s) { return s; });
  }

  std::vector<std::string> memory_words() const {
    if (run_.processes.empty()) return {};
    const auto count = static_cast<double>(run_.processes.size());
    const double ranks = std::max(run_.world_size, 1), most = static_cast<double>(run_.rss_most);
    const double first = std::min(static_cast<double>(run_.rss_first), most) / count;
    const double more = (most - first * count) / ranks;
    std::string text = "At most " + bytes_words(most) + " in all, " + bytes_words(most / ranks) +
                       " a rank. A process had " + bytes_words(first) +
                       " when its first rank came back from MPI_Init; each rank added " +
                       bytes_words(more) + ". Messages that had come before their receives took " +
                       "at most " + bytes_words(static_cast<double>(run_.unexpected_most)) + ".";
    uint64_t images = 0;
    for (const ProcessFile& p : run_.processes)
      if (p.header().image_count > p.header().image_first)
        images += p.header().image_count - p.header().image_first;
    if (images)
      text += " " + number_words(images) + " ranks have images of the program of their own, " +
              bytes_words(static_cast<double>(run_.processes[0].header().image_bytes)) +
              " of address space each; memory is taken only by the pages that they write.";
    return {text, fit_words(first, more, most / ranks)};
  }

  /// The whole part of a number that may be too large for an integer.
  static std::string whole_words(double number) {
    return number < 1e18 ? number_words(static_cast<uint64_t>(number)) : format("%.3g", number);
  }

  /// How many ranks would fit, in words: `first` bytes of a process without its ranks, `more` of a
  /// rank, `each` of both divided evenly.
  static std::string fit_words(double first, double more, double each) {
    std::ifstream in("/proc/meminfo");
    std::string word;
    double kib = 0;
    while (in >> word)
      if (word == "MemAvailable:" && in >> kib) break;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const double there = kib * 1024, start = first * static_cast<double>(processors);
    if (there <= 0 || each <= 0 || processors <= 0) return "";
    std::string text = "What would fit: this machine has " + bytes_words(there) +
                       " available; about " + whole_words(there / each) +
                       " ranks like these, with as many a process as here";
    if (more > 0 && there > start)
      text += format("; about %s with all of them in %ld processes, one for each processor",
                     whole_words((there - start) / more).c_str(), processors);
    return text + ".";
  }

  /// Shares in percent of the activities of all processes' threads.
  std::string activity() const {
    std::vector<double> shares[3];
    for (auto& s : shares) s.resize(kSlices);
    for (size_t i = 0; i < kSlices; ++i) {
      double sums[3] = {}, all = 0;
      for (const ProcessFile& p : run_.processes)
        if (const auto at = column_at(p, i)) {
          const TimeColumn c = p.column(*at);
          const double mpi = std::min<double>(c.mpi, 255.0 - c.program);
          sums[0] += c.program, sums[1] += mpi, sums[2] += 255.0 - c.program - mpi;
          all += 255;
        }
      for (int k = 0; k < 3 && all > 0; ++k) shares[k][i] = 100 * sums[k] / all;
    }
    auto list = [](const std::vector<double>& v) {
      return array(v, [](double s) { return format("%.0f", s); });
    };
    return "{\"program\":" + list(shares[0]) + ",\"mpi\":" + list(shares[1]) +
           ",\"idle\":" + list(shares[2]) + "}";
  }

  /// [rank, a digit (Doing) for each slice] of the sampled ranks.
  std::string timeline() const {
    std::vector<std::string> rows;
    for (const ProcessFile& p : run_.processes) {
      const ProfileHeader& h = p.header();
      for (uint32_t row = 0; row < h.rows && rows.size() < kRowsInAll; ++row) {
        const auto rank = h.first_rank + rank_of_row(static_cast<int32_t>(row),
                                                     static_cast<int32_t>(h.rows), h.ranks);
        std::string codes;
        for (size_t i = 0; i < kSlices; ++i) {
          const auto c = column_at(p, i);
          const uint8_t code = c ? p.doing(row, *c) : 0;
          codes += static_cast<char>('0' + std::min<uint8_t>(code, 8));
        }
        rows.push_back("[" + std::to_string(rank) + ",\"" + codes + "\"]");
      }
    }
    return "{\"rows\":" + array(rows, [](const std::string& r) { return r; }) +
           ",\"moves\":" + moves() + ",\"text\":" + json_string(words_of_moves(run_)) + "}";
  }

  /// [seconds, rank, from process, to process] of the first moves; null where ranks stay.
  std::string moves() const {
    if (!run_.ranks_move) return "null";
    std::vector<RankMove> list = run_.moves;
    list.resize(std::min(list.size(), kMostMoves));
    return array(list, [](const RankMove& m) {
      return "[" + json(m.seconds) + "," + std::to_string(m.rank) + "," + std::to_string(m.from) +
             "," + std::to_string(m.to) + "]";
    });
  }

  const JobRun& run_;
};

}  // namespace

std::string page_data(const JobRun& run) { return Page(run).data(); }

bool has_charts() { return sizeof page_parts::k_library > 1; }

std::string to_html(const JobRun& run) {
  using namespace page_parts;
  return std::string(
             "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
             "<meta name=\"viewport\" content=\"width=device-width\">"
             "<title>mpiexec -report") +
         (run.predicted ? ": times of " + html_text(run.predicted.machine) : "") +
         "</title><style>\n" + k_report_css + "</style></head><body>\n" + k_report_html +
         "<script type=\"application/json\" id=\"data\">" + page_data(run) +
         "</script>\n<script>\n" + k_library + "</script>\n<script>\n" + k_report_js +
         "</script></body></html>\n";
}

}  // namespace fgmpi::report
