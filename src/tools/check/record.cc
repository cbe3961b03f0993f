#include "tools/check/record.h"

namespace fgmpi::check {
namespace {

KeptCall* g_spare = nullptr;  ///< under Call's lock

}  // namespace

KeptCall* Record::fresh() {
  KeptCall* k = g_spare;
  if (!k) return new KeptCall;
  g_spare = k->next_free;
  return k;
}

void Record::drop(KeptCall* kept) {
  kept->next_free = g_spare;
  g_spare = kept;
}

}  // namespace fgmpi::check
