// The tree of choices. It determines which executions are run: one for each class of
// equivalent ones.
//
// A node is a choice point: all ranks stand still, and one of its choices happens next. An
// execution is a path from the root. Two executions are equivalent when one becomes the other by
// exchanging neighbouring events that do not depend on each other (choice.h). One execution of each
// class is completed:
//
//   source sets   At a new node the alternatives of one operation are planned. Another choice is
//                 added when a race shows that it leads elsewhere: a message came too late for an
//                 event that could have matched it. Then it suffices that one event which can
//                 begin the way to its sending is planned, asleep or added.
//   sleep sets    A choice that has happened at a node sleeps below the choices that happen there
//                 later, until an event that depends on it. An execution whose choices all sleep
//                 is equivalent to one that was explored before, and is cut.
//
// The relation "had to happen before" comes from the executions themselves (explore/matcher.h) and
// from dependence. Where it is not completely known, an execution may be cut late or a choice
// planned in vain; none is lost.
//
// Several executions may run at once: sleeping choices are determined when a branch is handed out,
// not when its executions are complete.
//
// Sources: Godefroid, "Partial-Order Methods for the Verification of Concurrent Systems", LNCS
// 1032, 1996 (sleep sets); Flanagan, Godefroid, "Dynamic Partial-Order Reduction for Model Checking
// Software", POPL 2005; Abdulla, Aronis, Jonsson, Sagonas, "Optimal Dynamic Partial Order
// Reduction", POPL 2014 (source sets).
// Thread rule: one thread. Invariant: a node lives as long as a node below it, a plan or an
// execution needs it.
#pragma once

#include <memory>
#include <vector>

#include "base/fields.h"
#include "explore/channel.h"
#include "explore/choice.h"

namespace fgmpi::explore {

struct ChoiceNode {
  std::shared_ptr<ChoiceNode> parent;
  size_t via = 0;        ///< index of the parent's choice that leads here
  uint32_t depth = 0;    ///< number of events before this point
  bool reached = false;  ///< an execution has been here, so the members below are filled
  bool past_known = false;
  EventSet before;  ///< the events that had to happen before the one that leads here
  std::vector<Choice> choices;
  enum ChoiceState : uint8_t { kIdle, kPlanned, kTaken, kAsleep };
  std::vector<ChoiceState> states;  ///< of `choices`
  std::vector<size_t> taken;        ///< indices of the choices that have happened, in this order
  std::vector<Choice> asleep;       ///< choices that sleep here

  const Choice& event() const { return parent->choices[via]; }
};
using NodeRef = std::shared_ptr<ChoiceNode>;
/// The nodes from the root to one node: path[k] is the point of event k.
using Path = std::vector<NodeRef>;

Path path_to(const NodeRef& node);

class ChoiceTree {
 public:
  ChoiceTree();
  /// A point that no execution has reached yet, the deepest first; nullptr: there is
  /// nothing to hand out.
  NodeRef next();
  bool has_next() const { return !planned_.empty() || !root_given_ || !again_.empty(); }
  bool started() const { return root_given_; }
  /// The number of known branches that have not been handed out.
  size_t planned() const { return planned_.size() + again_.size(); }
  /// An execution has reached the last node of its path as the first one, with these choices.
  /// Returns the point behind the choice that shall happen; nullptr: the execution is
  /// equivalent to others.
  NodeRef reach(const NodeRef& at, std::vector<Choice> choices);
  /// Sets the events that had to happen before the one that leads to the last node of the path
  /// (Chooser::report_past()).
  void set_past(const Path& path, const EventSet& past);
  /// Adds a race that the execution at the end of this path has reported.
  void add_race(const Path& path, const Race& race);
  /// The execution at the end of this path is over. If it was cut short (MPI_Abort, a crash), its
  /// other possibilities are tried before its last event. With `badly` this includes that ranks
  /// continue early, because they could have done more by then.
  void end(const Path& path, bool badly);
  /// Writes the unexplored part. `begun`: the points of executions that have not ended.
  void save(const std::vector<NodeRef>& begun, Bytes* out) const;
  /// Reads it into a new tree, which hands out the points in `begun` first. Returns false where the
  /// bytes are invalid.
  bool load(FieldReader* in);

 private:
  struct PlannedChoice {
    NodeRef node;
    size_t choice;
  };
  void plan(const NodeRef& node, size_t choice);
  NodeRef take(const NodeRef& node, size_t choice);
  static EventSet closure(const Path& path, const EventSet& events);

  NodeRef root_;
  bool root_given_ = false;
  std::vector<NodeRef> again_;  ///< to be handed out again, because their executions were cut
  std::vector<PlannedChoice> planned_;  ///< a stack
};

}  // namespace fgmpi::explore
