// Shrink-and-Balance (section 4): the parent's tree loses the vertices that are no members, and is
// then balanced.
//
// Up. Each vertex sends to its parent the root, size and height of what is left below it, and the
// names of a few vertices that may leave. A vertex that is no member (a hole) sends its position,
// with the subtrees there, to a filler, in one message. No other vertex needs a message about that:
// the names that were used are always the first of those offered, so their number, which the
// downward pass carries, identifies them. Filler::kLeaf: up to depth names go up (for each hole
// above one), and the filler is the first of the tallest subtree. Filler::kChild: no names; the
// child with the tallest subtree moves up and adopts its siblings, so a vertex may have more than k
// children until the downward pass hands some of them to others of its children.
//
// Down. A vertex receives the target size of its subtree and the levels allowed, which a subtree of
// that size fits. It sets its children's target sizes: none above max_size(levels - 1). Children
// above their target are suppliers; children below it, and children still missing, are consumers.
// Each is sent its target; consumers also, which suppliers they may draw from:
//
//   V: target 13, three levels     supplier A (9 of 4)   consumer B (1 of 4)   consumer C (2 of 4)
//      to A: target 4              to B: target 4, 3 from A                    to C: target 4, 2
//                                                                              from A
//
// A supplier's own children supply in turn. A supplier holds the names that it has for those who
// ask, so it answers a request with names, or with the supplying children and their amounts. A
// consumer asks when it must divide a supplier among its own children, or needs a name for a
// missing child. So a vertex that moves costs about a message or less on top of the m - 1, where
// moving one leaf at a time would cost a walk down the tree.
//
//   up       color | root | size | height | fills | names
//   fill     color | root's? 1 + target | position | depth | fills | subtrees
//   balance  color | target | levels | 0 or 1 + position | fills | taken | names | suppliers |
//            adopted subtrees
//   request  color | amount                    supply  color | names | suppliers

#include "system-ranked/shrink_and_balance.h"

#include <algorithm>

namespace fgmpi::system_ranked {

uint64_t Stock::total() const {
  uint64_t sum = vertices.size();
  for (const Supplier& s : suppliers) sum += s.amount;
  return sum;
}

void Stock::add(Stock&& other) {
  vertices.insert(vertices.end(), other.vertices.begin(), other.vertices.end());
  for (const Supplier& s : other.suppliers) {
    auto it = std::find_if(suppliers.begin(), suppliers.end(),
                           [&](const Supplier& x) { return x.address == s.address; });
    if (it != suppliers.end())
      it->amount += s.amount;
    else
      suppliers.push_back(s);
  }
}

Stock Stock::take(uint64_t amount) {
  Stock out;
  size_t n = std::min<uint64_t>(amount, vertices.size());
  out.vertices.assign(vertices.begin(), vertices.begin() + static_cast<ptrdiff_t>(n));
  vertices.erase(vertices.begin(), vertices.begin() + static_cast<ptrdiff_t>(n));
  amount -= n;
  std::sort(suppliers.begin(), suppliers.end(),
            [](const Supplier& a, const Supplier& b) { return a.amount > b.amount; });
  for (size_t i = 0; i < suppliers.size() && amount > 0;) {
    if (suppliers[i].amount > amount) {
      ++i;
      continue;
    }
    amount -= suppliers[i].amount;
    out.suppliers.push_back(suppliers[i]);
    suppliers.erase(suppliers.begin() + static_cast<ptrdiff_t>(i));
  }
  if (amount > 0) {
    FGMPI_CHECK(!suppliers.empty());
    out.suppliers.push_back({suppliers.back().address, static_cast<uint32_t>(amount)});
    suppliers.back().amount -= static_cast<uint32_t>(amount);
  }
  return out;
}

namespace {

void put(MessageWriter& out, const Subtree& s) {
  out.put(s.root);
  out.put(s.position);
  out.put(s.size);
  out.put(s.height);
  out.put(s.fills);
  out.put(s.offered);
  out.put(s.taken);
  out.put_list(s.leaves);
}

Subtree get_subtree(MessageReader& in) {
  Subtree s;
  s.root = in.get32();
  s.position = in.get32();
  s.size = in.get32();
  s.height = in.get32();
  s.fills = in.get32();
  s.offered = in.get32();
  s.taken = in.get32();
  s.leaves = in.list();
  return s;
}

void put(MessageWriter& out, const Stock& stock) {
  out.put_list(stock.vertices);
  out.put(stock.suppliers.size());
  for (const Supplier& s : stock.suppliers) {
    out.put(s.address);
    out.put(s.amount);
  }
}

Stock get_stock(MessageReader& in) {
  Stock stock;
  stock.vertices = in.list();
  for (size_t n = in.get32(); n > 0; --n) {
    Address address = in.get32();
    stock.suppliers.push_back({address, in.get32()});
  }
  return stock;
}

/// Removes the first `count` of the names offered, which have left, in the order in which the
/// subtrees were joined for the offer.
void drop_moved(std::vector<Subtree>* subtrees, uint32_t count) {
  for (Subtree& s : *subtrees) {
    uint32_t here = std::min(count, s.offered);
    count -= here;
    s.taken += here;
    s.size -= here;
    s.leaves.erase(s.leaves.begin(), s.leaves.begin() + here);
  }
  FGMPI_CHECK(count == 0);
  std::erase_if(*subtrees, [](const Subtree& s) { return s.size == 0; });
}

bool taller(const Subtree& a, const Subtree& b) {
  return a.height != b.height ? a.height > b.height : a.size > b.size;
}

uint32_t sum_of_sizes(const std::vector<Subtree>& subtrees) {
  uint32_t sum = 0;
  for (const Subtree& s : subtrees) sum += s.size;
  return sum;
}

size_t bytes_of(const std::vector<Subtree>& subtrees) {
  size_t bytes = subtrees.capacity() * sizeof(Subtree);
  for (const Subtree& s : subtrees)
    bytes += s.leaves.capacity() * sizeof(Address) + bytes_of(s.adopted);
  return bytes;
}

size_t bytes_of(const Stock& stock) {
  return stock.vertices.capacity() * sizeof(Address) +
         stock.suppliers.capacity() * sizeof(Supplier);
}

/// Divides `stock` among the consumers: each first gets the suppliers that fit whole. Suppliers
/// that had to be divided are added to `cut`.
void divide(Stock stock, std::vector<Consumer>* consumers, std::vector<Address>* cut) {
  for (Consumer& c : *consumers) {
    if (c.need() == 0) continue;
    Stock share = stock.take(c.need());
    // A supplier that is in the share and still in the stock was cut.
    for (const Supplier& s : share.suppliers)
      for (const Supplier& left : stock.suppliers)
        if (cut && left.address == s.address) cut->push_back(s.address);
    c.stock.add(std::move(share));
  }
}

class ShrinkAndBalance final : public Vertex {
 public:
  ShrinkAndBalance(const SplitOptions& options, ParentPlace where, std::vector<Enrolment> mine)
      : Vertex(options, std::move(where), std::move(mine)) {
    for (const Enrolment& e : mine_) states_[e.color];
  }
  uint32_t suppliers() const override { return most_suppliers_; }

 private:
  using State = BalanceState;
  // Up.
  void take(uint32_t child, uint32_t color, MessageReader& in) override;
  void pass_up(MessageWriter& out, Carrier& carrier) override;
  void turn(Carrier& carrier) override;
  bool shrink(uint32_t color, State& s, Subtree* whole, Carrier& carrier);
  void offer(std::vector<Subtree>* parts, Subtree* whole) const;
  void send_fill(uint32_t color, const std::vector<Subtree>& parts, const Subtree& whole,
                 Carrier& carrier);
  void receive_fill(MessageReader& in, Carrier& carrier);

  // Down.
  void handle(MessageKind kind, Address from, MessageReader& in, Carrier& carrier) override;
  void receive_instruction(Address from, MessageReader& in, Carrier& carrier);
  void follow_when_ready(uint32_t color, Instruction instruction, Carrier& carrier);
  void follow(uint32_t color, State& s, Instruction instruction, Carrier& carrier);
  void hand_extra_children_on(std::vector<Subtree>* subtrees) const;
  std::vector<uint32_t> set_targets(const std::vector<Subtree>& subtrees, uint32_t wanted,
                                    uint64_t most, std::vector<uint32_t>* missing) const;
  Stock take_out(std::vector<Subtree>* subtrees, const std::vector<uint32_t>& targets);
  void instruct(uint32_t color, const Subtree& s, uint32_t target, uint32_t height,
                const Stock& stock, Carrier& carrier);
  void provide(uint32_t color, State& s, Carrier& carrier);
  bool ask(uint32_t color, State& s, const std::vector<Address>& whom, Carrier& carrier);
  bool name_missing_children(uint32_t color, State& s, Carrier& carrier);
  void serve(uint32_t color, State& s, Carrier& carrier);
  void complete_when_done(uint32_t color, State& s);
  size_t state_bytes() const override;

  std::map<uint32_t, State> states_;
  uint32_t most_suppliers_ = 0;
};

// ---- Up -----------------------------------------------------------------------------------------

void ShrinkAndBalance::take(uint32_t child, uint32_t color, MessageReader& in) {
  Subtree s;
  s.position = where_.children[child];
  s.root = in.get32();
  s.size = in.get32();
  s.height = in.get32();
  s.fills = in.get32();
  s.leaves = in.list();
  if (options_.filler == Filler::kChild && s.size == 1) s.leaves = {s.root};
  states_[color].subtrees.push_back(std::move(s));
}

void ShrinkAndBalance::pass_up(MessageWriter& out, Carrier& carrier) {
  for (auto it = states_.begin(); it != states_.end();) {
    auto& [color, s] = *it;
    Subtree whole;
    if (shrink(color, s, &whole, carrier)) {
      out.put(color);
      out.put(whole.root);
      out.put(whole.size);
      out.put(whole.height);
      out.put(whole.fills);
      out.put_list(whole.leaves);
    }
    it = enrolment(color) ? std::next(it) : states_.erase(it);
  }
}

void ShrinkAndBalance::turn(Carrier& carrier) {
  std::vector<std::pair<uint32_t, uint32_t>> begun;
  for (auto it = states_.begin(); it != states_.end();) {
    auto& [color, s] = *it;
    Subtree whole;
    shrink(color, s, &whole, carrier);
    if (whole.root == where_.self) begun.emplace_back(color, whole.size);
    it = enrolment(color) ? std::next(it) : states_.erase(it);
  }
  for (auto [color, size] : begun) {
    Instruction all;
    all.position = where_.self;
    all.target = size;
    all.height = balanced_height(size, options_.k);
    follow_when_ready(color, std::move(all), carrier);
  }
}

/// Joins all that the vertex has below it into one subtree, whose root is the vertex or a filler.
/// Returns false when there is no member.
bool ShrinkAndBalance::shrink(uint32_t color, State& s, Subtree* whole, Carrier& carrier) {
  bool hole = enrolment(color) == nullptr;
  if (hole && s.subtrees.empty()) return false;
  std::sort(s.subtrees.begin(), s.subtrees.end(), taller);
  whole->root = where_.self;
  if (hole && options_.filler == Filler::kLeaf) {
    Subtree& tallest = s.subtrees.front();
    whole->root = tallest.leaves.front();
    tallest.leaves.erase(tallest.leaves.begin());
    ++tallest.taken;
    if (--tallest.size == 0) s.subtrees.erase(s.subtrees.begin());
    std::sort(s.subtrees.begin(), s.subtrees.end(), taller);
  } else if (hole) {
    *whole = std::move(s.subtrees.front());
    ++whole->fills;
    whole->leaves.clear();
    s.subtrees.erase(s.subtrees.begin());
  }
  uint32_t below = s.subtrees.empty() ? 0 : s.subtrees.front().height;
  whole->size = std::max(1u, whole->size) + sum_of_sizes(s.subtrees);
  whole->height = std::max(whole->height, below + 1);
  if (options_.filler == Filler::kLeaf) offer(&s.subtrees, whole);
  if (hole) {
    send_fill(color, s.subtrees, *whole, carrier);
  } else {
    s.position = where_.self;
    s.depth = where_.depth;
  }
  return true;
}

/// Offers names for the holes above: one for each at most, from the tallest subtrees first; the
/// root itself when no other vertex is left.
void ShrinkAndBalance::offer(std::vector<Subtree>* parts, Subtree* whole) const {
  size_t room = where_.depth;
  for (Subtree& s : *parts) {
    s.offered = static_cast<uint32_t>(std::min(room - whole->leaves.size(), s.leaves.size()));
    whole->leaves.insert(whole->leaves.end(), s.leaves.begin(), s.leaves.begin() + s.offered);
  }
  if (whole->leaves.size() < room && whole->leaves.size() + 1 == whole->size)
    whole->leaves.push_back(whole->root);
}

void ShrinkAndBalance::send_fill(uint32_t color, const std::vector<Subtree>& parts,
                                 const Subtree& whole, Carrier& carrier) {
  MessageWriter out(kFill);
  out.put(color);
  out.put(where_.parent == kNobody ? whole.size : 0);
  out.put(where_.self);
  out.put(where_.depth);
  out.put(whole.fills);
  for (const Subtree& s : parts) put(out, s);
  carrier.send(whole.root, out.take());
}

void ShrinkAndBalance::receive_fill(MessageReader& in, Carrier& carrier) {
  uint32_t color = in.get32();
  uint32_t target = in.get32();
  Address position = in.get32();
  uint32_t depth = in.get32();
  uint32_t fills = in.get32();
  std::vector<Subtree> parts;
  while (!in.empty()) parts.push_back(get_subtree(in));
  State& s = states_.at(color);
  ++s.fills;
  if (options_.filler == Filler::kChild) {
    for (Subtree& part : parts) s.subtrees.push_back(std::move(part));
    // Otherwise this vertex has moved further up since, and that position has no vertex.
  } else if (depth < s.depth) {
    s.subtrees = std::move(parts);
    s.position = position;
    s.depth = depth;
  }
  if (target > 0) {
    Instruction all;
    all.position = position;
    all.fills = fills;
    all.target = target;
    all.height = balanced_height(target, options_.k);
    return follow_when_ready(color, std::move(all), carrier);
  }
  if (!s.held) return;
  Instruction held = std::move(*s.held);
  s.held.reset();
  follow_when_ready(color, std::move(held), carrier);
}

// ---- Down ---------------------------------------------------------------------------------------

void ShrinkAndBalance::handle(MessageKind kind, Address from, MessageReader& in, Carrier& carrier) {
  if (kind == kFill) return receive_fill(in, carrier);
  if (kind == kBalance) return receive_instruction(from, in, carrier);
  uint32_t color = in.get32();
  State& s = states_.at(color);
  if (kind == kRequest) {
    s.asked.push_back({from, in.get32()});
    serve(color, s, carrier);
  } else if (kind == kSupply) {
    s.drawn.add(get_stock(in));
    --s.answers;
    provide(color, s, carrier);
  } else if (kind == kSizes) {
    if (s.ranks.receive_sizes(from, in, carrier)) s.placed = true;
  } else {
    FGMPI_CHECK(kind == kRange);
    s.ranks.receive_range(in, carrier);
    s.placed = true;
  }
  complete_when_done(color, s);
}

void ShrinkAndBalance::receive_instruction(Address from, MessageReader& in, Carrier& carrier) {
  Instruction i;
  uint32_t color = in.get32();
  i.parent = from;
  i.target = in.get32();
  i.height = in.get32();
  uint64_t position = in.get();
  i.fresh = position == 0;
  i.position = static_cast<Address>(position - 1);
  i.fills = in.get32();
  i.taken = in.get32();
  Stock stock = get_stock(in);
  i.vertices = std::move(stock.vertices);
  i.suppliers = std::move(stock.suppliers);
  while (!in.empty()) i.adopted.push_back(get_subtree(in));
  follow_when_ready(color, std::move(i), carrier);
}

void ShrinkAndBalance::instruct(uint32_t color, const Subtree& s, uint32_t target, uint32_t height,
                                const Stock& stock, Carrier& carrier) {
  MessageWriter out(kBalance);
  out.put(color);
  out.put(target);
  out.put(height);
  out.put(s.position == kNobody ? 0 : uint64_t{s.position} + 1);
  out.put(s.fills);
  out.put(s.taken);
  put(out, stock);
  for (const Subtree& a : s.adopted) put(out, a);
  carrier.send(s.root, out.take());
}

void ShrinkAndBalance::follow_when_ready(uint32_t color, Instruction instruction,
                                         Carrier& carrier) {
  State& s = states_.at(color);
  bool ready =
      instruction.fresh || (options_.filler == Filler::kLeaf ? s.position == instruction.position
                                                             : s.fills == instruction.fills);
  if (ready)
    follow(color, s, std::move(instruction), carrier);
  else
    s.held = std::move(instruction);
}

/// Filler::kChild: hands the smallest subtrees beyond k to the smallest of the others.
void ShrinkAndBalance::hand_extra_children_on(std::vector<Subtree>* subtrees) const {
  std::sort(subtrees->begin(), subtrees->end(),
            [](const Subtree& a, const Subtree& b) { return a.size > b.size; });
  std::vector<Subtree> extra;
  for (; subtrees->size() > options_.k; subtrees->pop_back())
    extra.push_back(std::move(subtrees->back()));
  for (Subtree& e : extra) {
    Subtree& to =
        *std::min_element(subtrees->begin(), subtrees->end(),
                          [](const Subtree& a, const Subtree& b) { return a.size < b.size; });
    to.size += e.size;
    to.height = std::max(to.height, e.height + 1);
    to.leaves.clear();  // its root, if it was a leaf, is none any more
    to.adopted.push_back(std::move(e));
  }
}

/// Sets sizes for the subtrees that add up to `wanted`, together with those of missing children. As
/// few vertices as possible move.
std::vector<uint32_t> ShrinkAndBalance::set_targets(const std::vector<Subtree>& subtrees,
                                                    uint32_t wanted, uint64_t most,
                                                    std::vector<uint32_t>* missing) const {
  std::vector<uint32_t> targets;
  uint32_t sum = 0;
  for (const Subtree& s : subtrees) {
    targets.push_back(static_cast<uint32_t>(std::min<uint64_t>(s.size, most)));
    sum += targets.back();
  }
  while (sum > wanted) {  // vertices that supply already, then the largest, supply more
    size_t from = 0;
    auto weight = [&](size_t i) {
      return std::pair(targets[i] > 0 && targets[i] < subtrees[i].size, targets[i]);
    };
    for (size_t i = 1; i < targets.size(); ++i)
      if (weight(i) > weight(from)) from = i;
    uint32_t less = std::min(targets[from], sum - wanted);
    targets[from] -= less;
    sum -= less;
  }
  while (sum < wanted) {  // where there is most room; then missing children
    size_t to = targets.size();
    uint64_t room = 0;
    for (size_t i = 0; i < targets.size(); ++i)
      if (most - targets[i] > room) {
        room = most - targets[i];
        to = i;
      }
    uint32_t more = static_cast<uint32_t>(std::min<uint64_t>(room ? room : most, wanted - sum));
    FGMPI_CHECK(more > 0);
    if (room > 0)
      targets[to] += more;
    else
      missing->push_back(more);
    sum += more;
  }
  return targets;
}

/// Removes what the subtrees have beyond their targets, by name where a name is known.
Stock ShrinkAndBalance::take_out(std::vector<Subtree>* subtrees,
                                 const std::vector<uint32_t>& targets) {
  Stock out;
  for (size_t i = 0; i < subtrees->size(); ++i) {
    Subtree& s = (*subtrees)[i];
    if (s.size <= targets[i]) continue;
    uint32_t surplus = s.size - targets[i];
    uint32_t named = std::min(surplus, static_cast<uint32_t>(s.leaves.size()));
    out.vertices.insert(out.vertices.end(), s.leaves.begin(), s.leaves.begin() + named);
    s.taken += named;
    s.size -= named;
    if (surplus > named) out.suppliers.push_back({s.root, surplus - named});
  }
  return out;
}

void ShrinkAndBalance::follow(uint32_t color, State& s, Instruction instruction, Carrier& carrier) {
  std::vector<Subtree> subtrees = std::move(s.subtrees);
  s.subtrees.clear();
  s.position = kNobody;
  if (instruction.fresh)
    subtrees.clear();
  else if (options_.filler == Filler::kLeaf)
    drop_moved(&subtrees, instruction.taken);
  for (Subtree& a : instruction.adopted) subtrees.push_back(std::move(a));
  const bool stays = instruction.target > 0;
  const uint64_t most = stays ? max_size(instruction.height - 1, options_.k) : 0;
  if (most > 0 && subtrees.size() > options_.k) hand_extra_children_on(&subtrees);

  Stock stock{std::move(instruction.vertices), std::move(instruction.suppliers)};
  uint64_t have = 1 + sum_of_sizes(subtrees) + stock.total();
  FGMPI_CHECK(have >= instruction.target && (have == instruction.target || stock.empty()));
  uint64_t surplus = have - instruction.target;
  std::vector<uint32_t> missing;
  std::vector<uint32_t> targets =
      set_targets(subtrees, stays ? instruction.target - 1 : 0, most, &missing);
  stock.add(take_out(&subtrees, targets));
  if (!stays) stock.vertices.push_back(where_.self);

  TreePosition* p = place(color);
  if (stays) p->parent = instruction.parent;
  s.height = instruction.height;
  for (size_t i = 0; i < subtrees.size(); ++i) {
    Subtree& sub = subtrees[i];
    if (sub.size == 0) continue;
    if (targets[i] > 0) p->children.push_back(sub.root);
    if (targets[i] > sub.size)
      s.consumers.push_back({std::move(sub), targets[i], {}});
    else
      instruct(color, sub, targets[i], instruction.height - 1, {}, carrier);
  }
  for (uint32_t target : missing) s.consumers.push_back({{}, target, {}});
  s.drawn = stock.take(stock.total() - surplus);
  s.stock.add(std::move(stock));
  serve(color, s, carrier);
  if (stays) provide(color, s, carrier);
  complete_when_done(color, s);
}

/// Asks those of the suppliers drawn that `whom` lists for all that they have for this vertex.
bool ShrinkAndBalance::ask(uint32_t color, State& s, const std::vector<Address>& whom,
                           Carrier& carrier) {
  for (Address address : whom) {
    auto it = std::find_if(s.drawn.suppliers.begin(), s.drawn.suppliers.end(),
                           [&](const Supplier& x) { return x.address == address; });
    if (it == s.drawn.suppliers.end()) continue;
    MessageWriter out(kRequest);
    out.put(color);
    out.put(it->amount);
    carrier.send(address, out.take());
    s.drawn.suppliers.erase(it);
    ++s.answers;
  }
  return s.answers > 0;
}

/// Gives names from what was drawn to the missing children. Returns false where more was asked for.
bool ShrinkAndBalance::name_missing_children(uint32_t color, State& s, Carrier& carrier) {
  size_t missing = 0;
  for (const Consumer& c : s.consumers) missing += c.subtree.root == kNobody;
  if (missing > s.drawn.vertices.size()) {
    size_t lacking = missing - s.drawn.vertices.size();
    std::sort(s.drawn.suppliers.begin(), s.drawn.suppliers.end(),
              [](const Supplier& a, const Supplier& b) { return a.amount < b.amount; });
    std::vector<Address> whom;
    for (const Supplier& x : s.drawn.suppliers) {
      if (lacking == 0) break;
      whom.push_back(x.address);
      lacking -= std::min<size_t>(lacking, x.amount);
    }
    FGMPI_CHECK(ask(color, s, whom, carrier));
    return false;
  }
  for (Consumer& c : s.consumers) {
    if (c.subtree.root != kNobody) continue;
    c.subtree.root = s.drawn.vertices.back();
    c.subtree.size = 1;
    s.drawn.vertices.pop_back();
    place(color)->children.push_back(c.subtree.root);
  }
  return true;
}

/// Gives the consumers below this vertex their shares, as far as it can; asks suppliers first where
/// it must.
void ShrinkAndBalance::provide(uint32_t color, State& s, Carrier& carrier) {
  most_suppliers_ =
      std::max(most_suppliers_, static_cast<uint32_t>(s.drawn.suppliers.size()) + s.answers);
  if (s.answers > 0) return;
  if (!name_missing_children(color, s, carrier)) return;
  if (!s.refined) {
    s.refined = true;
    std::vector<Address> cut;
    std::vector<Consumer> trial = s.consumers;
    divide(s.drawn, &trial, &cut);
    if (ask(color, s, cut, carrier)) return;
  }
  divide(std::move(s.drawn), &s.consumers, nullptr);
  s.drawn = {};
  for (const Consumer& c : s.consumers)
    instruct(color, c.subtree, c.target, s.height - 1, c.stock, carrier);
  std::vector<Consumer>().swap(s.consumers);
  if (!options_.ranks)
    s.placed = true;
  else if (s.ranks.begin(place(color), enrolment(color)->bid, carrier))
    s.placed = true;
}

void ShrinkAndBalance::serve(uint32_t color, State& s, Carrier& carrier) {
  while (!s.asked.empty() && s.asked.front().amount <= s.stock.total()) {
    MessageWriter out(kSupply);
    out.put(color);
    put(out, s.stock.take(s.asked.front().amount));
    carrier.send(s.asked.front().address, out.take());
    s.asked.pop_front();
  }
}

void ShrinkAndBalance::complete_when_done(uint32_t color, State& s) {
  if (!s.placed || !s.stock.empty() || !s.asked.empty()) return;
  states_.erase(color);
  complete_one();
}

size_t ShrinkAndBalance::state_bytes() const {
  size_t bytes = sizeof *this;
  for (const auto& [color, s] : states_) {
    bytes += sizeof s + 40 + bytes_of(s.subtrees) + bytes_of(s.stock) + bytes_of(s.drawn) +
             s.asked.size() * sizeof(Supplier) + s.ranks.bytes();
    for (const Consumer& c : s.consumers)
      bytes += sizeof c + c.subtree.leaves.capacity() * sizeof(Address) +
               bytes_of(c.subtree.adopted) + bytes_of(c.stock);
  }
  return bytes;
}

}  // namespace

std::unique_ptr<Vertex> make_shrink_and_balance(const SplitOptions& options, ParentPlace where,
                                                std::vector<Enrolment> mine) {
  return std::make_unique<ShrinkAndBalance>(options, std::move(where), std::move(mine));
}

}  // namespace fgmpi::system_ranked
