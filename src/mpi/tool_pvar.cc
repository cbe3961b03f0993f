// Tools interface: performance variables (tool.h).

#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/counters.h"
#include "comm/comm.h"
#include "mpi/tool.h"

namespace fgmpi::mpi::tool {
namespace {

using counters::Kind;
using counters::kRecords;
using counters::Record;
using host::Api;

constexpr int kOwnPvars = counters::kCount;

/// A handle of ours: what it reads, and from where it counts.
struct Handle {
  counters::Id id;
  MPI_Comm comm = MPI_COMM_NULL;  ///< counters of a communicator
  uint64_t base = 0;  ///< what a counter had when it was last reset, or when it was started
  // Of counters that are kept on demand:
  uint64_t kept = 0;              ///< what was counted until it was stopped
  const void* started = nullptr;  ///< what stop() is given
};

/// A session: the host's, and our handles in it.
struct Session {
  MPI_T_pvar_session host = MPI_T_PVAR_SESSION_NULL;
  std::unordered_map<const void*, std::unique_ptr<Handle>> handles;  ///< by what the user holds
};

/// All sessions of the process by what the user holds.
std::unordered_map<const void*, Session*> g_sessions;

Session* find_session(MPI_T_pvar_session session) {
  auto it = g_sessions.find(session);
  return it == g_sessions.end() ? nullptr : it->second;
}

Handle* find_handle(Session* session, MPI_T_pvar_handle handle) {
  auto it = session->handles.find(handle);
  return it == session->handles.end() ? nullptr : it->second.get();
}

bool can_be_reset(counters::Id id) { return kRecords[id].kind == Kind::kCounter; }

int class_of(Kind kind) {
  switch (kind) {
    case Kind::kCounter:
      return MPI_T_PVAR_CLASS_COUNTER;
    case Kind::kLevel:
      return MPI_T_PVAR_CLASS_LEVEL;
    case Kind::kHighWaterMark:
      break;
  }
  return MPI_T_PVAR_CLASS_HIGHWATERMARK;
}

/// False where its communicator has been freed.
bool object_of(const Handle& handle, const void** out) {
  *out = nullptr;
  if (kRecords[handle.id].scope != counters::Scope::kCommunicator) return true;
  *out = comm::find_inside(handle.comm);
  return *out != nullptr;
}

bool is_on_demand(counters::Id id) { return counters::switch_of(id).start != nullptr; }

/// The counter's value; false where its communicator has been freed.
bool value_of(const Handle& handle, uint64_t* out) {
  const void* object;
  if (!object_of(handle, &object)) return false;
  *out = handle.kept;
  if (handle.started || !is_on_demand(handle.id))
    *out += counters::read(handle.id, object) - handle.base;
  return true;
}

int reset(Handle* handle) {
  if (!can_be_reset(handle->id)) return MPI_T_ERR_PVAR_NO_WRITE;
  uint64_t now;
  if (!value_of(*handle, &now)) return MPI_T_ERR_INVALID_HANDLE;
  handle->base += now - handle->kept;
  handle->kept = 0;
  return MPI_SUCCESS;
}

int start(Handle* handle) {
  if (!is_on_demand(handle->id)) return MPI_T_ERR_PVAR_NO_STARTSTOP;
  if (handle->started) return MPI_SUCCESS;
  const void* object;
  if (!object_of(*handle, &object)) return MPI_T_ERR_INVALID_HANDLE;
  handle->started = counters::switch_of(handle->id).start(object);
  handle->base = counters::read(handle->id, object);
  return MPI_SUCCESS;
}

int stop(Handle* handle) {
  if (!is_on_demand(handle->id)) return MPI_T_ERR_PVAR_NO_STARTSTOP;
  if (!handle->started) return MPI_SUCCESS;
  uint64_t now;
  if (value_of(*handle, &now)) handle->kept = now;
  counters::switch_of(handle->id).stop(std::exchange(handle->started, nullptr));
  return MPI_SUCCESS;
}

int read(const Handle& handle, void* buffer) {
  uint64_t now;
  if (!value_of(handle, &now)) return MPI_T_ERR_INVALID_HANDLE;
  const unsigned long long value = now;
  std::memcpy(buffer, &value, sizeof value);
  return MPI_SUCCESS;
}

/// The host's name of all handles is not ours.
MPI_T_pvar_handle for_host(MPI_T_pvar_handle handle) {
  if (handle != MPI_T_PVAR_ALL_HANDLES) return handle;
  host::api_uninitialised();
  auto* all = static_cast<MPI_T_pvar_handle*>(host::data_symbol("MPI_T_PVAR_ALL_HANDLES"));
  return all ? *all : handle;
}

/// Session and handle of a call; *own is null where the host has the handle, or where all are meant.
int look_up(MPI_T_pvar_session session, MPI_T_pvar_handle handle, Session** in, Handle** own) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  *in = find_session(session);
  if (!*in) return MPI_T_ERR_INVALID_SESSION;
  if (!handle) return MPI_T_ERR_INVALID_HANDLE;
  *own = find_handle(*in, handle);
  return MPI_SUCCESS;
}

/// The host, which may have no variable at all, then dereferences a null pointer for an index that it has not.
int check_index(int index) {
  int all = 0;
  if (int code = pvar_get_num(&all); code != MPI_SUCCESS) return code;
  return index >= 0 && index < all ? MPI_SUCCESS : MPI_T_ERR_INVALID_INDEX;
}

}  // namespace

int pvar_get_num(int* num) {
  return count_all([](int* out) { return ask_host(&Api::T_pvar_get_num, out); }, kOwnPvars, num);
}

int pvar_get_index(const char* name, int var_class, int* index) {
  return find_name(
      name, kOwnPvars,
      [=](int i) {
        return !std::strcmp(kRecords[i].name, name) && class_of(kRecords[i].kind) == var_class;
      },
      [=](int* out) { return ask_host(&Api::T_pvar_get_index, name, var_class, out); }, index);
}

int pvar_get_info(int index, char* name, int* name_len, int* verbosity, int* var_class,
                  MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                  int* bind, int* readonly, int* continuous, int* atomic) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (int code = check_index(index); code != MPI_SUCCESS) return code;
  if (index >= kOwnPvars)
    return ask_host(&Api::T_pvar_get_info, index - kOwnPvars, name, name_len, verbosity, var_class,
                    datatype, enumtype, desc, desc_len, bind, readonly, continuous, atomic);
  const Record& record = kRecords[index];
  const bool of_comm = record.scope == counters::Scope::kCommunicator;
  give_text(record.name, name, name_len);
  give_text(record.text, desc, desc_len);
  give(verbosity, MPI_T_VERBOSITY_USER_BASIC);
  give(var_class, class_of(record.kind));
  give(datatype, MPI_UNSIGNED_LONG_LONG);
  if (enumtype) *enumtype = MPI_T_ENUM_NULL;
  give(bind, of_comm ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT);
  give(readonly, !can_be_reset(static_cast<counters::Id>(index)));
  give(continuous, !is_on_demand(static_cast<counters::Id>(index)));
  give(atomic, 0);
  return MPI_SUCCESS;
}

int pvar_session_create(MPI_T_pvar_session* session) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!session) return MPI_T_ERR_INVALID;
  MPI_T_pvar_session of_host;
  if (int code = ask_host(&Api::T_pvar_session_create, &of_host); code != MPI_SUCCESS) return code;
  auto* made = new Session;
  made->host = of_host;
  g_sessions.emplace(made, made);
  *session = reinterpret_cast<MPI_T_pvar_session>(made);
  return MPI_SUCCESS;
}

int pvar_session_free(MPI_T_pvar_session* session) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  Session* own = session ? find_session(*session) : nullptr;
  if (!own) return MPI_T_ERR_INVALID_SESSION;
  const int code = ask_host(&Api::T_pvar_session_free, &own->host);
  for (auto& [name, each] : own->handles) (void)stop(each.get());
  g_sessions.erase(own);
  delete own;
  *session = MPI_T_PVAR_SESSION_NULL;
  return code;
}

int pvar_handle_alloc(MPI_T_pvar_session session, int index, void* object,
                      MPI_T_pvar_handle* handle, int* count) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  Session* in = find_session(session);
  if (!in) return MPI_T_ERR_INVALID_SESSION;
  if (!handle || !count) return MPI_T_ERR_INVALID;
  if (int code = check_index(index); code != MPI_SUCCESS) return code;
  if (index >= kOwnPvars) {
    int bind = MPI_T_BIND_NO_OBJECT;
    const int of_host = index - kOwnPvars;
    if (int code = ask_host(&Api::T_pvar_get_info, of_host, nullptr, nullptr, nullptr, nullptr,
                            nullptr, nullptr, nullptr, nullptr, &bind, nullptr, nullptr, nullptr))
      return code;
    MPI_Comm self = MPI_COMM_SELF;
    return ask_host(&Api::T_pvar_handle_alloc, in->host, of_host,
                    bind == MPI_T_BIND_MPI_COMM ? &self : object, handle, count);
  }
  Handle made{static_cast<counters::Id>(index)};
  if (kRecords[index].scope == counters::Scope::kCommunicator) {
    if (!object) return MPI_T_ERR_INVALID;
    made.comm = *static_cast<const MPI_Comm*>(object);
  }
  uint64_t now;
  if (!value_of(made, &now)) return MPI_T_ERR_INVALID;
  if (can_be_reset(made.id) && !is_on_demand(made.id)) made.base = now;
  auto kept = std::make_unique<Handle>(made);
  *handle = reinterpret_cast<MPI_T_pvar_handle>(kept.get());
  in->handles.emplace(kept.get(), std::move(kept));
  *count = 1;
  return MPI_SUCCESS;
}

int pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
  Session* in;
  Handle* own;
  if (int code = look_up(session, handle ? *handle : nullptr, &in, &own)) return code;
  if (!own) {
    if (*handle == MPI_T_PVAR_ALL_HANDLES) return MPI_T_ERR_INVALID_HANDLE;
    return ask_host(&Api::T_pvar_handle_free, in->host, handle);
  }
  (void)stop(own);
  in->handles.erase(*handle);
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

namespace {
/// Of all handles: those that can be.
template <class Member>
int start_or_stop(Member in_host, int (*in_ours)(Handle*), MPI_T_pvar_session session,
                  MPI_T_pvar_handle handle) {
  Session* in;
  Handle* own;
  if (int code = look_up(session, handle, &in, &own)) return code;
  if (own) return in_ours(own);
  if (handle == MPI_T_PVAR_ALL_HANDLES)
    for (auto& [name, each] : in->handles) (void)in_ours(each.get());
  return ask_host(in_host, in->host, for_host(handle));
}
}  // namespace

int pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return start_or_stop(&Api::T_pvar_start, start, session, handle);
}

int pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return start_or_stop(&Api::T_pvar_stop, stop, session, handle);
}

int pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buffer) {
  Session* in;
  Handle* own;
  if (int code = look_up(session, handle, &in, &own)) return code;
  if (!buffer) return MPI_T_ERR_INVALID;
  if (own) return read(*own, buffer);
  if (handle == MPI_T_PVAR_ALL_HANDLES) return MPI_T_ERR_INVALID_HANDLE;
  return ask_host(&Api::T_pvar_read, in->host, handle, buffer);
}

int pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buffer) {
  Session* in;
  Handle* own;
  if (int code = look_up(session, handle, &in, &own)) return code;
  if (!buffer) return MPI_T_ERR_INVALID;
  if (!own && handle == MPI_T_PVAR_ALL_HANDLES) return MPI_T_ERR_INVALID_HANDLE;
  if (!own) return ask_host(&Api::T_pvar_write, in->host, handle, buffer);
  if (int code = reset(own)) return code;
  unsigned long long value;
  std::memcpy(&value, buffer, sizeof value);
  own->kept = value;
  return MPI_SUCCESS;
}

int pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  Session* in;
  Handle* own;
  if (int code = look_up(session, handle, &in, &own)) return code;
  if (own) return reset(own);
  // All that can be.
  if (handle == MPI_T_PVAR_ALL_HANDLES)
    for (auto& [name, each] : in->handles) (void)reset(each.get());
  return ask_host(&Api::T_pvar_reset, in->host, for_host(handle));
}

int pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buffer) {
  Session* in;
  Handle* own;
  if (int code = look_up(session, handle, &in, &own)) return code;
  if (!buffer) return MPI_T_ERR_INVALID;
  if (!own && handle == MPI_T_PVAR_ALL_HANDLES) return MPI_T_ERR_INVALID_HANDLE;
  if (!own) return ask_host(&Api::T_pvar_readreset, in->host, handle, buffer);
  if (!can_be_reset(own->id)) return MPI_T_ERR_PVAR_NO_WRITE;
  if (int code = read(*own, buffer)) return code;
  return reset(own);
}

}  // namespace fgmpi::mpi::tool
