// The tree of choices: which executions there are to run, one for each class of equivalent ones.
//
// A node is a choice point: all ranks stand still, and one of its choices happens next. An
// execution is a path from the root. Two executions are equivalent when one becomes the other by
// exchanging neighbours that do not depend on each other (choice.h). Of each class one execution is
// completed:
//
//   source sets   At a new node the alternatives of one operation are planned. Another choice is
//                 added when a race shows that it leads elsewhere: a message came too late for an
//                 event it could have been part of. Then one event that can begin the way to its
//                 sending, or that is planned or asleep already, is enough.
//   sleep sets    What was taken at a node sleeps below the choices taken after it, until something
//                 that depends on it happens. An execution whose choices all sleep is equivalent to
//                 one that was explored before: it is cut.
//
// The relation "had to happen before" comes from the executions themselves (explore/matcher.h) and
// from dependence. Where it is not known completely, an execution may be cut late or a choice
// planned in vain; none is lost.
//
// Several executions may run at once: what sleeps is decided when a choice is handed out, not when
// its executions are done.
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

struct Node {
  std::shared_ptr<Node> parent;
  size_t via = 0;        ///< which of the parent's choices leads here
  uint32_t depth = 0;    ///< events before this point
  bool reached = false;  ///< an execution has been here: the rest is known
  bool past_known = false;
  EventSet before;  ///< the events that had to happen before the one that leads here
  std::vector<Choice> choices;
  enum State : uint8_t { kIdle, kPlanned, kTaken, kAsleep };
  std::vector<State> states;   ///< of the choices
  std::vector<size_t> taken;   ///< of them, in this order
  std::vector<Choice> asleep;  ///< what sleeps here

  const Choice& event() const { return parent->choices[via]; }
};
using NodeRef = std::shared_ptr<Node>;
/// From the root to a node: path[k] is the point of event k.
using Path = std::vector<NodeRef>;

Path path_to(const NodeRef& node);

class Tree {
 public:
  Tree();
  /// A point that no execution has reached yet, the deepest first, or nullptr: there is nothing
  /// left to hand out.
  NodeRef next();
  bool has_next() const { return !planned_.empty() || !root_given_ || !again_.empty(); }
  bool started() const { return root_given_; }
  /// Branches that are known and have not been handed out.
  size_t planned() const { return planned_.size() + again_.size(); }
  /// An execution has come to the last node of its path for the first time, and these are its
  /// choices. Returns the point behind the one that it takes; nullptr: the execution is equivalent
  /// to others.
  NodeRef reach(const NodeRef& at, std::vector<Choice> choices);
  /// Of the event that leads to the last node of the path: as Chooser::tell_past().
  void set_past(const Path& path, const EventSet& past);
  /// Found by the execution at the end of this path.
  void add_race(const Path& path, const Race& race);
  /// The execution at the end of this path is over. Where it was cut short (MPI_Abort, a crash),
  /// what was still possible then is tried before its last event; with `badly` also that ranks go
  /// on early, as they could have done more by then.
  void end(const Path& path, bool badly);
  /// What is left to explore: `begun` are the points of executions that have not ended.
  void save(const std::vector<NodeRef>& begun, Bytes* out) const;
  /// Into a new tree, which hands out the points in `begun` first. False: that is no such tree.
  bool load(FieldReader* in);

 private:
  struct Plan {
    NodeRef node;
    size_t choice;
  };
  void plan(const NodeRef& node, size_t choice);
  NodeRef take(const NodeRef& node, size_t choice);
  static EventSet closure(const Path& path, const EventSet& events);

  NodeRef root_;
  bool root_given_ = false;
  std::vector<NodeRef> again_;  ///< to be handed out again, as their executions were cut
  std::vector<Plan> planned_;   ///< a stack
};

}  // namespace fgmpi::explore
