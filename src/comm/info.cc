// The table of info objects and their entries.

#include "comm/info.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/plain_mutex.h"
#include "base/slab.h"
#include "comm/of_rank.h"
#include "host/handle_bits.h"
#include "proclet-sched/immortal.h"

namespace fgmpi::comm {
namespace {

constexpr uint32_t kInfoBase =
    host::handle_base(host::HandleKind::kDirect, host::HandleObject::kInfo);

struct Infos {
  PlainMutex mutex;  ///< protects all below
  Slab<Hints> objects;
};
/// Immortal, as threads of a program may call while the process ends.
constinit Immortal<Infos> g_infos;
Infos& infos() { return g_infos.value; }

/// A rank's MPI_INFO_ENV. At first it has what a program has that was started without mpiexec.
struct Environment {
  Hints entries = {{kMemoryKindsKey, kMemoryKinds}};
};
/// REQUIRES: the mutex is held.
Hints& environment() {
  static auto& all = *new OfRank<Environment>(&infos().mutex);
  return all.mine().entries;
}

/// Calls body(entries) with the mutex held.
template <class Body>
Status with_entries(MPI_Info info, Body&& body) {
  const std::lock_guard<PlainMutex> guard(infos().mutex);
  const auto bits = static_cast<uint32_t>(info);
  Hints* entries = nullptr;
  if (info == MPI_INFO_ENV)
    entries = &environment();
  else if ((bits & host::kHandleTypeMask) == kInfoBase)
    entries = infos().objects.get(host::handle_index(info));
  if (entries) return body(*entries);
  if (info == MPI_INFO_NULL)
    return error(MPI_ERR_ARG, "info is MPI_INFO_NULL; allowed is an info object");
  return error(
      MPI_ERR_INFO,
      "info is 0x%08x, which is not an info object, or was freed; allowed is an info object", bits);
}

auto find(Hints& entries, const char* key) {
  return std::find_if(entries.begin(), entries.end(),
                      [&](const auto& e) { return e.first == key; });
}

}  // namespace

Status create_info(Hints entries, MPI_Info* info) {
  const std::lock_guard<PlainMutex> guard(infos().mutex);
  const int64_t index = infos().objects.create(std::move(entries));
  if (index < 0)
    return error(MPI_ERR_OTHER,
                 "this process has %u info objects in use, the most that are allowed",
                 infos().objects.live());
  *info = static_cast<MPI_Info>(kInfoBase | static_cast<uint32_t>(index));
  return {};
}

Status free_info(MPI_Info info) {
  return with_entries(info, [&](Hints&) -> Status {
    if (info != MPI_INFO_ENV) infos().objects.destroy(host::handle_index(info));
    return {};
  });
}

Status entries_of_info(MPI_Info info, Hints* entries) {
  return with_entries(info, [&](Hints& all) -> Status {
    *entries = all;
    return {};
  });
}

Status check_info(MPI_Info info, const char* argument) {
  if (info == MPI_INFO_NULL || with_entries(info, [](Hints&) { return Status(); }).ok()) return {};
  return error(MPI_ERR_INFO,
               "%s is 0x%08x, which is not an info object, or was freed; allowed is an info object "
               "or MPI_INFO_NULL",
               argument, static_cast<unsigned>(info));
}

Status set_in_info(MPI_Info info, const char* key, const char* value) {
  return with_entries(info, [&](Hints& entries) -> Status {
    put_hint(&entries, {key, value});
    return {};
  });
}

Status delete_from_info(MPI_Info info, const char* key) {
  return with_entries(info, [&](Hints& entries) -> Status {
    auto it = find(entries, key);
    if (it == entries.end())
      return error(MPI_ERR_INFO_NOKEY, "key is \"%s\"; allowed is one that the info object has",
                   key);
    entries.erase(it);
    return {};
  });
}

Status find_in_info(MPI_Info info, const char* key, std::string* value, bool* found) {
  return with_entries(info, [&](Hints& entries) -> Status {
    auto it = find(entries, key);
    *found = it != entries.end();
    if (*found) *value = it->second;
    return {};
  });
}

Status count_info(MPI_Info info, int* keys) {
  return with_entries(info, [&](Hints& entries) -> Status {
    *keys = static_cast<int>(entries.size());
    return {};
  });
}

Status nth_key_of_info(MPI_Info info, int n, std::string* key) {
  return with_entries(info, [&](Hints& entries) -> Status {
    if (n < 0 || static_cast<size_t>(n) >= entries.size())
      return error(MPI_ERR_ARG,
                   "n is %d, of an info object with %zu keys; allowed is 0 to one less", n,
                   entries.size());
    *key = entries[static_cast<size_t>(n)].first;
    return {};
  });
}

uint32_t info_count() {
  const std::lock_guard<PlainMutex> guard(infos().mutex);
  return infos().objects.live();
}

}  // namespace fgmpi::comm
