// Attributes on datatypes (MPI-4.0 section 7.7.4), and the two calls that run their functions:
// MPI_Type_dup and MPI_Type_free. Copy and delete functions run as the rank that called, on its own
// stack, and may call MPI.

#include <map>
#include <utility>

#include "datatype/type_handles.h"
#include "mpi/calls.h"
#include "mpi/comm/attr_common.h"
#include "mpi/comm/comm_common.h"
#include "mpi/datatype/types.h"
#include "mpi/life/runtime.h"

namespace fgmpi::mpi {
namespace {

using comm::AttrKind;
using comm::KeyvalOf;

/// Attributes by the rank (its index in this process) and the type: ranks share the handles of
/// predefined types. A type without attributes has no entry.
using TypeAttributes = std::map<std::pair<uint32_t, MPI_Datatype>, comm::Attributes>;
TypeAttributes& all() {
  static auto* attributes = new TypeAttributes;
  return *attributes;
}

std::pair<uint32_t, MPI_Datatype> key_of(MPI_Datatype type) {
  return {comm::rank_state()->local, type};
}

comm::Attributes* find(MPI_Datatype type) {
  auto found = all().find(key_of(type));
  return found == all().end() ? nullptr : &found->second;
}

void forget_if_empty(MPI_Datatype type) {
  auto found = all().find(key_of(type));
  if (found != all().end() && found->second.empty()) all().erase(found);
}

/// Finds a type, committed or not. Errors: MPI_ERR_TYPE.
Status check_type(MPI_Datatype type) {
  datatype::Type known;
  return datatype::Type::of_any(type, &known);
}

/// True for types that programs cannot free.
bool is_permanent(MPI_Datatype type) {
  const datatype::DerivedType* derived = datatype::find_derived(type).type;
  return !derived || derived->permanent();
}

/// Runs the delete functions, latest first. Returns the first failing one's code, else MPI_SUCCESS.
/// May switch.
int delete_all(TypeAttributes::iterator at) {
  const MPI_Datatype type = at->first.second;
  if (int code = comm::delete_attributes(&at->second, type); code != MPI_SUCCESS) return code;
  all().erase(at);
  return MPI_SUCCESS;
}

}  // namespace

void delete_type_attributes(uint32_t rank) {
  // A delete function may set and delete other attributes, so each step searches again.
  for (auto at = all().lower_bound({rank, MPI_Datatype{}});
       at != all().end() && at->first.first == rank; at = all().lower_bound({rank, MPI_Datatype{}}))
    if (!is_permanent(at->first.second) || delete_all(at) != MPI_SUCCESS) {
      comm::drop_attributes(&at->second);
      all().erase(at);
    }
}

Status type_create_keyval(MPI_Type_copy_attr_function* copy, MPI_Type_delete_attr_function* remove,
                          int* keyval, void* extra) {
  return comm::create_keyval(KeyvalOf::kType, erase_type(copy), erase_type(remove), extra, keyval);
}

Status type_free_keyval(int* keyval) { return free_keyval(KeyvalOf::kType, keyval); }

Status get_type_attribute(MPI_Datatype type, int keyval, AttrKind kind, void* value, int* flag) {
  bool found = false;
  *flag = 0;
  FGMPI_TRY(check_type(type));
  FGMPI_TRY(comm::get_attribute(KeyvalOf::kType, find(type), keyval, kind, value, &found));
  *flag = found;
  return {};
}

int set_type_attribute(const char* call, MPI_Datatype type, int keyval, void* value,
                       AttrKind kind) {
  int code = MPI_SUCCESS;
  Status status = check_type(type);
  if (!status.ok()) return code_of(call, status);
  status =
      comm::set_attribute(KeyvalOf::kType, &all()[key_of(type)], type, keyval, value, kind, &code);
  forget_if_empty(type);
  return status.ok() ? code : code_of(call, status);
}

int delete_type_attribute(const char* call, MPI_Datatype type, int keyval) {
  int code = MPI_SUCCESS;
  Status status = check_type(type);
  if (status.ok())
    status = comm::delete_attribute(KeyvalOf::kType, find(type), type, keyval, &code);
  if (!status.ok()) return code_of(call, status);
  forget_if_empty(type);
  return code;
}

int duplicate_type(MPI_Datatype from, MPI_Datatype* to) {
  constexpr const char* kCall = "MPI_Type_dup";
  datatype::Type old, copy;
  Status status = datatype::Type::of_any(from, &old);
  if (status.ok()) status = datatype::make_duplicate(old, &copy);
  const bool committed = old.basic() || datatype::find_derived(from).committed;
  if (status.ok()) status = datatype::make_handle(copy, committed, to);
  if (!status.ok()) return code_of(kCall, status);
  comm::Attributes* originals = find(from);
  if (!originals) return MPI_SUCCESS;
  comm::Attributes copies;
  const int code = comm::copy_attributes(originals, from, &copies);
  if (code == MPI_SUCCESS) {
    if (!copies.empty()) all()[key_of(*to)] = std::move(copies);
    return code;
  }
  comm::drop_attributes(&copies);
  datatype::free_handle(*to);
  *to = MPI_DATATYPE_NULL;
  return code;
}

int free_type(MPI_Datatype* type) {
  constexpr const char* kCall = "MPI_Type_free";
  Status status = check_pointer(type, "datatype");
  if (status.ok()) status = check_type(*type);
  if (status.ok() && is_permanent(*type))
    status = error(MPI_ERR_TYPE,
                   "datatype 0x%08x is predefined; allowed are datatypes that a call has made",
                   static_cast<unsigned>(*type));
  if (!status.ok()) return code_of(kCall, status);
  auto at = all().find(key_of(*type));
  const int code = at == all().end() ? MPI_SUCCESS : delete_all(at);
  if (code != MPI_SUCCESS) return code;
  forget_type_name(*type);
  datatype::free_handle(*type);
  *type = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

}  // namespace fgmpi::mpi
