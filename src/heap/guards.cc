// Ranks that go to other processes take guarded frames and pointers along: the words are fixed.

#include "base/fixed_guards.h"

namespace fgmpi::heap {
namespace {

[[gnu::constructor, gnu::no_stack_protector]] void fix_guards() {
  fix_guards_without_random_addresses();
}

}  // namespace
}  // namespace fgmpi::heap
