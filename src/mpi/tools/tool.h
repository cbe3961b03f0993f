// The tools interface (MPI-4.0 chapter 15): variables and categories. Settings (base/settings.def)
// are the first control variables and counters (base/counters.def) the first performance variables,
// in the order of their tables. Those of the hosted MPICH follow, with indices shifted by the
// number of ours. All events are ours (mpi/tools/events.h): the host has none.
//
//   control variables       0 .. settings::kCount - 1        ours; those about messages and the
//                           like can be written before the first MPI_Init
//   performance variables   0 .. counters::kCount - 1        ours; counters can be reset, a handle
//                                                            each; those of messages and algorithms
//                                                            on a communicator are started and
//                                                            stopped, the others run always
//   categories              0 .. kCategories - 1             ours: the sections of
//                           docs/settings.md, and the counters
//
// A rank initialises and finalises the interface for itself, as if it were a process. Its handles
// and sessions are its own: they are freed when the rank finalises the interface for the last time,
// or ends; using one that the rank does not have is an error. Our variables without an object
// belong to the process: its ranks read the same values. A value that a rank writes into a variable
// of the host's is read again by that rank, and by no other.
//
// Thread rule: one thread. Nothing here switches. Functions have the parameters and results of
// MPI's functions; pointers to results may be null where MPI allows it.
#pragma once

#include <mpi.h>

#include <string>

#include "base/settings.h"
#include "host/host.h"

namespace fgmpi::mpi::tool {

inline constexpr int kOwnCvars = settings::kCount;
inline constexpr int kCategories = static_cast<int>(settings::kComponents) + 1;

/// True where the running rank has initialised the interface.
bool is_initialised();
/// Copies a name or a description to the caller: at most *length bytes with the end mark; *length
/// becomes the length that was or would be written.
void copy_text_out(const std::string& text, char* out, int* length);
/// Sets *out to value, unless out is null.
template <class T, class V>
void give(T* out, V value) {
  if (out) *out = static_cast<T>(value);
}

/// Calls a function of the host on the host stack. Null pointers are passed as nullptr.
template <class... P, class... A>
int call_host(int (*host::Api::*member)(P...), A... arguments) {
  auto* function = host::api_uninitialised().*member;
  if (!function) return MPI_T_ERR_NOT_SUPPORTED;
  int code = MPI_SUCCESS;
  sched::call_on_host([&] { code = function(arguments...); });
  return code;
}
/// Adds `own`, the number of our items, to the host's number.
template <class F>
int count_all(F host_count, int own, int* out) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!out) return MPI_T_ERR_INVALID;
  int code = host_count(out);
  if (code == MPI_SUCCESS) *out += own;
  return code;
}

/// Checks an index by the call that counts its kind of items. Some versions of the host dereference
/// a null pointer for an index that they do not have.
inline int check_index(int index, int (*get_num)(int*)) {
  int all = 0;
  if (int code = get_num(&all); code != MPI_SUCCESS) return code;
  return index >= 0 && index < all ? MPI_SUCCESS : MPI_T_ERR_INVALID_INDEX;
}

/// Finds a name: among our `own` items, where is_own(i) is true, else among the host's.
template <class IsOwn, class F>
int find_name(const char* name, int own, IsOwn is_own, F find_in_host, int* index) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!name || !index) return MPI_T_ERR_INVALID;
  for (int i = 0; i < own; ++i)
    if (is_own(i)) {
      *index = i;
      return MPI_SUCCESS;
    }
  const int code = find_in_host(index);
  if (code == MPI_SUCCESS) *index += own;
  return code;
}

int init_thread(int required, int* provided);
int finalize();

int enum_get_info(MPI_T_enum enumtype, int* num, char* name, int* name_len);
int enum_get_item(MPI_T_enum enumtype, int index, int* value, char* name, int* name_len);

int cvar_get_num(int* num);
int cvar_get_index(const char* name, int* index);
int cvar_get_info(int index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype,
                  MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* scope);
int cvar_handle_alloc(int index, void* object, MPI_T_cvar_handle* handle, int* count);
int cvar_handle_free(MPI_T_cvar_handle* handle);
int cvar_read(MPI_T_cvar_handle handle, void* buffer);
int cvar_write(MPI_T_cvar_handle handle, const void* buffer);

int pvar_get_num(int* num);
int pvar_get_index(const char* name, int var_class, int* index);
int pvar_get_info(int index, char* name, int* name_len, int* verbosity, int* var_class,
                  MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                  int* bind, int* readonly, int* continuous, int* atomic);
int pvar_session_create(MPI_T_pvar_session* session);
int pvar_session_free(MPI_T_pvar_session* session);
int pvar_handle_alloc(MPI_T_pvar_session session, int index, void* object,
                      MPI_T_pvar_handle* handle, int* count);
int pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle);
int pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
int pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
int pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buffer);
int pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buffer);
int pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle);
int pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buffer);

int category_get_num(int* num);
int category_get_index(const char* name, int* index);
int category_get_info(int index, char* name, int* name_len, char* desc, int* desc_len, int* cvars,
                      int* pvars, int* categories);
int category_get_num_events(int index, int* num);
int category_get_cvars(int index, int length, int* indices);
int category_get_pvars(int index, int length, int* indices);
int category_get_categories(int index, int length, int* indices);
int category_get_events(int index, int length, int* indices);

/// Returns how many events belong to a category of ours, and stores the first `length` indices in
/// `indices`.
int events_in(int category, int length, int* indices);
int event_get_num(int* num);
int event_get_index(const char* name, int* index);
int event_get_info(int index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatypes,
                   MPI_Aint* displacements, int* count, MPI_T_enum* enumtype, MPI_Info* info,
                   char* desc, int* desc_len, int* bind);
int event_handle_alloc(int index, void* object, MPI_Info info,
                       MPI_T_event_registration* registration);
int event_handle_set_info(MPI_T_event_registration registration, MPI_Info info);
int event_handle_get_info(MPI_T_event_registration registration, MPI_Info* info);
int event_handle_free(MPI_T_event_registration registration, void* user_data,
                      MPI_T_event_free_cb_function* function);
int event_register_callback(MPI_T_event_registration registration, MPI_T_cb_safety safety,
                            MPI_Info info, void* user_data, MPI_T_event_cb_function* function);
int event_callback_set_info(MPI_T_event_registration registration, MPI_T_cb_safety safety,
                            MPI_Info info);
int event_callback_get_info(MPI_T_event_registration registration, MPI_T_cb_safety safety,
                            MPI_Info* info);
int event_set_dropped_handler(MPI_T_event_registration registration,
                              MPI_T_event_dropped_cb_function* function);
int event_read(MPI_T_event_instance instance, int element, void* buffer);
int event_copy(MPI_T_event_instance instance, void* buffer);
int event_get_timestamp(MPI_T_event_instance instance, MPI_Count* timestamp);
int event_get_source(MPI_T_event_instance instance, int* source);
/// Called when the rank has finalised the interface for the last time: drop its registrations, and
/// its sessions with their handles.
void forget_events_of_rank();
void forget_sessions_of_rank();
int source_get_num(int* num);
int source_get_info(int index, char* name, int* name_len, char* desc, int* desc_len,
                    MPI_T_source_order* ordering, MPI_Count* ticks_per_second, MPI_Count* max_ticks,
                    MPI_Info* info);
int source_get_timestamp(int index, MPI_Count* timestamp);

}  // namespace fgmpi::mpi::tool
