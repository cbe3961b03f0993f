// Merging vector clocks, when one rank learns the clock of another.

#include "check/order/clock.h"

namespace fgmpi::check {
namespace {

bool covers(const std::vector<ClockPart>& own, const std::vector<ClockPart>& other) {
  auto at = own.begin();
  for (const ClockPart& p : other) {
    while (at != own.end() && at->of < p.of) ++at;
    if (at == own.end() || at->of != p.of || at->count < p.count) return false;
  }
  return true;
}

}  // namespace

void Knowledge::learn_other(const Near& other) {
  for (const ClockPart& part : other)
    if (part.of) learn_named(part);
}

void learn(Clock* own, const Clock& other) {
  if (!other || *own == other) return;
  if (!*own || covers(*other, **own)) {
    *own = other;
    return;
  }
  if (covers(**own, *other)) return;
  auto both = std::make_shared<std::vector<ClockPart>>();
  both->reserve((*own)->size() + other->size());
  auto a = (*own)->begin(), b = other->begin();
  while (a != (*own)->end() || b != other->end()) {
    if (b == other->end() || (a != (*own)->end() && a->of < b->of)) {
      both->push_back(*a++);
    } else if (a == (*own)->end() || b->of < a->of) {
      both->push_back(*b++);
    } else {
      both->push_back({a->of, std::max(a->count, b->count)});
      ++a, ++b;
    }
  }
  *own = std::move(both);
}

void learn_without_left(Clock* own, const Clock& other) {
  auto left = [](const ClockPart& p) { return is_of_left(p.of); };
  if (!other || std::none_of(other->begin(), other->end(), left)) return learn(own, other);
  auto rest = std::make_shared<std::vector<ClockPart>>(*other);
  std::erase_if(*rest, left);
  learn(own, std::move(rest));
}

void learn(Clock* own, uint64_t of, uint64_t count) {
  if (known(*own, of) >= count) return;
  learn(own, std::make_shared<const std::vector<ClockPart>>(1, ClockPart{of, count}));
}

}  // namespace fgmpi::check
