// Calls by deputies: how they are handed over, and what is called in MPI's place.
#include "checkpoint/deputy.h"

#include "checkpoint/here.h"
#include "checkpoint/wrappers.h"

namespace fgmpi::checkpoint {

Next g_mpi, g_home;
Extensions g_mpi_extensions;
bool g_deputies = false;
decltype(&MPIX_Tool_await) g_await = nullptr;

bool has_deputy() {
  const LayerRank* rank = current_rank();
  return rank && rank->has_deputy;
}

void hand_over(const char* what, LayerCall call) {
  if (void* deputy = fgmpi_begin_deputy(what, call))
    fgmpi_end_deputy(deputy);
  else
    call.function(call.data);
}

namespace {

/// The functions of the library's bindings. `member`: of InternalFunctions.
template <auto member>
struct InternalByDeputy;
template <class Result, class... Parameters, Result (*InternalFunctions::*member)(Parameters...)>
struct InternalByDeputy<member> {
  static inline Result (*function)(Parameters...) = nullptr;
  static Result call(Parameters... arguments) {
    return by_deputy("a function of a binding", function, arguments...);
  }
};

template <auto member>
void hand_over_internal(InternalFunctions* internal) {
  InternalByDeputy<member>::function = internal->*member;
  internal->*member = InternalByDeputy<member>::call;
}

void hand_over_internal() {
  InternalFunctions* const internal = internal_functions();
  hand_over_internal<&InternalFunctions::keyval_set_proxy>(internal);
  hand_over_internal<&InternalFunctions::errhandler_set_cxx>(internal);
  hand_over_internal<&InternalFunctions::comm_get_attr>(internal);
  hand_over_internal<&InternalFunctions::comm_set_attr>(internal);
  hand_over_internal<&InternalFunctions::type_get_attr>(internal);
  hand_over_internal<&InternalFunctions::type_set_attr>(internal);
  hand_over_internal<&InternalFunctions::win_get_attr>(internal);
  hand_over_internal<&InternalFunctions::win_set_attr>(internal);
}

}  // namespace

void use_deputies() {
  if (!fgmpi_begin_deputy) return;  // another MPI library
  g_deputies = true;
  hand_over_calls(&g_next, &g_extensions);
  hand_over_internal();
  follow_objects_at_home(&g_next);
  ask_both_for_requests(&g_next);
  g_home = g_next;
  hand_over_queries(&g_home);
}

}  // namespace fgmpi::checkpoint
