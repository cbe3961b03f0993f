// Where a rank's time is added.

#include "profile/call_times.h"

namespace fgmpi::report {
namespace {

void add_to_family(uint16_t family, uint16_t call, uint64_t ns) {
  FamilyRecord* f = g_hot.families[family];
  if (!f) return;
  f->ns += ns;
  if (CollectiveRecord* r = collective_record(f, call)) r->ns += ns;
}

/// Adds the time to the site's own cell, or to the cell with the least time, whose time it
/// continues. So the most expensive sites remain.
void add_to_site_of_rank(RankRecord* r, uint64_t site, uint64_t ns) {
  SiteCell* least = r->sites;
  for (SiteCell& cell : r->sites) {
    if (cell.site == site) {
      cell.ns += ns;
      return;
    }
    if (cell.ns < least->ns) least = &cell;
  }
  least->site = site;
  least->ns += ns;
}

}  // namespace

void CallTimes::add_to_call(RankRecord* r, uint16_t call, uint64_t ns) {
  const uint32_t cell =
      g_moving ? MovingRanks::cell_in(static_cast<LiveRecord*>(r), call) : g_hot.cells[call];
  if (cell) add_time(&r->call_times[(cell - kCellsAt) / sizeof(CallCell)], ns);
  const uint64_t site = program_address(r->site);
  add_to_site_of_rank(r, site, ns);
  add_to_site(site, call, ns);
  if (kCalls[call].doing == Doing::kCollective && r->family < kFamilies)
    add_to_family(r->family, call, ns);
}

void CallTimes::add_to_site(uint64_t site, uint16_t call, uint64_t ns) {
  SiteRecord* s = sites_.find(
      site, [&](const SiteRecord& o) { return o.site == site; },
      [&](SiteRecord* made) {
        *made = {site, 0, call, 0};
      });
  if (s) s->ns += ns;
}

void CallTimes::add_to_peer(RankRecord* r, int32_t peer, uint64_t ns) {
  const uint32_t wanted = peer >= kIsSource ? static_cast<uint32_t>(peer - kIsSource) + 1
                                            : (static_cast<uint32_t>(peer) + 1) | kIsTarget;
  WaitCell* cell = r->waits;
  for (WaitCell& c : r->waits) {
    if (c.peer_and_one == wanted) {
      cell = &c;
      break;
    }
    if (c.time < cell->time) cell = &c;
  }
  cell->peer_and_one = wanted;
  add_time(&cell->time, ns);
}

void CallTimes::add_time(uint32_t* sum, uint64_t ns) {
  for (;;) {
    const uint64_t unit = header_->time_unit;
    const uint64_t more = (ns + random(static_cast<uint32_t>(unit))) / unit;
    if (more <= UINT32_MAX - *sum) {
      *sum += static_cast<uint32_t>(more);
      return;
    }
    if (2 * unit > kMostTimeUnit || g_moving) {
      *sum = UINT32_MAX;
      return;
    }
    double_unit();
  }
}

void CallTimes::double_unit() {
  auto halve = [&](uint32_t* sum) { *sum = *sum / 2 + (*sum % 2 && random(2)); };
  for (int32_t i = 0; i < header_->ranks; ++i) {
    RankRecord& r = g_process.ranks[i];
    for (uint32_t& time : r.call_times) halve(&time);
    for (WaitCell& cell : r.waits) halve(&cell.time);
  }
  header_->time_unit *= 2;
}

}  // namespace fgmpi::report
