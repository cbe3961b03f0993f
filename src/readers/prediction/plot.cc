// The curve of several predicted runs, as SVG.

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "readers/prediction/text.h"

namespace fgmpi::predict {
namespace {

constexpr double kWidth = 720, kHeight = 440, kLeft = 80, kRight = 150, kTop = 50, kBottom = 60;

/// An axis whose equal steps are equal factors.
struct LogAxis {
  double least = 0, most = 0;  ///< logarithms
  double from = 0, to = 0;     ///< in the picture
  void cover(double value) {
    const double log = std::log10(std::max(value, 1e-12));
    if (most == least && most == 0) least = most = log;
    least = std::min(least, log);
    most = std::max(most, log);
  }
  double at(double value) const {
    const double log = std::log10(std::max(value, 1e-12));
    return from + (to - from) * (log - least) / std::max(most - least, 1e-9);
  }
};

double seconds_of(const PredictionOutcome& o) { return static_cast<double>(o.total()) * 1e-12; }
double ranks_of(const PredictionOutcome& o) { return static_cast<double>(o.ranks.size()); }

/// What the first run's time would be with more ranks, if they were all as fast.
double ideal_of(const PredictionOutcome& first, double ranks) {
  return seconds_of(first) * ranks_of(first) / ranks;
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return format("<text x='%.1f' y='%.1f' text-anchor='%s'>%s</text>\n", x, y, anchor,
                html_escaped(text).c_str());
}
std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return format("<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' %s/>\n", x1, y1, x2, y2, style);
}

/// The powers of ten on the axis of times, and each number of ranks on the other one.
std::string ticks(const std::vector<PredictionOutcome>& outcomes, const LogAxis& x,
                  const LogAxis& y) {
  constexpr const char* kGrid = "stroke='#ddd'";
  std::string text;
  for (double power = std::floor(y.least); power <= y.most + 1; ++power) {
    const double value = std::pow(10, power), at = y.at(value);
    if (at < kTop - 1 || at > kHeight - kBottom + 1) continue;
    text += line(kLeft, at, kWidth - kRight, at, kGrid);
    text += label(kLeft - 6, at + 4, "end",
                  time_words(static_cast<VirtualTime>(std::llround(value * 1e12))));
  }
  for (const PredictionOutcome& o : outcomes) {
    text += line(x.at(ranks_of(o)), kTop, x.at(ranks_of(o)), kHeight - kBottom, kGrid);
    text +=
        label(x.at(ranks_of(o)), kHeight - kBottom + 18, "middle", format("%zu", o.ranks.size()));
  }
  return text;
}

}  // namespace

std::string plot_of(const std::vector<PredictionOutcome>& outcomes) {
  const PredictionOutcome& first = outcomes.front();
  LogAxis x{0, 0, kLeft + 20, kWidth - kRight - 20}, y{0, 0, kHeight - kBottom, kTop};
  double least = ranks_of(first), most = least;
  for (const PredictionOutcome& o : outcomes) {
    x.cover(ranks_of(o));
    y.cover(seconds_of(o));
    y.cover(ideal_of(first, ranks_of(o)));
    least = std::min(least, ranks_of(o));
    most = std::max(most, ranks_of(o));
  }
  std::string text = format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' font-family='sans-serif' "
      "font-size='12'>\n<rect width='100%%' height='100%%' fill='white'/>\n",
      kWidth, kHeight);
  text += label(kLeft, kTop - 22, "start", "Predicted time on " + first.machine);
  text += label((kLeft + kWidth - kRight) / 2, kHeight - 18, "middle", "ranks");
  text += ticks(outcomes, x, y);
  text += line(x.at(least), y.at(ideal_of(first, least)), x.at(most), y.at(ideal_of(first, most)),
               "stroke='#888' stroke-dasharray='5 4'");
  text += label(x.at(most) + 8, y.at(ideal_of(first, most)) + 4, "start", "ideal");
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const double px = x.at(ranks_of(outcomes[i])), py = y.at(seconds_of(outcomes[i]));
    if (i > 0)
      text += line(x.at(ranks_of(outcomes[i - 1])), y.at(seconds_of(outcomes[i - 1])), px, py,
                   "stroke='#15c' stroke-width='2'");
    text += format("<circle cx='%.1f' cy='%.1f' r='4' fill='#15c'/>\n", px, py);
    text += label(px + 8, py + 16, "start",
                  time_words(outcomes[i].total()) + ", " + std::string(limit_of(outcomes[i])));
  }
  return text + "</svg>\n";
}

}  // namespace fgmpi::predict
