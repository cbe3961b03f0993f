// The page of a recorded run: its tables, and the data of the timeline, which is a script's.

#include "launcher/mpiexec/recorded_page.h"

#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/strings.h"

namespace fgmpi::launcher {
namespace {

/// The last events of a run are on the timeline, so many at most: a page of some ten megabytes.
constexpr uint64_t kMostShown = 400'000;

std::string html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

/// A string of JavaScript that may stand in an element <script>.
std::string script_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || c == '"' || c == '\\' || c == '<')
      out += format("\\u%04x", code);
    else
      out += c;
  }
  return out + "\"";
}

std::string list_of(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) out += (out.size() > 1 ? "," : "") + item;
  return out + "]";
}

constexpr const char* kStyle = R"(<style>
body { font: 15px sans-serif; margin: 2em; max-width: 75em }
table { border-collapse: collapse } td, th { padding: .15em .8em; border-bottom: 1px solid #ccc; text-align: left }
td.n { text-align: right } canvas { width: 100%; height: 420px; border: 1px solid #999; cursor: crosshair }
#chosen { min-height: 5em; background: #f3f3f3; padding: .6em; margin-top: .5em } code { user-select: all }
</style>
)";

/// Draws the events, and shows the one that is clicked.
constexpr const char* kScript = R"(
const canvas = document.getElementById('time'), pen = canvas.getContext('2d');
let from = 0, to = rank.length;
const hue = calls.map((_, i) => `hsl(${i * 137 % 360} 70% 42%)`);
function draw() {
  canvas.width = canvas.clientWidth, canvas.height = canvas.clientHeight;
  const wide = canvas.width / Math.max(to - from, 1), high = canvas.height / ranks;
  for (let i = Math.floor(from); i < Math.min(to, rank.length); ++i) {
    pen.fillStyle = hue[call[i]];
    pen.fillRect((i - from) * wide, rank[i] * high, Math.max(wide, 1), Math.max(high, 1));
  }
  document.getElementById('shown').textContent = `events ${first + Math.floor(from)} to ${first + Math.floor(to) - 1}`;
}
function at(event) {
  const box = canvas.getBoundingClientRect(), x = from + (event.clientX - box.left) / box.width * (to - from);
  const row = (event.clientY - box.top) / box.height * ranks;
  const per = Math.max((to - from) / box.width * 6, 1), line = ranks / box.height * 6;
  let best = -1, least = Infinity;
  for (let i = Math.max(Math.floor(x - per), 0); i < Math.min(x + per, rank.length); ++i) {
    const away = ((i + .5 - x) / per) ** 2 + ((rank[i] + .5 - row) / Math.max(line, 1)) ** 2;
    if (away < least) least = away, best = i;
  }
  return best;
}
canvas.onclick = event => {
  const i = at(event);
  if (i < 0) return;
  const number = first + i, box = document.getElementById('chosen');
  box.textContent = '';
  const add = (tag, text) => { const line = box.appendChild(document.createElement('div'));
    line.appendChild(document.createElement(tag)).textContent = text; };
  add('b', `${number}: rank ${rank[i]} ${calls[call[i]]} at ${places[place[i]]}`);
  add('code', `mpiexec -rewind ${recording} gdb -ex "fgmpi goto ${number}"`);
  add('code', `fgmpi goto ${number}`);
};
canvas.onwheel = event => {
  event.preventDefault();
  const middle = from + event.offsetX / canvas.clientWidth * (to - from), by = event.deltaY > 0 ? 1.3 : 1 / 1.3;
  from = Math.max(middle - (middle - from) * by, 0), to = Math.min(middle + (to - middle) * by, rank.length);
  if (to - from < 5) to = Math.min(from + 5, rank.length);
  draw();
};
window.onresize = draw;
draw();
)";

/// How often each word occurs, the most frequent ones first.
std::string table_of(const char* title, const std::map<std::string, uint64_t>& counts) {
  std::vector<std::pair<std::string, uint64_t>> rows(counts.begin(), counts.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out = format("<h2>%s</h2>\n<table>\n", title);
  for (const auto& [name, count] : rows)
    out += "<tr><td>" + html(name) + "</td><td class=n>" + std::to_string(count) + "</td></tr>\n";
  return out + "</table>\n";
}

/// Numbers words in the order in which they come.
class WordNumbers {
 public:
  uint32_t number_of(const std::string& word) {
    const auto [at, fresh] = numbers_.try_emplace(word, static_cast<uint32_t>(numbers_.size()));
    if (fresh) words_.push_back(script_text(word));
    return at->second;
  }
  std::string list() const { return list_of(words_); }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> words_;
};

std::string data_of(const RecordedPage& about, RunEvents* events) {
  const uint64_t count = events->count();
  const uint64_t first = count > kMostShown ? count - kMostShown + 1 : 1;
  std::string rank = "[", call = "[", place = "[";
  WordNumbers calls, places;
  for (uint64_t event = first; event <= count; ++event) {
    const char* comma = event > first ? "," : "";
    rank += comma + std::to_string(events->at(event).rank);
    call += comma + std::to_string(calls.number_of(events->call_words(event)));
    place += comma + std::to_string(places.number_of(events->place_of(event)));
  }
  return format("const first = %llu, ranks = %u, recording = %s;\n",
                static_cast<unsigned long long>(first), std::max(about.ranks, 1u),
                script_text(about.recording).c_str()) +
         "const calls = " + calls.list() + ", places = " + places.list() +
         ";\nconst rank = " + rank + "], call = " + call + "], place = " + place + "];\n";
}

}  // namespace

Status write_recorded_page(const RecordedPage& about, RunEvents* events, const std::string& path) {
  std::map<std::string, uint64_t> calls, comms, places;
  for (uint64_t event = 1; event <= events->count(); ++event) {
    ++calls[events->call_of(event).name];
    if (const std::string comm = events->comm_of(event); !comm.empty()) ++comms[comm];
    ++places[events->place_of(event)];
  }
  std::ofstream out(path);
  out << "<!doctype html>\n<html lang=en><meta charset=utf-8>\n<title>" << html(about.command)
      << "</title>\n"
      << kStyle << "<h1>" << html(about.command) << "</h1>\n<p>" << about.ranks << " ranks, "
      << events->count() << " MPI calls; " << html(about.end) << "; recorded in <code>"
      << html(about.recording)
      << "</code></p>\n<h2>Timeline</h2>\n<p>Each MPI call is a mark, in the order in which calls "
         "began; rank 0 is the first row. The wheel zooms; a click shows the command that goes to "
         "a call. <span id=shown></span></p>\n<canvas id=time></canvas>\n<div id=chosen></div>\n"
      << table_of("Calls", calls) << table_of("Communicators", comms) << table_of("Lines", places)
      << "<script>\n"
      << data_of(about, events) << kScript << "</script>\n</html>\n";
  out.close();
  if (!out) return error(MPI_ERR_FILE, "-report %s: %s", path.c_str(), std::strerror(errno));
  return {};
}

}  // namespace fgmpi::launcher
