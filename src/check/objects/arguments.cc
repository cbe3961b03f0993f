// Checks of arguments that MPI forbids but does not check itself.
#include <algorithm>
#include <cstring>
#include <vector>

#include "check/call.h"
#include "host/error_text.h"

namespace fgmpi::check {
namespace {

/// The datatypes of the nonempty parts of a buffer that has one type for each part.
std::vector<MPI_Datatype> types_of_parts(const CheckedCall& call, const Parameter& buffer) {
  std::vector<MPI_Datatype> found;
  const int64_t counts = call.at(buffer.length);
  const auto* types = reinterpret_cast<const MPI_Datatype*>(call.at(buffer.second));
  OwnComm* own = call.rank()->comm_of(static_cast<MPI_Comm>(call.value(&Positions::comm)));
  if (!own || !counts || !types) return found;
  const std::vector<int>* others = nullptr;
  const int64_t n = parts_of(call, buffer.what == ParameterUse::kRead, own, &others);
  for (int64_t i = 0; i < n; ++i)
    if (number_in(call, counts, i)) found.push_back(types[i]);
  return found;
}

/// Reports a type that was not committed. Returns whether it did.
bool check_datatype(CheckedCall* call, MPI_Datatype type) {
  const auto& made = call->rank()->made[static_cast<size_t>(Object::kDatatype)];
  auto found = made.find(static_cast<uint32_t>(type));
  if (found == made.end() || found->second.committed) return false;
  report(FindingKind::kArguments, "a datatype is used that was not committed",
         "MPI_Type_commit before a type is used in communication",
         {call->me(), participant(call->rank(), found->second.call, "made it")});
  return true;
}

}  // namespace

void check_types_committed(CheckedCall* call) {
  const CallInfo& info = call->info();
  if (call->rank()->made[static_cast<size_t>(Object::kDatatype)].empty()) return;
  for (unsigned set = info.sets.buffers; set; set &= set - 1) {
    const int i = __builtin_ctz(set);
    const Parameter& buffer = info.parameters[i];
    if (buffer.second < 0 || call->at(i) == word_of_in_place()) continue;
    if (!info.parameters[buffer.second].array) {
      if (check_datatype(call, static_cast<MPI_Datatype>(call->at(buffer.second)))) return;
      continue;
    }
    for (MPI_Datatype type : types_of_parts(*call, buffer))
      if (check_datatype(call, type)) return;
  }
}

namespace {

/// Do elements of a datatype overlap each other, where there are several?
bool elements_overlap(MPI_Datatype type, const TypeLayout& l, int64_t count) {
  if (count < 2 || l.extent >= l.high - l.low) return false;
  Region r;
  r.type = type;
  r.count = count;
  set_reach(&r, l);
  return has_overlap(r.blocks);
}

}  // namespace

void check_received_types(CheckedCall* call) {
  const CallInfo& info = call->info();
  const auto& made = call->rank()->made[static_cast<size_t>(Object::kDatatype)];
  if (made.empty()) return;
  for (unsigned set = info.sets.buffers; set; set &= set - 1) {
    const int i = __builtin_ctz(set);
    const Parameter& p = info.parameters[i];
    if (p.what == ParameterUse::kRead || p.second < 0 || p.length < 0 ||
        info.parameters[p.second].array || call->at(i) == word_of_in_place())
      continue;
    const auto type = static_cast<MPI_Datatype>(call->at(p.second));
    const auto from = made.find(static_cast<uint32_t>(type));
    const TypeLayout* l = from == made.end() ? nullptr : layout_of(type);
    if (!l) continue;
    const bool counts = info.parameters[p.length].what == ParameterUse::kCount;
    if (!l->overlaps && !(counts && elements_overlap(type, *l, call->at(p.length)))) continue;
    report(FindingKind::kArguments, "entries of a datatype that receives overlap",
           "each entry of a datatype that receives has bytes of its own",
           {call->me(), participant(call->rank(), from->second.call, "made it")});
  }
}

namespace {

/// Has the type no elements but MPI_BYTE?
bool is_of_bytes(MPI_Datatype type) {
  std::vector<BasicElement> elements;
  return basic_elements_of(type, &elements) &&
         std::ranges::all_of(elements,
                             [](const BasicElement& e) { return e.of == ElementClass::kByte; });
}

/// The bytes of `count` elements; -1: unknown.
int64_t bytes_of(MPI_Datatype type, int64_t count) {
  const TypeLayout* l = layout_of(type);
  return l ? l->size * count : -1;
}

}  // namespace

void check_target_types(CheckedCall* call) {
  const int count = call->find("origin_count"), type = call->find("origin_datatype"),
            target_count = call->find("target_count"), target = call->find("target_datatype");
  if (count < 0 || type < 0 || target_count < 0 || target < 0 ||
      call->value(&Positions::target) == MPI_PROC_NULL)
    return;
  const auto at_target = static_cast<MPI_Datatype>(call->at(target));
  const TypeSignature there = signature_of(at_target, call->at(target_count));
  // Where MPI_Get_accumulate only reads, the origin's arguments have no meaning.
  const int op = call->info().at.op;
  const bool reads = op >= 0 && static_cast<MPI_Op>(call->at(op)) == MPI_NO_OP;
  const int result_count = call->find("result_count"), result = call->find("result_datatype");
  const auto given = static_cast<MPI_Datatype>(call->at(result >= 0 && reads ? result : type));
  const int64_t of_given = call->at(result >= 0 && reads ? result_count : count);
  if (of_given < 0 || call->at(target_count) < 0 || signature_of(given, of_given) == there) return;
  findings::Participant me = call->me();
  me.role =
      "gives " + words_of(given, of_given) + " and " + words_of(at_target, call->at(target_count));
  const bool note = (is_of_bytes(given) || is_of_bytes(at_target)) &&
                    bytes_of(given, of_given) == bytes_of(at_target, call->at(target_count));
  report(FindingKind::kTypes, "origin and target of a one-sided operation have other types",
         note ? "harmless only between equal machines: MPI_BYTE is only itself"
              : "the types at the target are those of the origin, one by one",
         {std::move(me)}, note);
}

void check_tags(CheckedCall* call) {
  constexpr int64_t kAround = 1000;
  for (const int8_t at : {call->info().at.send_tag, call->info().at.recv_tag}) {
    if (at < 0 || call->at(at) < MPI_TAG_UB || call->at(at) > MPI_TAG_UB + kAround) continue;
    report(
        FindingKind::kArguments,
        "a tag looks computed from MPI_TAG_UB, which is the key of an attribute",
        "harmless only with libraries that take it: MPI_Comm_get_attr tells the largest tag, and "
        "all take 32767",
        {call->me()}, true);
    return;
  }
}

void check_operation_types(CheckedCall* call) {
  const auto op = static_cast<MPI_Op>(call->value(&Positions::op));
  if (op != MPI_LAND && op != MPI_LOR && op != MPI_LXOR) return;
  for (int i = 0; i < call->info().count; ++i) {
    const Parameter& p = call->info().parameters[i];
    if (p.object != Object::kDatatype || p.array ||
        !is_floating(static_cast<MPI_Datatype>(call->at(i))))
      continue;
    report(FindingKind::kArguments, "a logical operation is applied to a floating type",
           "harmless only with libraries that take it: MPI defines MPI_LAND, MPI_LOR and MPI_LXOR "
           "for integers of C and for logicals",
           {call->me()}, true);
    return;
  }
}

void check_results_apart(CheckedCall* call) {
  const CallInfo& info = call->info();
  for (unsigned set = info.sets.results; set; set &= set - 1) {
    const int k = __builtin_ctz(set);
    for (unsigned later = set & (set - 1); later; later &= later - 1) {
      const int i = __builtin_ctz(later);
      if (call->at(i) != call->at(k) || call->at(i) == 0 || call->at(i) == 1) continue;
      report(FindingKind::kArguments,
             std::string("the results ") + info.parameters[k].name + " and " +
                 info.parameters[i].name + " have the same address",
             "each result of a call has a place of its own", {call->me()});
    }
  }
}

/// Other classes, such as those of missing files, are results that programs may expect.
bool is_of_argument(int error_class) {
  switch (error_class) {
    case MPI_ERR_BUFFER:
    case MPI_ERR_COUNT:
    case MPI_ERR_TYPE:
    case MPI_ERR_TAG:
    case MPI_ERR_COMM:
    case MPI_ERR_RANK:
    case MPI_ERR_ROOT:
    case MPI_ERR_GROUP:
    case MPI_ERR_OP:
    case MPI_ERR_TOPOLOGY:
    case MPI_ERR_DIMS:
    case MPI_ERR_ARG:
    case MPI_ERR_REQUEST:
    case MPI_ERR_KEYVAL:
    case MPI_ERR_INFO:
    case MPI_ERR_WIN:
    case MPI_ERR_BASE:
    case MPI_ERR_SIZE:
    case MPI_ERR_DISP:
    case MPI_ERR_LOCKTYPE:
    case MPI_ERR_ASSERT:
    case MPI_ERR_RMA_RANGE:
    case MPI_ERR_RMA_ATTACH:
      return true;
    default:
      return false;
  }
}

void report_error_result(const Rank* rank, const CallRecord& call, int result) {
  if (result == kThrown) return;  // the code of the error is unknown
  int error_class = MPI_SUCCESS, length = 0;
  char text[MPI_MAX_ERROR_STRING] = "";
  g_next.MPI_Error_class(result, &error_class);
  const bool of_epochs = is_of_epochs(error_class);
  if (!of_epochs && !is_of_argument(error_class)) return;
  g_next.MPI_Error_string(result, text, &length);
  std::vector<findings::Participant> calls = {participant(rank, call)};
  if (of_epochs) add_epochs(rank, call, &calls);
  report(of_epochs ? FindingKind::kWindows : FindingKind::kArguments,
         "a call has returned an error: " + host::plain_error_text(text), "", std::move(calls),
         true);
}

void report_error_after(CheckedCall* call) {
  if (!call->is_error_explained())
    report_error_result(call->rank(), call->record(), call->result());
}

}  // namespace fgmpi::check
