// The intersection of arithmetic progressions.

#include "groupmap/progression.h"

#include <numeric>

namespace fgmpi::groupmap {
namespace {

/// x with a*x = gcd(a, m) modulo m.
int64_t cofactor(int64_t a, int64_t m) {
  int64_t x = 1, next_x = 0, r = a, next_r = m;
  while (next_r) {
    int64_t quotient = r / next_r;
    x -= quotient * next_x;
    r -= quotient * next_r;
    std::swap(x, next_x);
    std::swap(r, next_r);
  }
  return x;
}

}  // namespace

std::optional<Progression> intersect(const Progression& a, const Progression& b) {
  int64_t low = std::max(a.first, b.first), high = std::min(a.last, b.last);
  if (low > high) return std::nullopt;
  int64_t g = std::gcd(a.step, b.step);
  int64_t difference = b.first - a.first;
  if (difference % g != 0) return std::nullopt;
  // a.first + a.step * k is in b for k = difference/g * (a.step/g)^-1 modulo b.step/g.
  int64_t modulus = b.step / g;
  auto mod = [&](int64_t x) { return (x % modulus + modulus) % modulus; };
  __int128 product =
      static_cast<__int128>(mod(difference / g)) * mod(cofactor(a.step / g, modulus));
  int64_t k = static_cast<int64_t>(product % modulus);
  __int128 step = static_cast<__int128>(a.step) * modulus;
  __int128 first = a.first + static_cast<__int128>(a.step) * k;
  if (first < low) first += (low - first + step - 1) / step * step;
  if (first > high) return std::nullopt;
  __int128 last = first + (high - first) / step * step;
  return Progression{static_cast<int64_t>(first), static_cast<int64_t>(last),
                     first == last ? 1 : static_cast<int64_t>(step)};
}

}  // namespace fgmpi::groupmap
