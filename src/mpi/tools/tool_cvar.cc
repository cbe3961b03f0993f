// Tools interface: initialisation, enumerations, control variables (tool.h).

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/strings.h"
#include "comm/of_rank.h"
#include "datatype/basic_type.h"
#include "datatype/datatype.h"
#include "mpi/life/process.h"
#include "mpi/life/runtime.h"
#include "mpi/tools/tool.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::mpi::tool {
namespace {

using host::Api;
using settings::SettingRecord;
using settings::SettingType;

/// A handle of a control variable. One of the host's variables is used through its handle.
struct CvarHandle {
  int index = 0;                                       ///< the host's count from 0, too
  MPI_T_cvar_handle of_host = MPI_T_CVAR_HANDLE_NULL;  ///< null: the variable is ours
  size_t bytes = 0;                                    ///< of the host's value
  CvarHandle() = default;
  ~CvarHandle() {
    if (of_host) (void)call_host(&Api::T_cvar_handle_free, &of_host);
  }
  CvarHandle(const CvarHandle&) = delete;
};

using Bytes = std::vector<char>;

/// A rank's state of the interface.
struct OwnInterface {
  unsigned users = 0;  ///< how often it has initialised the interface
  std::unordered_map<const void*, std::unique_ptr<CvarHandle>> handles;  ///< by what the user holds
};
auto& g_interfaces = *new comm::OfRank<OwnInterface>;

/// The values that a rank has written into the host's variables, by index: the rank reads them
/// again, whatever other ranks of the process have written. A rank that has written no value reads
/// the variable's first value.
auto& g_written = *new comm::OfRank<std::unordered_map<int, Bytes>>;
std::unordered_map<int, Bytes> g_before_written;

/// The handle's object; nullptr when the running rank has no such handle.
CvarHandle* find_handle(MPI_T_cvar_handle handle) {
  OwnInterface* own = g_interfaces.find_mine();
  if (!own) return nullptr;
  auto it = own->handles.find(handle);
  return it == own->handles.end() ? nullptr : it->second.get();
}

/// How a setting is presented. A choice that also allows a number is a text.
enum class SettingForm : uint8_t { kNumber, kItem, kText };

SettingForm shown(const SettingRecord& record) {
  switch (record.type) {
    case SettingType::kNumber:
    case SettingType::kSize:
      return SettingForm::kNumber;
    case SettingType::kSwitch:
      return SettingForm::kItem;
    case SettingType::kChoice:
      return std::strchr(record.choices, '#') ? SettingForm::kText : SettingForm::kItem;
    case SettingType::kText:
      break;
  }
  return SettingForm::kText;
}

struct Item {
  int value;
  std::string_view name;
};

std::vector<Item> items_of(const SettingRecord& record) {
  if (record.type == SettingType::kSwitch) return {{0, "off"}, {1, "on"}};
  std::vector<Item> items;
  for (std::string_view choice : settings::choices(record))
    items.push_back({static_cast<int>(items.size()), choice});
  if (!*record.fallback) items.push_back({-1, "unset"});
  return items;
}

/// Enumerations of ours are addresses in this table: one for each setting.
char g_enums[settings::kCount];

/// The setting to which an enumeration belongs, or -1.
int place_in_enums(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const auto first = reinterpret_cast<uintptr_t>(&g_enums[0]);
  return at >= first && at < first + settings::kCount ? static_cast<int>(at - first) : -1;
}

std::string description(const SettingRecord& record) {
  std::string text = record.text;
  if (*record.unit) text += format(" (%s)", record.unit);
  if (*record.fallback)
    text += format(". Default: %s", record.fallback);
  else if (*record.worked_out)
    text += format(". Default%s: %s", shown(record) == SettingForm::kNumber ? ", shown as 0" : "",
                   record.worked_out);
  return text;
}

/// True where the variable may be changed before the process's first MPI_Init, which the component
/// decides. The number of ranks of a process, and what they share, are fixed before that.
bool can_be_set(const SettingRecord& record) {
  return record.component >= settings::Component::kMessages &&
         record.scope != settings::Scope::kLauncher;
}

int scope_of(const SettingRecord& record) {
  if (!can_be_set(record)) return MPI_T_SCOPE_READONLY;
  return record.scope == settings::Scope::kJob ? MPI_T_SCOPE_ALL_EQ : MPI_T_SCOPE_LOCAL;
}

/// Converts a value to the text that the environment would have; false: the value is no item of the
/// enumeration.
bool text_of(const SettingRecord& record, const void* buffer, std::string* out) {
  if (shown(record) == SettingForm::kText) {
    *out = static_cast<const char*>(buffer);
    return true;
  }
  if (shown(record) == SettingForm::kNumber) {
    MPI_Count number;
    std::memcpy(&number, buffer, sizeof number);
    *out = std::to_string(number);
    return true;
  }
  int chosen;
  std::memcpy(&chosen, buffer, sizeof chosen);
  for (const Item& item : items_of(record)) {
    if (item.value != chosen || chosen < 0) continue;
    *out = item.name;
    return true;
  }
  return false;
}

int verbosity_of(settings::SettingLevel level) {
  switch (level) {
    case settings::SettingLevel::kUser:
      return MPI_T_VERBOSITY_USER_BASIC;
    case settings::SettingLevel::kTuner:
      return MPI_T_VERBOSITY_TUNER_BASIC;
    case settings::SettingLevel::kDeveloper:
      break;
  }
  return MPI_T_VERBOSITY_MPIDEV_BASIC;
}

/// The host has no communicator of ours: its own communicator stands for it.
int alloc_of_host(int index, void* object, CvarHandle* handle, int* count) {
  int bind = MPI_T_BIND_NO_OBJECT;
  MPI_Datatype type = MPI_CHAR;
  if (int code = call_host(&Api::T_cvar_get_info, index, nullptr, nullptr, nullptr, &type, nullptr,
                           nullptr, nullptr, &bind, nullptr))
    return code;
  MPI_Comm self = MPI_COMM_SELF;
  if (int code = call_host(&Api::T_cvar_handle_alloc, index,
                           bind == MPI_T_BIND_MPI_COMM ? &self : object, &handle->of_host, count))
    return code;
  handle->bytes = static_cast<size_t>(*count) * static_cast<size_t>(datatype::basic_size(type));
  return MPI_SUCCESS;
}

int read_of_host(const CvarHandle& handle, void* buffer) {
  const Bytes* value = nullptr;
  if (auto* written = g_written.find_mine())
    if (auto it = written->find(handle.index); it != written->end()) value = &it->second;
  if (!value)
    if (auto it = g_before_written.find(handle.index); it != g_before_written.end())
      value = &it->second;
  if (!value) return call_host(&Api::T_cvar_read, handle.of_host, buffer);
  std::memcpy(buffer, value->data(), value->size());
  return MPI_SUCCESS;
}

/// The host has one value, the last one that was written.
int write_of_host(const CvarHandle& handle, const void* buffer) {
  if (!g_before_written.contains(handle.index)) {
    Bytes before(handle.bytes);
    if (int code = call_host(&Api::T_cvar_read, handle.of_host, before.data())) return code;
    g_before_written[handle.index] = std::move(before);
  }
  if (int code = call_host(&Api::T_cvar_write, handle.of_host, buffer)) return code;
  const auto* bytes = static_cast<const char*>(buffer);
  g_written.mine()[handle.index].assign(bytes, bytes + handle.bytes);
  return MPI_SUCCESS;
}

}  // namespace

bool is_initialised() {
  const OwnInterface* own = g_interfaces.find_mine();
  return own && own->users > 0;
}

int init_thread(int required, int* provided) {
  if (!provided || required < MPI_THREAD_SINGLE || required > MPI_THREAD_MULTIPLE)
    return MPI_T_ERR_INVALID;
  // A thread outside of the library may not access data that main uses.
  if (sched::is_unattached_thread() && sched::rank_of_thread()) return MPI_T_ERR_CANNOT_INIT;
  // The host loses its variables when its last user has finalized, and does not make them again for
  // the next one: so this process initialises it once and never finalizes it.
  static const int kept = call_host(&Api::T_init_thread, required, provided);
  if (kept != MPI_SUCCESS) return kept;
  const int code = call_host(&Api::T_init_thread, required, provided);
  if (code != MPI_SUCCESS) return code;
  ++g_interfaces.mine().users;
  // The lock that all calls acquire from now on, other ranks' too, keeps threads apart. Without a
  // rank (in constructors of shared libraries) there is no lock yet.
  const bool admits = sched::threads_enabled() || sched::current();
  *provided = admits ? required : std::min<int>(required, MPI_THREAD_FUNNELED);
  if (admits && required > MPI_THREAD_FUNNELED) admit_threads();
  return MPI_SUCCESS;
}

int finalize() {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (--g_interfaces.mine().users == 0) {
    forget_events_of_rank();
    forget_sessions_of_rank();
    g_interfaces.drop_mine();
  }
  return call_host(&Api::T_finalize);
}

void copy_text_out(const std::string& text, char* out, int* length) {
  if (!length) return;
  const int all = static_cast<int>(text.size()) + 1;
  if (!out || *length <= 0) {
    *length = all;
    return;
  }
  *length = std::min(*length, all);
  const size_t copied = static_cast<size_t>(*length) - 1;
  std::memcpy(out, text.data(), copied);
  out[copied] = 0;
}

int enum_get_info(MPI_T_enum enumtype, int* num, char* name, int* name_len) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  const int id = place_in_enums(enumtype);
  if (id < 0) return call_host(&Api::T_enum_get_info, enumtype, num, name, name_len);
  give(num, items_of(settings::kRecords[id]).size());
  copy_text_out(settings::kRecords[id].name, name, name_len);
  return MPI_SUCCESS;
}

int enum_get_item(MPI_T_enum enumtype, int index, int* value, char* name, int* name_len) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  const int id = place_in_enums(enumtype);
  if (id < 0) return call_host(&Api::T_enum_get_item, enumtype, index, value, name, name_len);
  const std::vector<Item> items = items_of(settings::kRecords[id]);
  if (index < 0 || index >= static_cast<int>(items.size())) return MPI_T_ERR_INVALID_INDEX;
  const Item& item = items[static_cast<size_t>(index)];
  give(value, item.value);
  copy_text_out(std::string(item.name), name, name_len);
  return MPI_SUCCESS;
}

int cvar_get_num(int* num) {
  return count_all([](int* out) { return call_host(&Api::T_cvar_get_num, out); }, kOwnCvars, num);
}

int cvar_get_index(const char* name, int* index) {
  return find_name(
      name, kOwnCvars, [=](int i) { return !std::strcmp(settings::kRecords[i].name, name); },
      [=](int* out) { return call_host(&Api::T_cvar_get_index, name, out); }, index);
}

int cvar_get_info(int index, char* name, int* name_len, int* verbosity, MPI_Datatype* datatype,
                  MPI_T_enum* enumtype, char* desc, int* desc_len, int* bind, int* scope) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (int code = check_index(index, cvar_get_num)) return code;
  if (index >= kOwnCvars)
    return call_host(&Api::T_cvar_get_info, index - kOwnCvars, name, name_len, verbosity, datatype,
                     enumtype, desc, desc_len, bind, scope);
  const SettingRecord& record = settings::kRecords[index];
  const SettingForm as = shown(record);
  copy_text_out(record.name, name, name_len);
  copy_text_out(description(record), desc, desc_len);
  give(verbosity, verbosity_of(record.level));
  give(datatype, as == SettingForm::kNumber ? MPI_COUNT
                 : as == SettingForm::kItem ? MPI_INT
                                            : MPI_CHAR);
  if (enumtype)
    *enumtype =
        as == SettingForm::kItem ? reinterpret_cast<MPI_T_enum>(&g_enums[index]) : MPI_T_ENUM_NULL;
  give(bind, MPI_T_BIND_NO_OBJECT);
  give(scope, scope_of(record));
  return MPI_SUCCESS;
}

int cvar_handle_alloc(int index, void* object, MPI_T_cvar_handle* handle, int* count) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!handle || !count) return MPI_T_ERR_INVALID;
  if (int code = check_index(index, cvar_get_num)) return code;
  auto made = std::make_unique<CvarHandle>();
  made->index = index < kOwnCvars ? index : index - kOwnCvars;
  if (index >= kOwnCvars) {
    if (int code = alloc_of_host(made->index, object, made.get(), count)) return code;
  } else {
    const bool is_text = shown(settings::kRecords[index]) == SettingForm::kText;
    *count =
        is_text
            ? static_cast<int>(settings::text(static_cast<settings::SettingId>(index)).size()) + 1
            : 1;
  }
  *handle = reinterpret_cast<MPI_T_cvar_handle>(made.get());
  g_interfaces.mine().handles.emplace(made.get(), std::move(made));
  return MPI_SUCCESS;
}

int cvar_handle_free(MPI_T_cvar_handle* handle) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  if (!handle || !find_handle(*handle)) return MPI_T_ERR_INVALID_HANDLE;
  g_interfaces.mine().handles.erase(*handle);
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int cvar_read(MPI_T_cvar_handle handle, void* buffer) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  const CvarHandle* own = find_handle(handle);
  if (!own) return MPI_T_ERR_INVALID_HANDLE;
  if (!buffer) return MPI_T_ERR_INVALID;
  if (own->of_host) return read_of_host(*own, buffer);
  const int place = own->index;
  const settings::Value& value = settings::value(static_cast<settings::SettingId>(place));
  switch (shown(settings::kRecords[place])) {
    case SettingForm::kNumber: {
      const MPI_Count number = value.number;
      std::memcpy(buffer, &number, sizeof number);
      break;
    }
    case SettingForm::kItem: {
      const int item = settings::kRecords[place].type == SettingType::kSwitch
                           ? static_cast<int>(value.number)
                           : value.choice;
      std::memcpy(buffer, &item, sizeof item);
      break;
    }
    case SettingForm::kText:
      std::memcpy(buffer, value.text.c_str(), value.text.size() + 1);
      break;
  }
  return MPI_SUCCESS;
}

int cvar_write(MPI_T_cvar_handle handle, const void* buffer) {
  if (!is_initialised()) return MPI_T_ERR_NOT_INITIALIZED;
  const CvarHandle* own = find_handle(handle);
  if (!own) return MPI_T_ERR_INVALID_HANDLE;
  if (!buffer) return MPI_T_ERR_INVALID;
  if (own->of_host) return write_of_host(*own, buffer);
  const int place = own->index;
  const SettingRecord& record = settings::kRecords[place];
  if (!can_be_set(record)) return MPI_T_ERR_CVAR_SET_NEVER;
  const auto id = static_cast<settings::SettingId>(place);
  std::string text;
  if (!text_of(record, buffer, &text) || !settings::check(record.name, text).ok())
    return MPI_T_ERR_INVALID;
  if (process().connected)
    // Several ranks may write one value before their MPI_Init: the first has then set it for all.
    return settings::value(id).source == settings::Source::kTool && settings::text(id) == text
               ? MPI_SUCCESS
               : MPI_T_ERR_CVAR_SET_NOT_NOW;
  return settings::set(id, text).ok() ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

}  // namespace fgmpi::mpi::tool
