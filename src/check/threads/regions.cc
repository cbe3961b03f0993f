// The strands of OpenMP: parallel regions, chunks and tasks.
#include <algorithm>

#include "check/threads/strands.h"

namespace fgmpi::check {

using access::Sync;

namespace {

/// What a parallel region has besides its beginning, whose key is the region's address.
enum RegionKey : uint64_t {
  kRegionEnd = 1,      ///< what its members and tasks have done
  kRegionBarrier = 2,  ///< 2 and 3: barriers, in turn
  kRegionOrdered = 4,  ///< kTeamRelease
  kRegionKeys = 5,
};

}  // namespace

void ThreadOrder::begin_member(Strand* me, uint64_t region, uintptr_t frame) {
  acquire(me, region);
  me->outer_teams.emplace_back(me->team, me->barriers);
  me->team = region;
  me->barriers = 0;
  me->region_frame = frame;
}

void ThreadOrder::end_member(Strand* me, uint64_t region) {
  end_chunk(me);
  me = here();
  release(me, region + kRegionEnd);
  ++teams_[region].ended;
  end_awaits_that_have_come();
  if (me->of_region && me->outer_teams.size() == 1) {
    set_here(nullptr);
    end_strand(me);
    return;
  }
  if (me->outer_teams.empty()) return;
  std::tie(me->team, me->barriers) = me->outer_teams.back();
  me->outer_teams.pop_back();
}

uint64_t ThreadOrder::tell_region(Sync what, Strand* me, uint64_t key, uint64_t value) {
  const uint64_t turn = me->team + kRegionBarrier + me->barriers % 2;
  switch (what) {
    case Sync::kParallel:
      release(me, key);
      ++regions_;
      update_active();
      break;
    case Sync::kMember:
      begin_member(me, key, value);
      break;
    case Sync::kMemberEnds:
      end_member(me, key);
      break;
    case Sync::kParallelEnds:
      acquire(me, key + kRegionEnd);
      for (uint64_t i = 0; i < kRegionKeys; ++i) objects_.erase(key + i);
      teams_.erase(key);
      --regions_;
      update_active();
      break;
    case Sync::kArrive:
      if (!me->team) break;
      release(me, turn);
      ++teams_[me->team].arrived;
      end_awaits_that_have_come();
      break;
    case Sync::kLeave:
      if (me->team) acquire(me, turn);
      ++me->barriers;
      break;
    case Sync::kTeamRelease:
      release(me, me->team + kRegionOrdered);
      break;
    default:
      acquire(me, me->team + kRegionOrdered);
      break;
  }
  return 0;
}

// ---- Chunks -------------------------------------------------------------------------------------
void ThreadOrder::begin_chunk(Strand* me) {
  if (!me->chunks_begun) {
    me->chunks_begun = true;
    me->chunk_start = publish(me);
    me->chunk_end = {};
  }
  Strand* chunk = make_strand();
  if (!chunk) return;
  chunk->is_chunk = true;
  chunk->knows = me->chunk_start;
  chunk->team = me->team;
  chunk->barriers = me->barriers;
  chunk->groups = me->groups;
  chunk->private_end = me->region_frame;
  chunk->region_frame = me->region_frame;
  chunk->outer = me;
  set_here(chunk);
}

void ThreadOrder::end_chunk(Strand* me) {
  if (!me->is_chunk) return;
  Strand* outer = me->outer;
  outer->chunk_end.learn(publish(me));
  set_here(outer);
  end_strand(me);
}

uint64_t ThreadOrder::tell_chunk(Sync what, Strand* me) {
  if (what == Sync::kChunk) return begin_chunk(me), 0;
  end_chunk(me);
  me = here();
  if (what == Sync::kChunksEnd && me->chunks_begun) {
    me->chunks_begun = false;
    me->knows.learn(me->chunk_end);
  }
  return 0;
}

// ---- Tasks --------------------------------------------------------------------------------------
uint64_t ThreadOrder::children_of(Strand* me) {
  if (!me->children) me->children = fresh_key();
  return me->children;
}

void ThreadOrder::begin_task(uint64_t number, uintptr_t frame) {
  const auto found = tasks_.find(number);
  if (found == tasks_.end()) return;
  PendingTask& of = found->second;
  of.begun = !of.repeats;
  Strand* task = make_strand();
  if (!task) return;
  // A thread of a region whose own part has ended has no strand.
  task->outer = running();
  task->knows = of.start;
  for (uint64_t need : of.needs) acquire(task, need);
  task->team = of.team;
  task->groups = of.groups;
  task->private_end = task->region_frame = frame;
  task->task = number;
  set_here(task);
}

void ThreadOrder::end_task(uint64_t number) {
  Strand* me = running();
  while (me && me->is_chunk) {
    end_chunk(me);
    me = running();
  }
  const auto found = tasks_.find(number);
  if (found == tasks_.end() || !me || me->task != number) return;
  const PendingTask& of = found->second;
  const StrandKnowledge told = publish(me);
  objects_[of.parent].learn(told);
  if (!of.groups.empty()) objects_[of.groups.back()].learn(told);
  for (uint64_t need : of.needs) objects_[need].learn(told);
  Strand* outer = me->outer;
  if (of.team) {
    objects_[of.team + kRegionEnd].learn(told);
    const uint32_t turn = outer && outer->team == of.team ? outer->barriers % 2 : 0;
    objects_[of.team + kRegionBarrier + turn].learn(told);
  }
  if (!of.repeats) tasks_.erase(found);
  end_awaits_that_have_come();
  set_here(outer);
  end_strand(me);
}

uint64_t ThreadOrder::tell_task(Sync what, Strand* me, const void* object, uint64_t value) {
  switch (what) {
    case Sync::kTask:
      end_awaits_of_tasks(me->team);
      tasks_[next_task_] = {publish(me), children_of(me), me->team, value != 0,
                            false,       me->groups,      {}};
      return next_task_++;
    case Sync::kTaskNeeds:
      if (const auto found = tasks_.find(value); found != tasks_.end())
        found->second.needs.push_back(reinterpret_cast<uintptr_t>(object));
      return 0;
    case Sync::kTaskWait:
      if (me->children) acquire(me, me->children);
      return 0;
    case Sync::kGroup:
      me->groups.push_back(fresh_key());
      return 0;
    default:
      if (me->groups.empty()) return 0;
      acquire(me, me->groups.back());
      me->groups.pop_back();
      return 0;
  }
}

}  // namespace fgmpi::check
