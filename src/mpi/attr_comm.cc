// Attributes on communicators (MPI-4.0 section 7.7.2), the MPI-1 names for them, and the entries for Fortran.

#include "host/host.h"
#include "host/internal.h"
#include "mpi/comm_common.h"
#include "mpi/runtime.h"

namespace fgmpi::mpi {
namespace {

using comm::AttrKind;
using comm::KeyvalOf;

/// A predefined attribute (Fortran's keyvals are one more than C's). False when `keyval` is none; *found is
/// false for one that has no value here.
bool predefined(int keyval, AttrKind kind, void* value, bool* found) {
  static intptr_t tag_ub = kTagUb, host = MPI_PROC_NULL, io = MPI_ANY_SOURCE, wtime_is_global,
                  universe, last_code, appnum;
  *found = true;
  switch (keyval & 1 ? keyval : keyval - 1) {
    case MPI_TAG_UB:
      comm::give_integer(&tag_ub, kind, value);
      return true;
    case MPI_HOST:
      comm::give_integer(&host, kind, value);
      return true;
    case MPI_IO:
      comm::give_integer(&io, kind, value);
      return true;
    case MPI_WTIME_IS_GLOBAL:
      comm::give_integer(&wtime_is_global, kind, value);
      return true;
    case MPI_UNIVERSE_SIZE:
      // The launcher counts processes; each may host as many ranks as ours do.
      universe = boot().universe_size();
      *found = universe > 0;
      universe = std::max<intptr_t>(universe * g_av.my_count(), g_av.world_size());
      if (*found) comm::give_integer(&universe, kind, value);
      return true;
    case MPI_LASTUSEDCODE: {
      last_code = MPI_ERR_LASTCODE;
      if (host::initialised()) {
        int* hosts = nullptr;
        int flag = 0;
        host::call([&](const host::Api& h) {
          return h.Comm_get_attr(MPI_COMM_SELF, MPI_LASTUSEDCODE, &hosts, &flag);
        });
        if (flag) last_code = *hosts;
      }
      comm::give_integer(&last_code, kind, value);
      return true;
    }
    case MPI_APPNUM:
      appnum = boot().appnum();
      *found = appnum >= 0;
      if (*found) comm::give_integer(&appnum, kind, value);
      return true;
    default:
      return false;
  }
}

bool is_predefined(int keyval) {
  return (static_cast<uint32_t>(keyval) & 0xffffff00u) == 0x64400000u;
}

int get(const char* call, MPI_Comm handle, int keyval, AttrKind kind, void* value, int* flag) {
  FGMPI_ENTER(call, c, handle);
  FGMPI_RETURN_IF(call, c, check_pointer(value, "attribute_val"));
  FGMPI_RETURN_IF(call, c, check_pointer(flag, "flag"));
  bool found = false;
  *flag = 0;
  if (!is_predefined(keyval) || !predefined(keyval, kind, value, &found)) {
    auto* list = c->extras ? &c->extras->attributes : nullptr;
    FGMPI_RETURN_IF(call, c,
                    comm::get_attribute(KeyvalOf::kComm, list, keyval, kind, value, &found));
  }
  *flag = found;
  return MPI_SUCCESS;
}

Status refuse_predefined(int keyval) {
  if (!is_predefined(keyval)) return {};
  return error(MPI_ERR_KEYVAL, "keyval 0x%08x is a predefined attribute, which cannot be changed",
               static_cast<unsigned>(keyval));
}

int set(const char* call, MPI_Comm handle, int keyval, void* value, AttrKind kind) {
  FGMPI_ENTER(call, c, handle);
  FGMPI_RETURN_IF(call, c, refuse_predefined(keyval));
  int code = MPI_SUCCESS;
  FGMPI_RETURN_IF(call, c,
                  comm::set_attribute(KeyvalOf::kComm, &comm::extras(c).attributes, handle, keyval,
                                      value, kind, &code));
  return code == MPI_SUCCESS ? code : fail_code(call, c, code);
}

int remove(const char* call, MPI_Comm handle, int keyval) {
  FGMPI_ENTER(call, c, handle);
  FGMPI_RETURN_IF(call, c, refuse_predefined(keyval));
  int code = MPI_SUCCESS;
  auto* list = c->extras ? &c->extras->attributes : nullptr;
  FGMPI_RETURN_IF(call, c, comm::delete_attribute(KeyvalOf::kComm, list, handle, keyval, &code));
  return code == MPI_SUCCESS ? code : fail_code(call, c, code);
}

int create(const char* call, void* copy, void* remove, int* keyval, void* extra) {
  FGMPI_NEED_INIT(call);
  FGMPI_RETURN_IF(call, nullptr, check_pointer(keyval, "comm_keyval"));
  return done(call, nullptr, comm::create_keyval(KeyvalOf::kComm, copy, remove, extra, keyval));
}

int free(const char* call, int* keyval) {
  FGMPI_NEED_INIT(call);
  FGMPI_RETURN_IF(call, nullptr, check_pointer(keyval, "comm_keyval"));
  FGMPI_RETURN_IF(call, nullptr, refuse_predefined(*keyval));
  FGMPI_RETURN_IF(call, nullptr, comm::free_keyval(KeyvalOf::kComm, *keyval));
  *keyval = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

template <class F>
void* erase_type(F* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace
}  // namespace fgmpi::mpi

using namespace fgmpi;

FGMPI_EXPORT(MPI_Comm_create_keyval);
int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function* copy,
                            MPI_Comm_delete_attr_function* remove, int* keyval, void* extra) {
  return mpi::create("MPI_Comm_create_keyval", mpi::erase_type(copy), mpi::erase_type(remove),
                     keyval, extra);
}

FGMPI_EXPORT(MPI_Keyval_create);
int PMPI_Keyval_create(MPI_Copy_function* copy, MPI_Delete_function* remove, int* keyval,
                       void* extra) {
  return mpi::create("MPI_Keyval_create", mpi::erase_type(copy), mpi::erase_type(remove), keyval,
                     extra);
}

FGMPI_EXPORT(MPI_Comm_free_keyval);
int PMPI_Comm_free_keyval(int* keyval) { return mpi::free("MPI_Comm_free_keyval", keyval); }

FGMPI_EXPORT(MPI_Keyval_free);
int PMPI_Keyval_free(int* keyval) { return mpi::free("MPI_Keyval_free", keyval); }

FGMPI_EXPORT(MPI_Comm_set_attr);
int PMPI_Comm_set_attr(MPI_Comm comm, int keyval, void* value) {
  return mpi::set("MPI_Comm_set_attr", comm, keyval, value, comm::kAttrPointer);
}

FGMPI_EXPORT(MPI_Attr_put);
int PMPI_Attr_put(MPI_Comm comm, int keyval, void* value) {
  return mpi::set("MPI_Attr_put", comm, keyval, value, comm::kAttrPointer);
}

FGMPI_EXPORT(MPI_Comm_get_attr);
int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* flag) {
  return mpi::get("MPI_Comm_get_attr", comm, keyval, comm::kAttrPointer, value, flag);
}

FGMPI_EXPORT(MPI_Attr_get);
int PMPI_Attr_get(MPI_Comm comm, int keyval, void* value, int* flag) {
  return mpi::get("MPI_Attr_get", comm, keyval, comm::kAttrPointer, value, flag);
}

FGMPI_EXPORT(MPI_Comm_delete_attr);
int PMPI_Comm_delete_attr(MPI_Comm comm, int keyval) {
  return mpi::remove("MPI_Comm_delete_attr", comm, keyval);
}

FGMPI_EXPORT(MPI_Attr_delete);
int PMPI_Attr_delete(MPI_Comm comm, int keyval) {
  return mpi::remove("MPI_Attr_delete", comm, keyval);
}

// ---- For Fortran (libmpichfort) ---------------------------------------------------------------------------

FGMPI_EXPORT_INTERNAL(MPII_Comm_get_attr);
int MPII_Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* flag, fgmpi_attr_kind kind) {
  return mpi::get("MPI_Comm_get_attr", comm, keyval, static_cast<comm::AttrKind>(kind), value,
                  flag);
}

FGMPI_EXPORT_INTERNAL(MPII_Comm_set_attr);
int MPII_Comm_set_attr(MPI_Comm comm, int keyval, void* value, fgmpi_attr_kind kind) {
  return mpi::set("MPI_Comm_set_attr", comm, keyval, value, static_cast<comm::AttrKind>(kind));
}

FGMPI_EXPORT_INTERNAL(MPII_Keyval_set_proxy);
void MPII_Keyval_set_proxy(int keyval, fgmpi_copy_proxy* copy, fgmpi_delete_proxy* remove) {
  auto copier = reinterpret_cast<comm::CopyProxy>(reinterpret_cast<void*>(copy));
  auto remover = reinterpret_cast<comm::DeleteProxy>(reinterpret_cast<void*>(remove));
  if (comm::set_proxies(keyval, copier, remover)) return;
  // A keyval of datatypes: the host's.
  sched::call_on_host([&] { host::api().I_Keyval_set_proxy(keyval, copy, remove); });
}
