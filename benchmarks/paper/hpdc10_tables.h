// What the programs for tables 1 and 2 of the HPDC'10 paper share: measuring every encoding of a
// group, the paper's own figures beside it, the aims, and the reports (markdown, CSV, SVG).
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/strings.h"
#include "groupmap/composite.h"
#include "groupmap/groupmap.h"

namespace hpdc10 {

using namespace fgmpi::groupmap;
using Ranks = std::vector<int32_t>;
using fgmpi::format;

/// One line of the paper's table. Times as there: all in ms, one in microseconds; 0: not given.
struct PaperFigure {
  const char* encoding;
  double kb, all_ms, one_us;
};

struct Row {
  std::string id;
  std::string description;
  Ranks ranks;
  bool structured;  // one of the rows for which the hybrid choice has aims
  double bound_kb;  // information-theoretic, for the random groups; else 0
  std::vector<PaperFigure> paper;
};

struct Measured {
  std::string name;  // the paper's name where it has one
  std::string what;  // describe()
  double kb = 0, all_ms = 0, all_by_select_ms = 0, one_ns = 0, independent_ns = 0, rank_ns = 0,
         build_ms = 0;
};

struct Options {
  const char* markdown = nullptr;
  const char* csv = nullptr;
  const char* svg = nullptr;
  double seconds = 0.05;  // for each measurement
};

inline Options parse_options(int argc, char** argv) {
  Options options;
  for (int k = 1; k < argc; ++k) {
    auto value = [&](const char* name) -> const char* {
      size_t length = std::strlen(name);
      return std::strncmp(argv[k], name, length) == 0 && argv[k][length] == '='
                 ? argv[k] + length + 1
                 : nullptr;
    };
    if (const char* text = value("--markdown")) {
      options.markdown = text;
    } else if (const char* text = value("--csv")) {
      options.csv = text;
    } else if (const char* text = value("--svg")) {
      options.svg = text;
    } else if (const char* text = value("--seconds")) {
      options.seconds = std::atof(text);
    } else {
      std::fprintf(stderr,
                   "usage: %s [--markdown=FILE] [--csv=FILE] [--svg=FILE] [--seconds=S]\n"
                   "Prints the markdown report to stdout unless --markdown is given; S: for each "
                   "measurement, default 0.05\n",
                   argv[0]);
      std::exit(2);
    }
  }
  return options;
}

/// CPU time of this thread: on a shared machine, what others take does not count.
inline double cpu_ns() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

inline double now_ns() {
  return static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                 std::chrono::steady_clock::now().time_since_epoch())
                                 .count());
}

/// Least time of `f` in ns, over at least three and at most 200 calls within `seconds`: the least
/// is what the machine can do; the mean includes interruptions by other programs.
template <class F>
double least_ns(double seconds, F f) {
  double least = HUGE_VAL, begin = now_ns();
  for (int round = 0; round < 200 && (round < 3 || now_ns() - begin < seconds * 1e9); ++round) {
    // Reading the CPU clock is a system call: too coarse for short rounds, which seldom are
    // interrupted.
    bool brief = least < 1e5;
    double start = brief ? now_ns() : cpu_ns();
    f();
    least = std::min(least, (brief ? now_ns() : cpu_ns()) - start);
  }
  return least;
}

// Results go here, so that no work is optimised away.
inline volatile int64_t sink;
// 0, unknown to the compiler: makes one select wait for the one before.
inline volatile int32_t zero;

constexpr int kDestinations = 1000;

/// The paper's select-one: the mean over 1,000 random destinations, new ones in each round, so that
/// the map's true working set is in play. As in a program of sends, a select begins when the last
/// one is done.
template <class Select>
double one_ns(int32_t size, double seconds, bool chained, Select select) {
  std::mt19937 random(7);
  std::vector<int32_t> destination(kDestinations * 32);
  for (int32_t& each : destination)
    each = static_cast<int32_t>(random() % static_cast<uint32_t>(size));
  size_t set = 0;
  int32_t mask = chained ? zero : 0;
  double least = least_ns(seconds, [&] {
    const int32_t* at = destination.data() + set++ % 32 * kDestinations;
    int64_t sum = 0;
    if (chained) {
      int32_t last = 0;
      for (int k = 0; k < kDestinations; ++k) last = select(at[k] + (last & mask));
      sum = last;
    } else {
      for (int k = 0; k < kDestinations; ++k) sum += select(at[k]);
    }
    sink = sink + sum;
  });
  return least / kDestinations;
}

inline Measured measure(const std::string& name, const MapRef& map, double build_ms,
                        const Options& options) {
  Measured m;
  m.name = name;
  m.what = map.describe();
  m.build_ms = build_ms;
  m.kb = static_cast<double>(map.bytes()) / 1024;
  Ranks chunk(1024);
  m.all_ms = least_ns(options.seconds,
                      [&] {
                        for (int32_t i = 0; i < map.size(); i += 1024) {
                          map.select_range(i, std::min(1024, map.size() - i), chunk.data());
                          sink = sink + chunk[0];
                        }
                      }) /
             1e6;
  Reader reader(map);
  m.all_by_select_ms = least_ns(options.seconds,
                                [&] {
                                  int64_t sum = 0;
                                  for (int32_t i = 0; i < map.size(); ++i) sum += reader.select(i);
                                  sink = sink + sum;
                                }) /
                       1e6;
  m.one_ns = one_ns(map.size(), options.seconds, true, [&](int32_t i) { return reader.select(i); });
  m.independent_ns =
      one_ns(map.size(), options.seconds, false, [&](int32_t i) { return reader.select(i); });
  Ranks some(64);
  for (int32_t k = 0; k < 64; ++k)
    some[k] = map.select(static_cast<int32_t>(int64_t{map.size()} * k / 64));
  m.rank_ns = least_ns(std::min(options.seconds, 0.02),
                       [&] {
                         int64_t sum = 0;
                         for (int k = 0; k < (map.encoding() == Encoding::bwt ? 1 : 64); ++k)
                           sum += map.rank(some[63 - k]);
                         sink = sink + sum;
                       }) /
              (map.encoding() == Encoding::bwt ? 1 : 64);
  return m;
}

/// The paper's name for what is the same here.
inline std::string paper_name(Encoding encoding) {
  switch (encoding) {
    case Encoding::array:
      return "ARRAY";
    case Encoding::bwt:
      return "BWT";
    case Encoding::bdd:
      return "BDD";
    case Encoding::bitmap:
      return "BMp";
    case Encoding::regular:
      return "R/S";
    default:
      return encoding_name(encoding);
  }
}

struct Result {
  const Row* row;
  std::vector<Measured> encodings;
  std::map<std::string, Measured> strategies;
  double pass_ms = 0;

  const Measured* find(const std::string& name) const {
    for (const Measured& m : encodings)
      if (m.name == name) return &m;
    return nullptr;
  }
  const Measured& array() const { return *find("ARRAY"); }
  const Measured& smallest() const {
    const Measured* least = &encodings[0];
    for (const Measured& m : encodings)
      if (m.kb < least->kb) least = &m;
    const Measured& space = strategies.at("space");
    return space.kb < least->kb ? space : *least;
  }
  double paper_best_kb() const {
    double least = HUGE_VAL;
    for (const PaperFigure& figure : row->paper)
      if (figure.kb > 0) least = std::min(least, figure.kb);
    return least;
  }
};

inline void check_same(const MapRef& map, const Ranks& ranks) {
  if (map.expand() == ranks) return;
  std::fprintf(stderr, "error: %s does not give the group back\n", map.describe().c_str());
  std::exit(1);
}

inline Result run(const Row& row, const Options& options) {
  Result result{&row, {}, {}, 0};
  auto add = [&](const std::string& name, auto build_it) {
    MapRef map;
    double start = cpu_ns();
    bool built = build_it(&map).ok();
    double build_ms = (cpu_ns() - start) / 1e6;
    if (!built) return;
    check_same(map, row.ranks);
    result.encodings.push_back(measure(name, map, build_ms, options));
  };
  for (Encoding encoding : all_encodings()) {
    if (encoding == Encoding::wavelet || encoding == Encoding::permuted) continue;
    add(paper_name(encoding), [&](MapRef* map) { return build_as(encoding, row.ranks, map); });
  }
  if (!std::is_sorted(row.ranks.begin(), row.ranks.end())) {
    for (Encoding permutation : {Encoding::wavelet, Encoding::permuted}) {
      for (Encoding set :
           {Encoding::regular, Encoding::bdd, Encoding::bitmap, Encoding::complement}) {
        std::string name = permutation == Encoding::wavelet ? "WTR+" : "permuted+";
        add(name + paper_name(set), [&](MapRef* map) {
          return build_composite(permutation, row.ranks, Strategy::named(set), map);
        });
      }
    }
  }
  for (Strategy strategy : {Strategy::space(), Strategy::time(), Strategy::hybrid()}) {
    MapRef map;
    double build_ms =
        least_ns(options.seconds, [&] { (void)build(row.ranks, strategy, &map); }) / 1e6;
    check_same(map, row.ranks);
    std::string name = strategy_name(strategy);
    result.strategies[name] = measure(name, map, build_ms, options);
  }
  // One pass over the array: what any test of it costs at least.
  result.pass_ms = least_ns(options.seconds,
                            [&] {
                              int64_t sum = 0;
                              for (int32_t rank : row.ranks) sum += rank;
                              sink = sink + sum;
                            }) /
                   1e6;
  return result;
}

class Report {
 public:
  void line(const char* text, ...) __attribute__((format(printf, 2, 3))) {
    va_list args;
    va_start(args, text);
    text_ += fgmpi::vformat(text, args) + "\n";
    va_end(args);
  }
  void store(const char* file) const {
    std::FILE* out = file ? std::fopen(file, "w") : stdout;
    if (!out) {
      std::fprintf(stderr, "error: cannot write %s\n", file);
      std::exit(1);
    }
    std::fputs(text_.c_str(), out);
    if (file) std::fclose(out);
  }

 private:
  std::string text_;
};

inline std::string number(double value) {
  return value == 0 ? "" : format(value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value);
}

inline void write_row(Report& out, const Result& result) {
  const Row& row = *result.row;
  double n = static_cast<double>(row.ranks.size());
  out.line("## Row %s: %s; %zu members", row.id.c_str(), row.description.c_str(), row.ranks.size());
  if (row.bound_kb > 0) out.line("\nInformation-theoretic bound: %.2f KB.", row.bound_kb);
  out.line(
      "\nPaper's figures in brackets. one: select of 1,000 random destinations, each after the "
      "last; free: "
      "the same, overlapping; all: iteration in bulk; x: ratio to ARRAY in this run.\n");
  out.line(
      "| encoding | KB | [KB] | bits/member | one ns | x | [one ns] | free ns | all ms | [all ms] "
      "| rank ns | build ms |");
  out.line("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
  auto write = [&](const Measured& m, const PaperFigure* paper, const std::string& name) {
    out.line("| %s | %.3g | %s | %.3g | %.1f | %.1f | %s | %.1f | %.3g | %s | %.0f | %.3g |",
             name.c_str(), m.kb, paper ? number(paper->kb).c_str() : "", m.kb * 8192 / n, m.one_ns,
             m.one_ns / result.array().one_ns, paper ? number(paper->one_us * 1000).c_str() : "",
             m.independent_ns, m.all_ms, paper ? number(paper->all_ms).c_str() : "", m.rank_ns,
             m.build_ms);
  };
  for (const Measured& m : result.encodings) {
    const PaperFigure* paper = nullptr;
    for (const PaperFigure& figure : row.paper)
      if (m.name == figure.encoding) paper = &figure;
    write(m, paper, m.name);
  }
  for (const char* strategy : {"space", "time", "hybrid"}) {
    const Measured& m = result.strategies.at(strategy);
    write(m, nullptr, format("**%s**: %s", strategy, m.what.c_str()));
  }
  out.line("%s", "");
}

/// The aims, a line a row: met, or what is missing.
inline void write_aims(Report& out, const std::vector<Result>& results) {
  out.line("## Aims\n");
  out.line(
      "| row | our best KB | paper's best KB | | hybrid one / ARRAY (<= 4) | free | hybrid KB / "
      "our best (<= 1.5) | build / pass (<= 20) | space / bound (<= 1.2) | slower than the paper "
      "|");
  out.line("| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |");
  for (const Result& result : results) {
    const Measured &hybrid = result.strategies.at("hybrid"), &array = result.array();
    double best = result.smallest().kb, paper = result.paper_best_kb();
    auto judge = [](double value, double most) {
      return format("%.2f %s", value, value <= most ? "met" : "**missed**");
    };
    std::string slower;
    for (const PaperFigure& figure : result.row->paper) {
      const Measured* m = result.find(figure.encoding);
      if (!m) continue;
      // The paper's way to measure: one select after another, free to overlap.
      if (figure.one_us > 0 && m->independent_ns > figure.one_us * 1000)
        slower += format("%s one ", figure.encoding);
      if (figure.all_ms > 0 && m->all_ms > figure.all_ms)
        slower += format("%s all ", figure.encoding);
    }
    bool structured = result.row->structured;
    out.line("| %s | %.4g (%s) | %.4g | %s | %s | %.2f | %s | %s | %s | %s |",
             result.row->id.c_str(), best, result.smallest().what.c_str(), paper,
             best <= paper ? "met" : "**missed**",
             structured ? judge(hybrid.one_ns / array.one_ns, 4).c_str() : "-",
             hybrid.independent_ns / array.independent_ns,
             structured ? judge(hybrid.kb / best, 1.5).c_str() : "-",
             judge(hybrid.build_ms / result.pass_ms, 20).c_str(),
             result.row->bound_kb > 0
                 ? judge(result.strategies.at("space").kb / result.row->bound_kb, 1.2).c_str()
                 : "-",
             slower.empty() ? "none" : slower.c_str());
  }
  out.line("%s", "");
}

inline void write_csv(Report& out, const std::vector<Result>& results) {
  out.line(
      "row,size,encoding,detail,kb,bits_per_member,space_ratio,one_ns,one_ratio,one_independent_ns,"
      "all_ms,"
      "all_by_select_ms,rank_ns,build_ms,pass_ms,paper_kb,paper_one_us,paper_all_ms");
  for (const Result& result : results) {
    auto write = [&](const std::string& name, const Measured& m) {
      PaperFigure paper{"", 0, 0, 0};
      for (const PaperFigure& figure : result.row->paper)
        if (name == figure.encoding) paper = figure;
      double n = static_cast<double>(result.row->ranks.size());
      out.line("%s,%zu,%s,\"%s\",%.4f,%.4f,%.6f,%.2f,%.3f,%.2f,%.5f,%.5f,%.1f,%.4f,%.5f,%s,%s,%s",
               result.row->id.c_str(), result.row->ranks.size(), name.c_str(), m.what.c_str(), m.kb,
               m.kb * 8192 / n, m.kb / result.array().kb, m.one_ns,
               m.one_ns / result.array().one_ns, m.independent_ns, m.all_ms, m.all_by_select_ms,
               m.rank_ns, m.build_ms, result.pass_ms, number(paper.kb).c_str(),
               paper.one_us > 0 ? format("%.3f", paper.one_us).c_str() : "",
               number(paper.all_ms).c_str());
    };
    for (const Measured& m : result.encodings) write(m.name, m);
    for (const auto& [name, m] : result.strategies) write(name, m);
  }
}

/// Space against select time, both logarithmic, a panel a row; rings mark the strategies' choices.
inline void write_svg(Report& out, const char* title, const std::vector<Result>& results) {
  constexpr double kWide = 420, kHigh = 330, kLeft = 60, kTop = 40, kPlotWide = 330,
                   kPlotHigh = 230;
  constexpr int kColumns = 2;
  int rows = (static_cast<int>(results.size()) + kColumns - 1) / kColumns;
  out.line(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
      "font-family=\"sans-serif\" "
      "font-size=\"10\">",
      kWide * kColumns, kHigh * rows + 30);
  out.line("<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>");
  out.line("<text x=\"%g\" y=\"18\" font-size=\"14\" text-anchor=\"middle\">%s</text>",
           kWide * kColumns / 2, title);
  for (size_t k = 0; k < results.size(); ++k) {
    const Result& result = results[k];
    out.line("<g transform=\"translate(%g,%g)\">", kWide * static_cast<double>(k % kColumns),
             30 + kHigh * static_cast<double>(k / kColumns));
    out.line("<text x=\"%g\" y=\"28\" text-anchor=\"middle\">Row %s: %s</text>",
             kLeft + kPlotWide / 2, result.row->id.c_str(), result.row->description.c_str());
    // x: 0.3 ns to 1 ms; y: 16 bytes to 16 MB.
    auto x = [&](double ns) {
      return kLeft + kPlotWide * std::clamp(std::log10(ns / 0.3) / 6.5, 0.0, 1.0);
    };
    auto y = [&](double kb) {
      return kTop + kPlotHigh * (1 - std::clamp(std::log10(kb * 64) / 6.1, 0.0, 1.0));
    };
    out.line("<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" stroke=\"#999\"/>",
             kLeft, kTop, kPlotWide, kPlotHigh);
    for (double ns : {1.0, 10.0, 100.0, 1e3, 1e4, 1e5})
      out.line(
          "<path d=\"M%g %g v%g\" stroke=\"#eee\"/><text x=\"%g\" y=\"%g\" "
          "text-anchor=\"middle\">%g</text>",
          x(ns), kTop, kPlotHigh, x(ns), kTop + kPlotHigh + 14, ns);
    for (double kb : {0.1, 1.0, 10.0, 100.0, 1e3, 1e4})
      out.line(
          "<path d=\"M%g %g h%g\" stroke=\"#eee\"/><text x=\"%g\" y=\"%g\" "
          "text-anchor=\"end\">%g</text>",
          kLeft, y(kb), kPlotWide, kLeft - 4, y(kb) + 3, kb);
    out.line("<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">select one, ns</text>",
             kLeft + kPlotWide / 2, kTop + kPlotHigh + 30);
    out.line("<text transform=\"translate(14,%g) rotate(-90)\" text-anchor=\"middle\">KB</text>",
             kTop + kPlotHigh / 2);
    for (const PaperFigure& figure : result.row->paper)
      if (figure.one_us > 0)
        out.line(
            "<path d=\"M%g %g m-3 -3 l6 6 m0 -6 l-6 6\" stroke=\"#b44\" fill=\"none\"/><text "
            "x=\"%g\" y=\"%g\" "
            "fill=\"#b44\" font-size=\"8\">[%s]</text>",
            x(figure.one_us * 1000), y(figure.kb), x(figure.one_us * 1000) + 5, y(figure.kb) + 8,
            figure.encoding);
    for (const Measured& m : result.encodings)
      out.line(
          "<circle cx=\"%g\" cy=\"%g\" r=\"3\" fill=\"#26c\"/><text x=\"%g\" y=\"%g\" "
          "font-size=\"8\">%s</text>",
          x(m.one_ns), y(m.kb), x(m.one_ns) + 5, y(m.kb) - 2, m.name.c_str());
    const std::pair<const char*, const char*> choices[] = {
        {"space", "#2a2"}, {"time", "#c80"}, {"hybrid", "#a0c"}};
    double radius = 5;
    for (auto [name, colour] : choices) {
      const Measured& m = result.strategies.at(name);
      out.line("<circle cx=\"%g\" cy=\"%g\" r=\"%g\" fill=\"none\" stroke=\"%s\"/>", x(m.one_ns),
               y(m.kb), radius, colour);
      radius += 2;
    }
    out.line("</g>");
  }
  out.line(
      "<text x=\"%g\" y=\"%g\">dots: measured; crosses: the paper's figures; rings: choice for "
      "<tspan fill=\"#2a2\">space</tspan>, <tspan fill=\"#c80\">time</tspan>, <tspan "
      "fill=\"#a0c\">hybrid</tspan></text>",
      kLeft, kHigh * rows + 24);
  out.line("</svg>");
}

/// The whole program, but for the groups.
inline int report(int argc, char** argv, const char* title, const std::vector<Row>& rows) {
  Options options = parse_options(argc, argv);
  std::vector<Result> results;
  for (const Row& row : rows) results.push_back(run(row, options));
  Report markdown, csv, svg;
  markdown.line("# %s\n", title);
  write_aims(markdown, results);
  for (const Result& result : results) write_row(markdown, result);
  markdown.store(options.markdown);
  if (options.csv) {
    write_csv(csv, results);
    csv.store(options.csv);
  }
  if (options.svg) {
    write_svg(svg, title, results);
    svg.store(options.svg);
  }
  return 0;
}

inline Ranks iota(int32_t size, int32_t offset = 0, int32_t stride = 1) {
  Ranks ranks(static_cast<size_t>(size));
  for (int32_t i = 0; i < size; ++i) ranks[i] = offset + i * stride;
  return ranks;
}

/// Bits of log2(n!) and log2 of the binomial coefficient, in KB.
inline double log2_factorial(double n) { return std::lgamma(n + 1) / std::log(2.0); }
inline double kb_of_bits(double bits) { return bits / 8192; }

}  // namespace hpdc10
