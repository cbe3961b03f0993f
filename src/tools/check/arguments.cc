// Arguments of one call that MPI forbids and that its functions do not look at.
#include <cstring>

#include "tools/check/call.h"

namespace fgmpi::check {
namespace {

/// Types of buffers are committed.
void look_at_types(Call* call) {
  const CallInfo& info = call->info();
  const auto& made = call->rank()->made[static_cast<size_t>(Object::kDatatype)];
  if (made.empty()) return;
  for (unsigned set = info.sets.buffers; set; set &= set - 1) {
    const int i = __builtin_ctz(set);
    const Parameter& buffer = info.parameters[i];
    if (buffer.second < 0 || call->at(i) == word_of_in_place()) continue;
    const auto type = static_cast<uint32_t>(call->at(buffer.second));
    auto found = made.find(type);
    if (info.parameters[buffer.second].array || found == made.end() || found->second.committed)
      continue;
    report(Kind::kArguments, "a datatype is used that was not committed",
           "MPI_Type_commit before a type is used in communication",
           {call->me(), participant(call->rank(), found->second.call, "made it")});
    return;
  }
}

/// Two results of a call have places of their own.
void look_at_outputs(Call* call) {
  const CallInfo& info = call->info();
  for (unsigned set = info.sets.results; set; set &= set - 1) {
    const int k = __builtin_ctz(set);
    for (unsigned later = set & (set - 1); later; later &= later - 1) {
      const int i = __builtin_ctz(later);
      if (call->at(i) != call->at(k) || call->at(i) == 0 || call->at(i) == 1) continue;
      report(Kind::kArguments,
             std::string("the results ") + info.parameters[k].name + " and " +
                 info.parameters[i].name + " have the same address",
             "each result of a call has a place of its own", {call->me()});
    }
  }
}

}  // namespace

void look_at_arguments(Call* call) {
  look_at_types(call);
  look_at_outputs(call);
}

}  // namespace fgmpi::check
