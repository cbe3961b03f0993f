// The file of a prediction's outcome: a line of totals, then a line for each rank.

#include "predict/outcome.h"

#include <mpi.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace fgmpi::predict {

namespace {

void write_place(const PathPlace& place, std::ofstream* out) {
  *out << place.offset << ' ' << place.file << '\n';
}
void read_place(std::ifstream* in, PathPlace* place) {
  *in >> place->offset;
  in->get();
  std::getline(*in, place->file);
}

void write_path(const PathSummary& path, std::ofstream* out) {
  *out << "path " << path.computing << ' ' << path.calls << ' ' << path.latency << ' ' << path.bytes
       << ' ' << path.waited << ' ' << path.messages << ' ' << path.lines.size() << '\n';
  for (const PathLine& line : path.lines) {
    *out << line.is_message << ' ' << line.time << ' ' << line.count << '\n';
    write_place(line.from, out);
    write_place(line.to, out);
  }
}
void read_path(std::ifstream* in, PathSummary* path) {
  std::string word;
  size_t lines = 0;
  if (!(*in >> word) || word != "path") return in->clear();
  *in >> path->computing >> path->calls >> path->latency >> path->bytes >> path->waited >>
      path->messages >> lines;
  for (size_t i = 0; i < lines && *in; ++i) {
    PathLine& line = path->lines.emplace_back();
    *in >> line.is_message >> line.time >> line.count;
    read_place(in, &line.from);
    read_place(in, &line.to);
  }
  path->is_known = true;
}

}  // namespace

VirtualTime PredictionOutcome::total() const {
  VirtualTime latest = 0;
  for (const RankTimes& rank : ranks) latest = std::max(latest, rank.total);
  return latest;
}

Status PredictionOutcome::write(const std::string& path) const {
  std::ofstream out(path);
  out << machine << '\n';
  out << nodes << ' ' << transfers << ' ' << events << ' ' << contention << ' ' << corrected << ' '
      << by_clock << ' ' << times_missing << ' ' << times_left << ' ' << waited_outside << ' '
      << ranks.size() << ' ' << schedules.size() << '\n';
  for (const ScheduleCount& s : schedules)
    out << int{s.collective} << ' ' << static_cast<int>(s.algorithm) << ' ' << s.count << '\n';
  for (const RankTimes& r : ranks)
    out << r.total << ' ' << r.computing << ' ' << r.overhead << ' ' << r.messages << ' '
        << r.collectives << ' ' << r.other << ' ' << r.sent << ' ' << r.sent_bytes << ' ' << r.calls
        << '\n';
  if (this->path.is_known) write_path(this->path, &out);
  out.close();
  if (!out) return error(MPI_ERR_OTHER, "%s cannot be written", path.c_str());
  return {};
}

Status PredictionOutcome::read(const std::string& path, PredictionOutcome* outcome) {
  std::ifstream in(path);
  size_t count = 0, schedules = 0;
  PredictionOutcome read;
  std::getline(in, read.machine);
  in >> read.nodes >> read.transfers >> read.events >> read.contention >> read.corrected >>
      read.by_clock >> read.times_missing >> read.times_left >> read.waited_outside >> count >>
      schedules;
  for (size_t i = 0; i < schedules && in; ++i) {
    unsigned collective = 0, algorithm = 0;
    ScheduleCount s;
    in >> collective >> algorithm >> s.count;
    s.collective = static_cast<uint8_t>(collective);
    s.algorithm = static_cast<ScheduleAlgorithm>(std::min<unsigned>(algorithm, kAlgorithms - 1));
    read.schedules.push_back(s);
  }
  for (size_t i = 0; i < count && in; ++i) {
    RankTimes r;
    in >> r.total >> r.computing >> r.overhead >> r.messages >> r.collectives >> r.other >>
        r.sent >> r.sent_bytes >> r.calls;
    read.ranks.push_back(r);
  }
  if (in) read_path(&in, &read.path);
  if (!in) return error(MPI_ERR_OTHER, "%s: holds no outcome of a prediction", path.c_str());
  *outcome = std::move(read);
  return {};
}

}  // namespace fgmpi::predict
