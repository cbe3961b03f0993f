// The file of a prediction's outcome: a line of totals, then a line for each rank.

#include "predict/outcome.h"

#include <mpi.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace fgmpi::predict {

VirtualTime PredictionOutcome::total() const {
  VirtualTime latest = 0;
  for (const RankTimes& rank : ranks) latest = std::max(latest, rank.total);
  return latest;
}

Status PredictionOutcome::write(const std::string& path) const {
  std::ofstream out(path);
  out << machine << '\n';
  out << nodes << ' ' << transfers << ' ' << events << ' ' << contention << ' ' << ranks.size()
      << '\n';
  for (const RankTimes& r : ranks)
    out << r.total << ' ' << r.computing << ' ' << r.overhead << ' ' << r.messages << ' '
        << r.collectives << ' ' << r.other << ' ' << r.sent << ' ' << r.sent_bytes << ' ' << r.calls
        << '\n';
  out.close();
  if (!out) return error(MPI_ERR_OTHER, "%s cannot be written", path.c_str());
  return {};
}

Status PredictionOutcome::read(const std::string& path, PredictionOutcome* outcome) {
  std::ifstream in(path);
  size_t count = 0;
  PredictionOutcome read;
  std::getline(in, read.machine);
  in >> read.nodes >> read.transfers >> read.events >> read.contention >> count;
  for (size_t i = 0; i < count && in; ++i) {
    RankTimes r;
    in >> r.total >> r.computing >> r.overhead >> r.messages >> r.collectives >> r.other >>
        r.sent >> r.sent_bytes >> r.calls;
    read.ranks.push_back(r);
  }
  if (!in) return error(MPI_ERR_OTHER, "%s: holds no outcome of a prediction", path.c_str());
  *outcome = std::move(read);
  return {};
}

}  // namespace fgmpi::predict
