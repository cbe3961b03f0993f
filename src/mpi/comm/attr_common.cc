// Attribute calls that communicators and windows share.

#include "mpi/comm/attr_common.h"

#include "host/handle_bits.h"
#include "mpi/errors/errors.h"

namespace fgmpi::mpi {
namespace {

Status refuse_predefined(comm::KeyvalOf of, int keyval) {
  if (!is_predefined(of, keyval)) return {};
  return error(MPI_ERR_KEYVAL, "keyval 0x%08x is a predefined attribute, which cannot be changed",
               static_cast<unsigned>(keyval));
}

comm::Attributes* list_of(const Attributed& object) {
  return object.keeper->extras ? &object.keeper->extras->attributes : nullptr;
}

}  // namespace

bool is_predefined(comm::KeyvalOf of, int keyval) {
  using host::HandleObject;
  const HandleObject object = of == comm::KeyvalOf::kWin ? HandleObject::kWin : HandleObject::kComm;
  const uint32_t first = host::keyval_base(host::HandleKind::kBuiltin, object);
  return of != comm::KeyvalOf::kType && (static_cast<uint32_t>(keyval) & 0xffffff00u) == first;
}

int set_attribute(const char* call, const Attributed& object, int keyval, void* value,
                  comm::AttrKind kind) {
  int code = MPI_SUCCESS;
  Status status = refuse_predefined(object.of, keyval);
  if (status.ok())
    status = comm::set_attribute(object.of, &comm::extras(object.keeper).attributes, object.handle,
                                 keyval, value, kind, &code);
  return status.ok() ? code : code_of(call, status);
}

int delete_attribute(const char* call, const Attributed& object, int keyval) {
  int code = MPI_SUCCESS;
  Status status = refuse_predefined(object.of, keyval);
  if (status.ok())
    status = comm::delete_attribute(object.of, list_of(object), object.handle, keyval, &code);
  return status.ok() ? code : code_of(call, status);
}

Status get_attribute(const Attributed& object, int keyval, comm::AttrKind kind, void* value,
                     bool* found) {
  return comm::get_attribute(object.of, list_of(object), keyval, kind, value, found);
}

Status free_keyval(comm::KeyvalOf of, int* keyval) {
  FGMPI_TRY(refuse_predefined(of, *keyval));
  FGMPI_TRY(comm::free_keyval(of, *keyval));
  *keyval = MPI_KEYVAL_INVALID;
  return {};
}

}  // namespace fgmpi::mpi
