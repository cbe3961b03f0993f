// The messages by which a process learns a whole group along its tree.

#include "system-ranked/learning.h"

#include <utility>
#include <vector>

#include "base/environment.h"
#include "comm/broken.h"

namespace fgmpi::system_ranked {
namespace {

std::vector<sched::Proclet*> g_learners;

void describe_learning(const sched::WaitSite*, std::string* out) {
  *out += "learning the members of a system-ranked communicator";
}

}  // namespace

bool groups_are_learned() { return environment::text(environment::kFt) != nullptr; }

Status learn_group(const comm::SharedComm& parent, GroupTree* tree, RankMap* whole) {
  tree->receive(g_av.me(), question_for_map());
  sched::WaitSite site{"the creation of a system-ranked communicator", describe_learning, true};
  while (!tree->has_whole()) {
    if (Status broken = comm::broken_status(parent); !broken.ok()) {
      tree->drop();
      return broken;
    }
    g_learners.push_back(sched::current());
    sched::park(&site);
  }
  *whole = tree->whole();
  return {};
}

void wake_learners() {
  for (sched::Proclet* learner : std::exchange(g_learners, {})) sched::ready(learner);
}

}  // namespace fgmpi::system_ranked
