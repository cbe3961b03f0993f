// The tree of choices: planning, reduction, saving and loading.

#include "readers/exploration/tree.h"

#include <algorithm>
#include <map>

namespace fgmpi::explore {

Path path_to(const NodeRef& node) {
  Path path;
  for (NodeRef n = node; n; n = n->parent) path.push_back(n);
  std::reverse(path.begin(), path.end());
  return path;
}

ChoiceTree::ChoiceTree() : root_(std::make_shared<ChoiceNode>()) {}

void ChoiceTree::plan(const NodeRef& node, size_t choice) {
  node->states[choice] = ChoiceNode::kPlanned;
  planned_.push_back({node, choice});
}

NodeRef ChoiceTree::next() {
  if (!root_given_) {
    root_given_ = true;
    return root_;
  }
  if (!again_.empty()) {
    NodeRef node = again_.back();
    again_.pop_back();
    return node;
  }
  if (planned_.empty()) return nullptr;
  const PlannedChoice last = planned_.back();
  planned_.pop_back();
  return take(last.node, last.choice);
}

NodeRef ChoiceTree::take(const NodeRef& node, size_t choice) {
  const Choice& taken = node->choices[choice];
  auto child = std::make_shared<ChoiceNode>();
  child->parent = node;
  child->via = choice;
  child->depth = node->depth + 1;
  for (const Choice& c : node->asleep)
    if (!dependent(c, taken)) child->asleep.push_back(c);
  for (size_t earlier : node->taken)
    if (!dependent(node->choices[earlier], taken)) child->asleep.push_back(node->choices[earlier]);
  node->states[choice] = ChoiceNode::kTaken;
  node->taken.push_back(choice);
  return child;
}

NodeRef ChoiceTree::reach(const NodeRef& at, std::vector<Choice> choices) {
  at->reached = true;
  at->choices = std::move(choices);
  at->states.assign(at->choices.size(), ChoiceNode::kIdle);
  size_t first = at->choices.size();
  for (size_t i = at->choices.size(); i-- > 0;) {
    const bool asleep =
        std::find(at->asleep.begin(), at->asleep.end(), at->choices[i]) != at->asleep.end();
    if (asleep)
      at->states[i] = ChoiceNode::kAsleep;
    else
      first = i;
  }
  if (first == at->choices.size()) return nullptr;
  // A stack: the first choice is popped first.
  for (size_t i = at->choices.size(); i-- > first + 1;)
    if (at->states[i] == ChoiceNode::kIdle && (at->choices[i].kind == Choice::kNoBuffer ||
                                               at->choices[i].same_operation(at->choices[first])))
      plan(at, i);
  return take(at, first);
}

/// Adds the events that had to happen before these.
EventSet ChoiceTree::closure(const Path& path, const EventSet& events) {
  EventSet all = events;
  events.for_each([&](size_t e) {
    if (e + 1 < path.size()) all.add(path[e + 1]->before);
  });
  return all;
}

void ChoiceTree::set_past(const Path& path, const EventSet& past) {
  ChoiceNode& node = *path.back();
  if (!node.parent || node.past_known) return;
  node.past_known = true;
  node.before = closure(path, past);
  for (size_t i = 0; i + 2 < path.size(); ++i) {
    if (node.before.has(i) || !dependent(path[i + 1]->event(), node.event())) continue;
    node.before.add(i);
    node.before.add(path[i + 1]->before);
  }
}

void ChoiceTree::add_race(const Path& path, const Race& race) {
  const size_t k = race.event;
  if (k + 1 >= path.size()) return;
  const EventSet needed = closure(path, race.sender_past);
  if (needed.has(k)) return;
  const NodeRef& node = path[k];
  constexpr size_t kNone = ~size_t{0};
  size_t best = kNone, best_event = 0;
  // For the access behind event k: the needed events without k and its successors.
  EventSet before_access = needed;
  for (size_t j = k + 1; j < race.by && j + 1 < path.size(); ++j)
    if (!path[j + 1]->before.has(k) && dependent(path[j + 1]->event(), path.back()->event()))
      before_access.add(j);
  // Search for an event that can come first on the way to this message: no event behind k had to
  // happen before it. It must not be one that keeps the lock from the waiting rank, or a successor
  // of such an event.
  for (size_t j = k + 1; j + 1 < path.size(); ++j) {
    const EventSet& before = j == race.by ? before_access : path[j + 1]->before;
    if (!path[j + 1]->past_known || before.has(k) || before.any_above(k)) continue;
    if (race.without.has(j) || before.meets(race.without)) continue;
    const auto at = std::find(node->choices.begin(), node->choices.end(), path[j + 1]->event());
    if (at == node->choices.end()) continue;  // an unknown other event must come before it
    const auto i = static_cast<size_t>(at - node->choices.begin());
    if (node->states[i] != ChoiceNode::kIdle) return;
    const auto is_needed = [&](size_t e) { return needed.has(e) || e == race.by; };
    if (best != kNone && (is_needed(best_event) || !is_needed(j))) continue;
    best = i;
    best_event = j;
  }
  if (best != kNone) return plan(node, best);
  if (race.of_waiter())
    for (size_t i = 0; i < node->choices.size(); ++i) {
      const Choice& c = node->choices[i];
      if (c.kind != Choice::kAccess || c.rank != race.by - Race::kWaiter) continue;
      if (node->states[i] == ChoiceNode::kIdle) plan(node, i);
      return;
    }
  for (size_t i = node->choices.size(); i-- > 0;)
    if (node->states[i] == ChoiceNode::kIdle && (race.early || !node->choices[i].goes_on_early()))
      plan(node, i);
}

void ChoiceTree::end(const Path& path, bool badly) {
  const NodeRef& node = path.back()->parent;
  if (path.back()->reached || !node) return;
  const Choice& last = path.back()->event();
  // If kNoBuffer was chosen, the end is a deadlock of the ranks that wait for a send or a
  // collective. Exempt is a sender whose message was received last: that rank has continued.
  const auto has_gone_on = [&](const Choice& c) {
    return c.kind == Choice::kBuffer && last.kind == Choice::kMatch && c.context == last.context &&
           c.source == last.source && c.number == last.number;
  };
  // If several choices look alike, it is unknown which sender has continued.
  const bool one_has = std::count_if(node->choices.begin(), node->choices.end(), has_gone_on) == 1;
  for (size_t i = node->choices.size(); i-- > 0;) {
    const Choice& c = node->choices[i];
    const bool early = badly && last.kind != Choice::kNoBuffer && !(one_has && has_gone_on(c));
    const bool repeats = c.kind == Choice::kRepeat || (c.kind == Choice::kAccess && c.number != 0);
    if (node->states[i] == ChoiceNode::kIdle && !repeats && (early || !c.goes_on_early()))
      plan(node, i);
  }
}

// ---- On file ------------------------------------------------------------------------------------

namespace {

template <class T>
void append_list(Bytes* out, const std::vector<T>& list) {
  fgmpi::append(out, static_cast<uint32_t>(list.size()));
  for (const T& value : list) fgmpi::append(out, value);
}

template <class T>
std::vector<T> read_list(FieldReader* in) {
  std::vector<T> list;
  for (auto n = in->get<uint32_t>(); n > 0 && !in->failed(); --n) list.push_back(in->get<T>());
  return list;
}

/// All fields except the parent.
void append_node(Bytes* out, const ChoiceNode& node) {
  fgmpi::append(out, static_cast<uint64_t>(node.via));
  fgmpi::append(out, node.depth);
  fgmpi::append(out, static_cast<uint8_t>(node.reached | node.past_known << 1));
  append(out, node.before);
  append_list(out, node.choices);
  append_list(out, node.states);
  append_list(out, node.taken);
  append_list(out, node.asleep);
}

void read_node(FieldReader* in, ChoiceNode* node) {
  node->via = in->get<uint64_t>();
  node->depth = in->get<uint32_t>();
  const auto flags = in->get<uint8_t>();
  node->reached = flags & 1;
  node->past_known = flags & 2;
  node->before = read_set(in);
  node->choices = read_list<Choice>(in);
  node->states = read_list<ChoiceNode::ChoiceState>(in);
  node->taken = read_list<size_t>(in);
  node->asleep = read_list<Choice>(in);
  if (node->states.size() != node->choices.size()) in->fail();
}

}  // namespace

void ChoiceTree::save(const std::vector<NodeRef>& begun, Bytes* out) const {
  std::vector<NodeRef> again = again_;
  again.insert(again.end(), begun.begin(), begun.end());
  if (!root_given_) again.push_back(root_);
  std::map<const ChoiceNode*, uint32_t> numbers;
  std::vector<const ChoiceNode*> nodes;  // parents come first
  auto add = [&](const NodeRef& leaf) {
    for (const NodeRef& node : path_to(leaf))
      if (numbers.emplace(node.get(), static_cast<uint32_t>(nodes.size())).second)
        nodes.push_back(node.get());
  };
  add(root_);
  for (const PlannedChoice& plan : planned_) add(plan.node);
  for (const NodeRef& node : again) add(node);
  fgmpi::append(out, static_cast<uint32_t>(nodes.size()));
  for (const ChoiceNode* node : nodes) {
    fgmpi::append(out, node->parent ? numbers.at(node->parent.get()) : ~uint32_t{0});
    append_node(out, *node);
  }
  fgmpi::append(out, static_cast<uint32_t>(planned_.size()));
  for (const PlannedChoice& plan : planned_) {
    fgmpi::append(out, numbers.at(plan.node.get()));
    fgmpi::append(out, static_cast<uint64_t>(plan.choice));
  }
  fgmpi::append(out, static_cast<uint32_t>(again.size()));
  for (const NodeRef& node : again) fgmpi::append(out, numbers.at(node.get()));
}

bool ChoiceTree::load(FieldReader* in) {
  std::vector<NodeRef> nodes;
  for (auto n = in->get<uint32_t>(); n > 0 && !in->failed(); --n) {
    auto node = std::make_shared<ChoiceNode>();
    const auto parent = in->get<uint32_t>();
    if (!nodes.empty()) {
      if (parent >= nodes.size()) return false;
      node->parent = nodes[parent];
    }
    read_node(in, node.get());
    if (node->parent && node->via >= node->parent->choices.size()) return false;
    nodes.push_back(std::move(node));
  }
  if (in->failed() || nodes.empty()) return false;
  for (auto n = in->get<uint32_t>(); n > 0; --n) {
    const auto node = in->get<uint32_t>();
    const auto choice = in->get<uint64_t>();
    if (in->failed() || node >= nodes.size() || choice >= nodes[node]->choices.size()) return false;
    planned_.push_back({nodes[node], choice});
  }
  for (auto n = in->get<uint32_t>(); n > 0; --n) {
    const auto node = in->get<uint32_t>();
    if (in->failed() || node >= nodes.size()) return false;
    again_.push_back(nodes[node]);
  }
  root_ = nodes[0];
  root_given_ = true;
  return !in->failed();
}

}  // namespace fgmpi::explore
