// Straight lines through measured times.

#include "readers/prediction/calibration.h"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "base/strings.h"

namespace fgmpi::predict {
namespace {

/// What a further piece has to gain: the square of an error of 3 % in one time.
constexpr double kPieceCost = 1e-3;
/// A message of which such a part has come while its ranks computed needs no calls.
constexpr double kAllMoves = 0.8, kUnbounded = 1e18;
/// How much an error of the time between messages counts, beside one of their time.
constexpr double kIntervalWeight = 0.25;
/// The least G, ns a byte: the file allows no more than 10^6 GB/s.
constexpr double kLeastPerByte = 1e-6;

/// A straight line through times, the time of a message in a row of them that is longer than that
/// of its bytes (0: none), and how far both are from what was measured: squares of relative errors.
struct FittedLine {
  double start = 0, per_byte = 0, gap = 0, error = 0;
};

/// How long a message keeps its port, where that is longer than its bytes take: the least of the
/// piece, as a longer time would delay its short messages.
double gap_of(const std::vector<LinkSample>& samples, size_t first, size_t last, double per_byte) {
  double least = std::numeric_limits<double>::infinity();
  size_t longer = 0;
  for (size_t i = first; i < last; ++i)
    if (samples[i].interval > 1.05 * per_byte * static_cast<double>(samples[i].bytes)) {
      least = std::min(least, samples[i].interval);
      ++longer;
    }
  return 2 * longer > last - first ? least : 0;
}

/// Minimizes relative errors of the times in [first, last). `least`: where the line begins at
/// least.
FittedLine fit_line(const std::vector<LinkSample>& samples, size_t first, size_t last,
                    double least) {
  double w = 0, wm = 0, wt = 0, wmm = 0, wmt = 0;
  for (size_t i = first; i < last; ++i) {
    const double m = static_cast<double>(samples[i].bytes), t = samples[i].one_way;
    const double weight = 1 / (t * t);
    w += weight, wm += weight * m, wt += weight * t, wmm += weight * m * m, wmt += weight * m * t;
  }
  FittedLine line;
  const double det = w * wmm - wm * wm;
  if (last - first > 1 && det > 0) line.per_byte = (w * wmt - wm * wt) / det;
  // One time alone says nothing about where the line begins.
  if (last - first == 1 && wmm > 0)
    line.per_byte = (samples[first].one_way - least) / static_cast<double>(samples[first].bytes);
  line.per_byte = std::max(line.per_byte, kLeastPerByte);
  line.start = (wt - line.per_byte * wm) / w;
  if (line.start < least) {
    line.start = least;
    if (wmm > 0) line.per_byte = std::max((wmt - least * wm) / wmm, kLeastPerByte);
  }
  line.gap = gap_of(samples, first, last, line.per_byte);
  for (size_t i = first; i < last; ++i) {
    const double t = samples[i].one_way, interval = samples[i].interval;
    const double bytes = line.per_byte * static_cast<double>(samples[i].bytes);
    const double away = (line.start + bytes - t) / t;
    line.error += away * away;
    if (interval <= 0) continue;
    const double apart = (std::max(line.gap, bytes) - interval) / interval;
    line.error += kIntervalWeight * apart * apart;
  }
  return line;
}

/// A piece: samples in [first, last).
struct SamplePiece {
  size_t first, last;
  FittedLine line;
};

/// The pieces of the samples from `begin` to `end` with the least error and cost. A piece has two
/// samples or more, where there are so many: between sizes that were measured its line is needed.
std::vector<SamplePiece> choose_pieces(const std::vector<LinkSample>& all, size_t begin, size_t end,
                                       double least) {
  const std::vector<LinkSample> samples(all.begin() + static_cast<ptrdiff_t>(begin),
                                        all.begin() + static_cast<ptrdiff_t>(end));
  const size_t n = samples.size();
  std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
  std::vector<SamplePiece> ending(n + 1);
  best[0] = 0;
  for (size_t last = 1; last <= n; ++last)
    for (size_t first = 0; first < last; ++first) {
      if (last - first < std::min<size_t>(2, n)) continue;
      const FittedLine line = fit_line(samples, first, last, least);
      const double cost = best[first] + line.error + kPieceCost;
      if (cost >= best[last]) continue;
      best[last] = cost;
      ending[last] = {begin + first, begin + last, line};
    }
  std::vector<SamplePiece> pieces;
  for (size_t last = n; last > 0; last = ending[last].first - begin) pieces.push_back(ending[last]);
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void append_links(std::string* out, const char* name, const MeasuredLinks& measured) {
  const LinkClass links = fit_links(measured);
  *out += format("    // %10s %14s %14s\n", "bytes", "measured, us", "predicted, us");
  for (const LinkSample& s : measured.samples)
    *out += format("    // %10llu %14.3f %14.3f\n", static_cast<unsigned long long>(s.bytes),
                   s.one_way / 1000, one_way_ns(links, s.bytes) / 1000);
  *out += format("    \"%s\": {\"eager\": %llu, \"pieces\": [\n", name,
                 static_cast<unsigned long long>(links.eager_bytes));
  for (const LinkPiece& p : links.pieces)
    *out += format(
        "      {\"from\": %llu, \"latency_ns\": %.1f, \"send_ns\": %.1f, \"receive_ns\": %.1f, "
        "\"gap_ns\": %.1f, \"gb_s\": %.6g}%s\n",
        static_cast<unsigned long long>(p.from_bytes), 1e-3 * static_cast<double>(p.latency),
        1e-3 * static_cast<double>(p.send_overhead), 1e-3 * static_cast<double>(p.receive_overhead),
        1e-3 * static_cast<double>(p.gap), 1000 / p.per_byte,
        &p == &links.pieces.back() ? "" : ",");
  *out += "    ]}";
}

}  // namespace

LinkClass fit_links(const MeasuredLinks& measured) {
  std::vector<LinkSample> samples = measured.samples;
  size_t eager = 0;
  while (eager < samples.size() && samples[eager].bytes <= measured.eager_bytes) ++eager;
  // A message takes no longer than a longer one of its kind: what is more is disturbed.
  for (size_t i = samples.size() - 1; i > 0; --i)
    if (i != eager) samples[i - 1].one_way = std::min(samples[i - 1].one_way, samples[i].one_way);
  // A port that were busy for longer than to and fro would have made the time itself longer.
  for (LinkSample& s : samples) s.interval = std::min(s.interval, 2 * s.one_way);
  LinkClass links;
  links.eager_bytes = measured.eager_bytes;
  double send = 0, receive = 0, more = 0;
  const auto append = [&](const SamplePiece& piece, uint64_t from) {
    const double rest = std::max(piece.line.start - more, 0.0);
    // The times of sender and receiver may overlap that of the message.
    const double part = std::min(rest / std::max(send + receive, 1e-3), 1.0);
    links.pieces.push_back({from, from_ns(std::max(rest - send - receive, 0.0)),
                            from_ns(part * send), from_ns(part * receive), from_ns(piece.line.gap),
                            1000 * piece.line.per_byte});
  };
  for (const SamplePiece& piece : choose_pieces(samples, 0, eager, 0)) {
    send = samples[piece.first].send, receive = samples[piece.first].receive;
    append(piece, links.pieces.empty() ? 0 : samples[piece.first].bytes);
  }
  if (!links.pieces.empty()) more = 2e-3 * static_cast<double>(links.pieces[0].latency);
  for (const SamplePiece& piece : choose_pieces(samples, eager, samples.size(), more)) {
    uint64_t from = samples[piece.first].bytes;
    if (piece.first == eager) from = eager ? measured.eager_bytes + 1 : 0;
    append(piece, from);
  }
  return links;
}

double one_way_ns(const LinkClass& links, uint64_t bytes) {
  const LinkPiece& piece = links.piece(bytes);
  VirtualTime time =
      piece.send_overhead + piece.latency + data_time(piece, bytes) + piece.receive_overhead;
  if (bytes > links.eager_bytes) time += 2 * links.piece(0).latency;
  return static_cast<double>(time) / kPicosecondsPerNs;
}

Status read_measured_links(const std::string& text, MeasuredLinks* out) {
  std::map<uint64_t, std::vector<LinkSample>> of_bytes;
  std::vector<double> eager, overlaps, buffered;
  bool ended = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    std::string key;
    int peer = 0;
    double value = 0;
    LinkSample s;
    in >> key;
    if (key == "end") ended = true;
    if (key == "sample" && in >> peer >> s.bytes >> s.one_way >> s.send >> s.receive >> s.interval)
      if (s.one_way > 0) of_bytes[s.bytes].push_back(s);
    if (key == "eager" && in >> peer >> value) eager.push_back(value);
    if (key == "overlaps" && in >> peer >> value) overlaps.push_back(value);
    if (key == "buffered" && in >> peer >> value >> s.bytes)
      buffered.push_back(value > kAllMoves ? kUnbounded : value * static_cast<double>(s.bytes));
    if (key == "reduction" && in >> value) out->reduction = value;
  }
  if (!ended || of_bytes.empty() || eager.empty() || overlaps.empty() || buffered.empty())
    return error(MPI_ERR_ARG, "the measuring program has not come to its end");
  out->eager_bytes = static_cast<uint64_t>(median(eager));
  out->overlaps = median(overlaps) > 0.5;
  const double held = median(buffered);
  out->buffered_bytes = held >= kUnbounded ? UINT64_MAX : static_cast<uint64_t>(held);
  for (const auto& [bytes, samples] : of_bytes) {
    const auto median_of = [&of = samples](double LinkSample::*member) {
      std::vector<double> values;
      for (const LinkSample& s : of) values.push_back(s.*member);
      return median(values);
    };
    out->samples.push_back({bytes, median_of(&LinkSample::one_way), median_of(&LinkSample::send),
                            median_of(&LinkSample::receive), median_of(&LinkSample::interval)});
  }
  return {};
}

Status read_host_file(const std::string& text, const std::string& name,
                      std::vector<CalibratedHost>* out) {
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line.resize(std::min(line.find('#'), line.size()));
    std::istringstream in(line);
    std::string word;
    if (!(in >> word)) continue;
    const size_t colon = word.find(':');
    CalibratedHost host{word.substr(0, colon), 0};
    if (colon != word.npos) {
      const auto ranks = parse_int(word.substr(colon + 1));
      if (!ranks || *ranks < 1 || *ranks > 100'000)
        return error(MPI_ERR_ARG, "%s, line %d: %s: allowed is HOST or HOST:RANKS", name.c_str(),
                     number, word.c_str());
      host.ranks = static_cast<uint32_t>(*ranks);
    }
    const auto known = std::find_if(out->begin(), out->end(),
                                    [&](const CalibratedHost& h) { return h.name == host.name; });
    if (known == out->end())
      out->push_back(std::move(host));
    else
      known->ranks = std::max(known->ranks, 1u) + std::max(host.ranks, 1u);
  }
  if (out->empty()) return error(MPI_ERR_ARG, "%s: it names no host", name.c_str());
  return {};
}

std::string machine_file_of(const MeasuredMachine& machine) {
  const MeasuredLinks& between = machine.between ? *machine.between : machine.inside;
  std::string text =
      "// Measured by fgmpi-info -calibrate. The columns are the times of messages.\n{\n";
  std::string name = machine.name;
  std::erase_if(name, [](unsigned char c) { return c < ' ' || c == '"' || c == '\\'; });
  text += format("  \"name\": \"%s\",\n", name.c_str());
  text += format("  \"nodes\": {%s\"ranks\": %u},\n",
                 machine.between ? format("\"count\": %u, ", machine.nodes).c_str() : "",
                 machine.ranks_per_node);
  const double reduction = std::clamp(machine.inside.reduction, 1e-3, 1e4);
  text += format(
      "  \"compute\": {\"speed\": 1%s},\n",
      machine.inside.reduction > 0 ? format(", \"reduction_gb_s\": %.4g", reduction).c_str() : "");
  text += format("  \"progress\": \"%s\",\n", between.overlaps ? "always" : "in calls");
  if (between.buffered_bytes != UINT64_MAX)
    text +=
        format("  \"buffered\": %llu,\n", static_cast<unsigned long long>(between.buffered_bytes));
  text += "  \"links\": {\n";
  append_links(&text, "inside", machine.inside);
  text += ",\n";
  if (!machine.between)
    text += "    // One host was measured: between nodes stands what is inside of it.\n";
  append_links(&text, "between", between);
  return text + "\n  }\n}\n";
}

}  // namespace fgmpi::predict
