// The tables of ranks that have moved. See moved_ranks.h.

#include "ch4-av-rankmap/moved_ranks.h"

#include <algorithm>

#include "base/assert.h"
#include "base/strings.h"

namespace fgmpi {

MovedRanks::Table::iterator MovedRanks::lower_bound(Table& table, uint32_t key) {
  return std::lower_bound(table.begin(), table.end(), key,
                          [](const MovedRank& entry, uint32_t k) { return entry.key < k; });
}

uint32_t MovedRanks::find(const Table& table, uint32_t key) {
  const auto at = lower_bound(const_cast<Table&>(table), key);
  return at != table.end() && at->key == key ? at->value : kNone;
}

void MovedRanks::set_process(uint32_t world, uint32_t process) {
  const auto at = lower_bound(processes_, world);
  if (at != processes_.end() && at->key == world)
    at->value = process;
  else
    processes_.insert(at, {world, process});
}

void MovedRanks::forget(uint32_t world) {
  const auto at = lower_bound(processes_, world);
  if (at != processes_.end() && at->key == world) processes_.erase(at);
}

uint32_t MovedRanks::process_of(uint32_t world) const { return find(processes_, world); }

void MovedRanks::add_visitor(uint32_t world, uint32_t local) {
  FGMPI_CHECK(index_of_visitor(world) == kNone && visitor_at(local) == kNone);
  visitors_.insert(lower_bound(visitors_, local), {local, world});
}

void MovedRanks::remove_visitor(uint32_t world) {
  const uint32_t local = index_of_visitor(world);
  FGMPI_CHECK(local != kNone);
  visitors_.erase(lower_bound(visitors_, local));
}

uint32_t MovedRanks::visitor_at(uint32_t local) const { return find(visitors_, local); }

uint32_t MovedRanks::index_of_visitor(uint32_t world) const {
  for (const MovedRank& visitor : visitors_)
    if (visitor.value == world) return visitor.key;
  return kNone;
}

bool MovedRanks::validate(std::string* reason) const {
  const auto ascends = [](const Table& table) {
    return std::adjacent_find(table.begin(), table.end(),
                              [](const MovedRank& a, const MovedRank& b) {
                                return a.key >= b.key;
                              }) == table.end();
  };
  if (!ascends(processes_)) return *reason = "world ranks do not ascend", false;
  if (!ascends(visitors_)) return *reason = "local indices of visitors do not ascend", false;
  for (const MovedRank& visitor : visitors_)
    if (index_of_visitor(visitor.value) != visitor.key)
      return *reason = format("world rank %u is a visitor twice", visitor.value), false;
  return true;
}

}  // namespace fgmpi
