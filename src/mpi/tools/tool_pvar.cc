// Tools interface: performance variables (tool.h).

#include <cstring>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/counters.h"
#include "comm/comm.h"
#include "comm/of_rank.h"
#include "mpi/tools/tool.h"

namespace fgmpi::mpi::tool {
namespace {

using counters::CounterKind;
using counters::CounterRecord;
using host::Api;

constexpr int kOwnPvars = counters::kCount;

/// A handle of ours: the counter that it reads, and from where it counts.
struct PvarHandle {
  counters::CounterId id;
  MPI_Comm comm = MPI_COMM_NULL;  ///< counters of a communicator
  uint64_t base = 0;  ///< what a counter had when it was last reset, or when it was started
  // The following are for counters that only count while a handle is started:
  uint64_t kept = 0;              ///< what was counted until it was stopped
  const void* started = nullptr;  ///< what stop() is given
};

void stop_counting(PvarHandle* handle);

/// A session: the host's session, and the handles in it, ours and the host's, which are freed with
/// it.
struct PvarSession {
  MPI_T_pvar_session host = MPI_T_PVAR_SESSION_NULL;
  std::unordered_map<const void*, std::unique_ptr<PvarHandle>> handles;  ///< by what the user holds
  std::unordered_set<const void*> handles_of_host;

  PvarSession() = default;
  ~PvarSession() {
    (void)call_host(&Api::T_pvar_session_free, &host);
    for (auto& [name, each] : handles) stop_counting(each.get());
  }
  PvarSession(const PvarSession&) = delete;
};

/// Sessions of each rank by the handle that the user holds.
using Sessions = std::unordered_map<const void*, std::unique_ptr<PvarSession>>;
auto& g_sessions = *new comm::OfRank<Sessions>;

/// The session; nullptr when the running rank has no such session.
PvarSession* find_session(MPI_T_pvar_session session) {
  Sessions* own = g_sessions.find_mine();
  if (!own) return nullptr;
  auto it = own->find(session);
  return it == own->end() ? nullptr : it->second.get();
}

/// Also says whether the variable can be read and reset at once: one read of the counter gives the
/// value and the new base.
bool can_be_reset(counters::CounterId id) {
  return counters::kRecords[id].kind == CounterKind::kCounter;
}

int class_of(CounterKind kind) {
  switch (kind) {
    case CounterKind::kCounter:
      return MPI_T_PVAR_CLASS_COUNTER;
    case CounterKind::kLevel:
      return MPI_T_PVAR_CLASS_LEVEL;
    case CounterKind::kHighWaterMark:
      break;
  }
  return MPI_T_PVAR_CLASS_HIGHWATERMARK;
}

/// Finds the object that the handle counts; false where the handle's communicator has been freed.
bool object_of(const PvarHandle& handle, const void** out) {
  *out = nullptr;
  if (counters::kRecords[handle.id].scope != counters::CounterScope::kCommunicator) return true;
  *out = comm::find_inside(handle.comm);
  return *out != nullptr;
}

bool is_on_demand(counters::CounterId id) { return counters::switch_of(id).start != nullptr; }

/// The counter's own value, of which `base` is not counted; false where its communicator has been
/// freed.
bool raw_value_of(const PvarHandle& handle, uint64_t* out) {
  const void* object;
  if (!object_of(handle, &object)) return false;
  const bool counts = handle.started || !is_on_demand(handle.id);
  *out = counts ? counters::read(handle.id, object) : handle.base;
  return true;
}

/// The variable's value; false where its communicator has been freed.
bool value_of(const PvarHandle& handle, uint64_t* out) {
  uint64_t raw;
  if (!raw_value_of(handle, &raw)) return false;
  *out = handle.kept + (raw - handle.base);
  return true;
}

/// Resets the variable. *before: the value until then, read at the same moment.
int reset(PvarHandle* handle, uint64_t* before) {
  if (!can_be_reset(handle->id)) return MPI_T_ERR_PVAR_NO_WRITE;
  uint64_t raw;
  if (!raw_value_of(*handle, &raw)) return MPI_T_ERR_INVALID_HANDLE;
  *before = handle->kept + (raw - handle->base);
  handle->base = raw;
  handle->kept = 0;
  return MPI_SUCCESS;
}

int reset(PvarHandle* handle) {
  uint64_t unused;
  return reset(handle, &unused);
}

int start(PvarHandle* handle) {
  if (!is_on_demand(handle->id)) return MPI_T_ERR_PVAR_NO_STARTSTOP;
  if (handle->started) return MPI_SUCCESS;
  const void* object;
  if (!object_of(*handle, &object)) return MPI_T_ERR_INVALID_HANDLE;
  handle->started = counters::switch_of(handle->id).start(object);
  handle->base = counters::read(handle->id, object);
  return MPI_SUCCESS;
}

void stop_counting(PvarHandle* handle) {
  if (!handle->started) return;
  uint64_t now;
  if (value_of(*handle, &now)) handle->kept = now;
  counters::switch_of(handle->id).stop(std::exchange(handle->started, nullptr));
}

int stop(PvarHandle* handle) {
  if (!is_on_demand(handle->id)) return MPI_T_ERR_PVAR_NO_STARTSTOP;
  stop_counting(handle);
  return MPI_SUCCESS;
}

void put_value(uint64_t value, void* buffer) {
  const unsigned long long shown = value;
  std::memcpy(buffer, &shown, sizeof shown);
}

int read(const PvarHandle& handle, void* buffer) {
  uint64_t now;
  if (!value_of(handle, &now)) return MPI_T_ERR_INVALID_HANDLE;
  put_value(now, buffer);
  return MPI_SUCCESS;
}

/// The host's value for "all handles" differs from ours.
MPI_T_pvar_handle for_host(MPI_T_pvar_handle handle) {
  if (handle != MPI_T_PVAR_ALL_HANDLES) return handle;
  host::api_uninitialised();
  auto* all = static_cast<MPI_T_pvar_handle*>(host::data_symbol("MPI_T_PVAR_ALL_HANDLES"));
  return all ? *all : handle;
}

/// Finds session and handle of a call. *own is null where the handle is the host's, or where all
/// handles are meant, if that is allowed.
int look_up(MPI_T_pvar_session session, MPI_T_pvar_handle handle, bool can_be_all, PvarSession** in,
            PvarHandle** own) {
  *own = nullptr;
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  *in = find_session(session);
  if (!*in) return MPI_T_ERR_INVALID_SESSION;
  if (handle == MPI_T_PVAR_ALL_HANDLES) return can_be_all ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
  auto it = (*in)->handles.find(handle);
  if (it != (*in)->handles.end()) *own = it->second.get();
  return *own || (*in)->handles_of_host.contains(handle) ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

}  // namespace

int pvar_get_num(int* num) {
  return count_all([](int* out) { return call_host(&Api::T_pvar_get_num, out); }, kOwnPvars, num);
}

int pvar_get_index(const char* name, int var_class, int* index) {
  return find_name(
      name, kOwnPvars,
      [=](int i) {
        return !std::strcmp(counters::kRecords[i].name, name) &&
               class_of(counters::kRecords[i].kind) == var_class;
      },
      [=](int* out) { return call_host(&Api::T_pvar_get_index, name, var_class, out); }, index);
}

int pvar_get_info(int index, char* name, int* name_len, int* verbosity, int* var_class,
                  MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                  int* bind, int* readonly, int* continuous, int* atomic) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (int code = check_index(index, pvar_get_num); code != MPI_SUCCESS) return code;
  if (index >= kOwnPvars)
    return call_host(&Api::T_pvar_get_info, index - kOwnPvars, name, name_len, verbosity, var_class,
                     datatype, enumtype, desc, desc_len, bind, readonly, continuous, atomic);
  const CounterRecord& record = counters::kRecords[index];
  const bool of_comm = record.scope == counters::CounterScope::kCommunicator;
  copy_text_out(record.name, name, name_len);
  copy_text_out(record.text, desc, desc_len);
  give(verbosity, MPI_T_VERBOSITY_USER_BASIC);
  give(var_class, class_of(record.kind));
  give(datatype, MPI_UNSIGNED_LONG_LONG);
  if (enumtype) *enumtype = MPI_T_ENUM_NULL;
  give(bind, of_comm ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT);
  give(readonly, !can_be_reset(static_cast<counters::CounterId>(index)));
  give(continuous, !is_on_demand(static_cast<counters::CounterId>(index)));
  give(atomic, can_be_reset(static_cast<counters::CounterId>(index)));
  return MPI_SUCCESS;
}

int pvar_session_create(MPI_T_pvar_session* session) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!session) return MPI_T_ERR_INVALID;
  MPI_T_pvar_session of_host;
  if (int code = call_host(&Api::T_pvar_session_create, &of_host); code != MPI_SUCCESS) return code;
  auto made = std::make_unique<PvarSession>();
  made->host = of_host;
  *session = reinterpret_cast<MPI_T_pvar_session>(made.get());
  g_sessions.mine().emplace(made.get(), std::move(made));
  return MPI_SUCCESS;
}

int pvar_session_free(MPI_T_pvar_session* session) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!session || !find_session(*session)) return MPI_T_ERR_INVALID_SESSION;
  g_sessions.mine().erase(*session);
  *session = MPI_T_PVAR_SESSION_NULL;
  return MPI_SUCCESS;
}

void forget_sessions_of_rank() { g_sessions.drop_mine(); }

int pvar_handle_alloc(MPI_T_pvar_session session, int index, void* object,
                      MPI_T_pvar_handle* handle, int* count) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  PvarSession* in = find_session(session);
  if (!in) return MPI_T_ERR_INVALID_SESSION;
  if (!handle || !count) return MPI_T_ERR_INVALID;
  if (int code = check_index(index, pvar_get_num); code != MPI_SUCCESS) return code;
  if (index >= kOwnPvars) {
    int bind = MPI_T_BIND_NO_OBJECT;
    const int of_host = index - kOwnPvars;
    if (int code = call_host(&Api::T_pvar_get_info, of_host, nullptr, nullptr, nullptr, nullptr,
                             nullptr, nullptr, nullptr, nullptr, &bind, nullptr, nullptr, nullptr))
      return code;
    MPI_Comm self = MPI_COMM_SELF;
    const int code = call_host(&Api::T_pvar_handle_alloc, in->host, of_host,
                               bind == MPI_T_BIND_MPI_COMM ? &self : object, handle, count);
    if (code == MPI_SUCCESS) in->handles_of_host.insert(*handle);
    return code;
  }
  PvarHandle made{static_cast<counters::CounterId>(index)};
  if (counters::kRecords[index].scope == counters::CounterScope::kCommunicator) {
    if (!object) return MPI_T_ERR_INVALID;
    made.comm = *static_cast<const MPI_Comm*>(object);
  }
  uint64_t now;
  if (!value_of(made, &now)) return MPI_T_ERR_INVALID;
  if (can_be_reset(made.id) && !is_on_demand(made.id)) made.base = now;
  auto kept = std::make_unique<PvarHandle>(made);
  *handle = reinterpret_cast<MPI_T_pvar_handle>(kept.get());
  in->handles.emplace(kept.get(), std::move(kept));
  *count = 1;
  return MPI_SUCCESS;
}

int pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
  PvarSession* in;
  PvarHandle* own;
  if (int code = look_up(session, handle ? *handle : nullptr, false, &in, &own)) return code;
  if (!own) {
    in->handles_of_host.erase(*handle);
    return call_host(&Api::T_pvar_handle_free, in->host, handle);
  }
  stop_counting(own);
  in->handles.erase(*handle);
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

namespace {
/// Changes one variable, or all of the session. `cannot` is the error of a variable that cannot be
/// changed in this way. A call for all handles leaves such variables out, and returns this error
/// where another variable fails (MPI-4.0 section 15.3.7).
template <class Member>
int change(Member in_host, int (*in_ours)(PvarHandle*), int cannot, MPI_T_pvar_session session,
           MPI_T_pvar_handle handle) {
  PvarSession* in;
  PvarHandle* own;
  if (int code = look_up(session, handle, true, &in, &own)) return code;
  if (own) return in_ours(own);
  if (handle != MPI_T_PVAR_ALL_HANDLES) return call_host(in_host, in->host, handle);
  bool failed = false;
  for (auto& [name, each] : in->handles) {
    const int code = in_ours(each.get());
    failed |= code != MPI_SUCCESS && code != cannot;
  }
  const int code = call_host(in_host, in->host, for_host(handle));
  return failed ? cannot : code;
}
}  // namespace

int pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return change(&Api::T_pvar_start, start, MPI_T_ERR_PVAR_NO_STARTSTOP, session, handle);
}

int pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return change(&Api::T_pvar_stop, stop, MPI_T_ERR_PVAR_NO_STARTSTOP, session, handle);
}

int pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buffer) {
  PvarSession* in;
  PvarHandle* own;
  if (int code = look_up(session, handle, false, &in, &own)) return code;
  if (!buffer) return MPI_T_ERR_INVALID;
  if (own) return read(*own, buffer);
  return call_host(&Api::T_pvar_read, in->host, handle, buffer);
}

int pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buffer) {
  PvarSession* in;
  PvarHandle* own;
  if (int code = look_up(session, handle, false, &in, &own)) return code;
  if (!buffer) return MPI_T_ERR_INVALID;
  if (!own) return call_host(&Api::T_pvar_write, in->host, handle, buffer);
  if (int code = reset(own)) return code;
  unsigned long long value;
  std::memcpy(&value, buffer, sizeof value);
  own->kept = value;
  return MPI_SUCCESS;
}

int pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return change(&Api::T_pvar_reset, reset, MPI_T_ERR_PVAR_NO_WRITE, session, handle);
}

int pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buffer) {
  PvarSession* in;
  PvarHandle* own;
  if (int code = look_up(session, handle, false, &in, &own)) return code;
  if (!buffer) return MPI_T_ERR_INVALID;
  if (!own) return call_host(&Api::T_pvar_readreset, in->host, handle, buffer);
  if (!can_be_reset(own->id)) return MPI_T_ERR_PVAR_NO_ATOMIC;
  uint64_t before;
  if (int code = reset(own, &before)) return code;
  put_value(before, buffer);
  return MPI_SUCCESS;
}

}  // namespace fgmpi::mpi::tool
