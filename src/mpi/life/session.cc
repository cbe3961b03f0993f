// Sessions (MPI-4.0 section 11.3): process sets, groups from them, communicators from groups
// without MPI_COMM_WORLD.
//
// Process sets: mpi://WORLD, mpi://SELF, and fgmpi://PROCESS, the ranks of the calling rank's
// process.

#include <strings.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <mutex>
#include <string>

#include "base/hash.h"
#include "base/plain_mutex.h"
#include "base/slab.h"
#include "ch4-av-rankmap/process_groups.h"
#include "comm/create.h"
#include "comm/errhandler.h"
#include "comm/info.h"
#include "host/handle_bits.h"
#include "mpi/calls.h"
#include "mpi/comm/comm_common.h"
#include "mpi/life/runtime.h"
#include "mpi/life/session.h"
#include "mpi/tools/events.h"
#include "proclet-sched/threads/threads.h"

namespace fgmpi::mpi {
namespace {

constexpr uint32_t kSessionBase =
    host::handle_base(host::HandleKind::kDirect, host::HandleObject::kSession);
constexpr const char* kSets[] = {"mpi://WORLD", "mpi://SELF", "fgmpi://PROCESS"};

PlainMutex g_sessions_mutex;  ///< protects g_sessions, not what is in it
Slab<Session> g_sessions;
using Guard = std::lock_guard<PlainMutex>;

MPI_Session make_session(Session fresh) {
  const Guard guard(g_sessions_mutex);
  const auto index = static_cast<uint32_t>(g_sessions.create(std::move(fresh)));
  return g_sessions.get(index)->handle = static_cast<MPI_Session>(kSessionBase | index);
}

/// The kinds of memory that a session has which asks for `wanted`: those of all, and what is wanted
/// of them with restrictions ("mpi:win_allocate") that always hold here.
std::string granted_memory_kinds(const std::string& wanted) {
  std::string granted = comm::kMemoryKinds;
  for (size_t at = 0; at < wanted.size();) {
    const size_t end = std::min(wanted.find(',', at), wanted.size());
    std::string one = wanted.substr(at, end - at);
    at = end + 1;
    std::erase_if(one, [](char c) { return std::isspace(static_cast<unsigned char>(c)); });
    size_t colon = one.find(':');
    bool known = colon != std::string::npos && one.substr(0, colon) == "mpi";
    while (known && colon < one.size()) {
      const size_t next = std::min(one.find(':', colon + 1), one.size());
      const std::string restriction = one.substr(colon + 1, next - colon - 1);
      known = restriction == "alloc_mem" || restriction == "win_allocate" ||
              restriction == "win_allocate_shared";
      colon = next;
    }
    if (known && (',' + granted + ',').find(',' + one + ',') == std::string::npos)
      granted += ',' + one;
  }
  return granted;
}

/// Does what an error handler does about an error that has no object (yet).
int answer(MPI_Errhandler handler, void* object, const char* call, const Status& status) {
  int code = code_of(call, status);
  if (comm::returns_codes(handler) || comm::call_errhandler(handler, object, &code)) return code;
  abort_job(status.error_class(), "Fatal error: " + text_of(code));
}

Status set_of(const char* name, RankMap* map) {
  comm::RankState* rank = comm::rank_state();
  std::string given = name ? name : "";
  auto is = [&](const char* set) { return strcasecmp(given.c_str(), set) == 0; };
  // The rank's own MPI_COMM_WORLD may have been finalized already.
  const uint32_t pgid = g_process_groups.find_rank(static_cast<int32_t>(rank->world_rank)).pgid;
  if (is(kSets[0]))
    *map = pgid == 0 ? RankMap::direct(static_cast<int32_t>(g_av.world_size()))
                     : RankMap::strided(static_cast<int32_t>(g_process_groups.ranks(pgid)),
                                        static_cast<int32_t>(g_process_groups.first_rank(pgid)), 1);
  else if (is(kSets[1]))
    *map = RankMap::strided(1, static_cast<int32_t>(rank->world_rank), 1);
  else if (is(kSets[2]))
    *map = RankMap::strided(static_cast<int32_t>(g_av.my_count()),
                            static_cast<int32_t>(g_av.my_first()), 1);
  else
    return error(MPI_ERR_ARG, "pset_name is \"%s\"; allowed are %s, %s and %s", given.c_str(),
                 kSets[0], kSets[1], kSets[2]);
  return {};
}

Status check_leader(const comm::Group* g, int rank, const char* argument) {
  if (rank >= 0 && rank < g->map.size()) return {};
  return error(MPI_ERR_RANK, "%s is %d; allowed is 0 to %d", argument, rank, g->map.size() - 1);
}

/// The common end of the two creations from groups, of which `local` is the caller's. `made` is
/// null where a group was empty (sections 7.4.2 and 7.6.2).
int return_comm_of_group(const char* call, const Status& status, const comm::Group* local,
                         comm::Comm* made, MPI_Errhandler errhandler, MPI_Comm* newcomm) {
  *newcomm = MPI_COMM_NULL;
  if (!status.ok()) return answer(errhandler, newcomm, call, status);
  if (!made) return MPI_SUCCESS;
  comm::retain_errhandler(errhandler);
  made->errhandler = errhandler;
  made->session = local->session;
  *newcomm = made->handle;
  events::raise_comm_created(made);
  return MPI_SUCCESS;
}

}  // namespace

Session* find_session(MPI_Session handle) {
  const bool is_session = (static_cast<uint32_t>(handle) & host::kHandleTypeMask) == kSessionBase;
  const Guard guard(g_sessions_mutex);
  return is_session ? g_sessions.get(host::handle_index(handle)) : nullptr;
}

Session* session_of_number(uint32_t number) {
  const Guard guard(g_sessions_mutex);
  return g_sessions.get(number - 1);
}

std::string memory_kinds(uint32_t number) {
  if (const Session* session = number ? session_of_number(number) : nullptr)
    for (const auto& [key, value] : session->hints)
      if (key == comm::kMemoryKindsKey) return value;
  return comm::kMemoryKinds;
}

int bad_session(const char* call, MPI_Session handle) {
  return fail(
      call, nullptr,
      error(MPI_ERR_SESSION, "session is %s; allowed is an open session",
            handle == MPI_SESSION_NULL ? "MPI_SESSION_NULL" : "not a session or was finalized"));
}

int fail(const char* call, Session* session, const Status& status) {
  return answer(session->errhandler, &session->handle, call, status);
}

Status session_finalize(Session* session) {
  // The messages in the session's buffer are sent first; the program gets the buffer back.
  void* address;
  int64_t bytes;
  FGMPI_TRY(pt2pt::detach_buffer(&session->buffer, &address, &bytes, "MPI_Session_finalize"));
  // So are those in buffers of its communicators, where no MPI_Finalize will wait for them.
  const comm::RankState* rank = comm::rank_state();
  if (rank && rank->buffers && sched::rank_of_thread()->mpi_phase != kInitialised)
    pt2pt::flush_all_buffers(rank->buffers, "MPI_Session_finalize");
  comm::release_errhandler(session->errhandler);
  const Guard guard(g_sessions_mutex);
  g_sessions.destroy(host::handle_index(session->handle));
  return {};
}

Status session_get_num_psets(Session*, MPI_Info, int* npset_names) {
  *npset_names = static_cast<int>(std::size(kSets));
  return {};
}

Status session_get_nth_pset(Session*, MPI_Info, int n, int* pset_len, char* pset_name) {
  if (n >= static_cast<int>(std::size(kSets)))
    return error(MPI_ERR_ARG, "n is %d; allowed is 0 to %zu", n, std::size(kSets) - 1);
  std::string name = kSets[n];
  if (*pset_len > 0) {
    FGMPI_TRY(check_pointer(pset_name, "pset_name"));
    name.resize(std::min(name.size(), static_cast<size_t>(*pset_len) - 1));
    std::memcpy(pset_name, name.c_str(), name.size() + 1);
  }
  *pset_len = static_cast<int>(std::strlen(kSets[n])) + 1;
  return {};
}

Status session_get_info(Session* session, MPI_Info* info_used) {
  return comm::create_info(session->hints, info_used);
}

Status session_get_pset_info(Session*, const char* pset_name, MPI_Info* info) {
  RankMap map;
  FGMPI_TRY(set_of(pset_name, &map));
  return comm::create_info({{"mpi_size", std::to_string(map.size())}}, info);
}

Status group_from_session_pset(Session* session, const char* pset_name, MPI_Group* newgroup) {
  RankMap map;
  FGMPI_TRY(set_of(pset_name, &map));
  return comm::make_group(std::move(map), newgroup, session->number());
}

Status session_set_errhandler(Session* session, MPI_Errhandler errhandler) {
  comm::retain_errhandler(errhandler);
  comm::release_errhandler(session->errhandler);
  session->errhandler = errhandler;
  return {};
}

Status session_get_errhandler(Session* session, MPI_Errhandler* errhandler) {
  comm::retain_errhandler(session->errhandler);
  *errhandler = session->errhandler;
  return {};
}

Status session_call_errhandler(Session* session, int errorcode) {
  if (comm::returns_codes(session->errhandler) ||
      comm::call_errhandler(session->errhandler, &session->handle, &errorcode))
    return {};
  abort_job(class_of(errorcode),
            "Fatal error: " + text_of(errorcode) + " in MPI_Session_call_errhandler");
}

}  // namespace fgmpi::mpi

using namespace fgmpi;

FGMPI_EXPORT(MPI_Session_init);
int PMPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  FGMPI_TAKE_TURN("MPI_Session_init", PMPI_Session_init(info, errhandler, session));
  constexpr const char* kCall = "MPI_Session_init";
  *session = MPI_SESSION_NULL;
  Status status = mpi::start_rank();
  mpi::Session fresh;
  if (status.ok()) status = comm::check_errhandler(comm::HandlerOf::kSession, errhandler);
  if (status.ok()) status = comm::read_info(info, &fresh.hints);
  int level = MPI_THREAD_FUNNELED;
  std::string wanted_kinds;
  for (const auto& [key, value] : fresh.hints)
    if (key == comm::kMemoryKindsKey) wanted_kinds = value;
  for (const auto& [key, value] : fresh.hints)
    if (status.ok() && key == "thread_level")
      status = mpi::read_thread_level(value.c_str(), "the info key thread_level", &level);
  if (!status.ok()) return mpi::fail(kCall, nullptr, status);
  comm::retain_errhandler(errhandler);
  fresh.errhandler = errhandler;
  // The level that is provided is the value of the info key (section 11.3.1), which includes levels
  // that the rank asked for before.
  const int provided = mpi::level_to_grant(level);
  comm::put_hint(&fresh.hints, {"thread_level", mpi::name_of_thread_level(provided)});
  comm::put_hint(&fresh.hints, {comm::kMemoryKindsKey, mpi::granted_memory_kinds(wanted_kinds)});
  *session = mpi::make_session(std::move(fresh));
  if (!sched::is_unattached_thread()) mpi::grant_thread_level(level);
  return MPI_SUCCESS;
}

FGMPI_EXPORT(MPI_Comm_create_from_group);
int PMPI_Comm_create_from_group(MPI_Group group, const char* stringtag, MPI_Info info,
                                MPI_Errhandler errhandler, MPI_Comm* newcomm) {
  FGMPI_TAKE_TURN("MPI_Comm_create_from_group",
                  PMPI_Comm_create_from_group(group, stringtag, info, errhandler, newcomm));
  if (newcomm) *newcomm = MPI_COMM_NULL;
  constexpr const char* kCall = "MPI_Comm_create_from_group";
  FGMPI_NEED_INIT(kCall);
  FGMPI_RETURN_IF(kCall, nullptr, comm::check_errhandler(comm::HandlerOf::kComm, errhandler));
  comm::Group* g = nullptr;
  comm::Comm* made = nullptr;
  comm::Hints hints;
  Status status = mpi::find_group(group, "group", &g);
  if (status.ok()) status = mpi::check_pointer(stringtag, "stringtag");
  if (status.ok()) status = comm::read_hints(info, &hints);
  // An empty group makes the call a local one.
  if (status.ok() && g->map.size() > 0)
    status = comm::create_from_group(g->map, hash_text(stringtag), &made);
  if (made && !hints.empty()) mpi::apply_hints(made, std::move(hints));
  return mpi::return_comm_of_group(kCall, status, g, made, errhandler, newcomm);
}

FGMPI_EXPORT(MPI_Intercomm_create_from_groups);
int PMPI_Intercomm_create_from_groups(MPI_Group local_group, int local_leader,
                                      MPI_Group remote_group, int remote_leader,
                                      const char* stringtag, MPI_Info info,
                                      MPI_Errhandler errhandler, MPI_Comm* newintercomm) {
  FGMPI_TAKE_TURN(
      "MPI_Intercomm_create_from_groups",
      PMPI_Intercomm_create_from_groups(local_group, local_leader, remote_group, remote_leader,
                                        stringtag, info, errhandler, newintercomm));
  if (newintercomm) *newintercomm = MPI_COMM_NULL;
  constexpr const char* kCall = "MPI_Intercomm_create_from_groups";
  FGMPI_NEED_INIT(kCall);
  FGMPI_RETURN_IF(kCall, nullptr, comm::check_errhandler(comm::HandlerOf::kComm, errhandler));
  comm::Group *local = nullptr, *remote = nullptr;
  comm::Comm* made = nullptr;
  comm::Hints hints;
  Status status = mpi::find_group(local_group, "local_group", &local);
  if (status.ok()) status = mpi::find_group(remote_group, "remote_group", &remote);
  if (status.ok()) status = mpi::check_pointer(stringtag, "stringtag");
  if (status.ok()) status = comm::read_hints(info, &hints);
  // An empty group makes the call a local one; it has no leader.
  const bool empty = status.ok() && (local->map.size() == 0 || remote->map.size() == 0);
  if (status.ok() && !empty) status = mpi::check_leader(local, local_leader, "local_leader");
  if (status.ok() && !empty) status = mpi::check_leader(remote, remote_leader, "remote_leader");
  if (status.ok() && !empty)
    status = comm::intercomm_from_groups(local->map, remote->map, hash_text(stringtag), &made);
  if (made && !hints.empty()) mpi::apply_hints(made, std::move(hints));
  return mpi::return_comm_of_group(kCall, status, local, made, errhandler, newintercomm);
}
