// Tables of ranks and communicators, and the words of findings for calls and arguments.

#include "check/rank.h"

#include <algorithm>
#include <cstring>

#include "base/modules.h"
#include "base/strings.h"
#include "check/extensions.h"
#include "check/memory/own_memory.h"
#include "watch/places.h"

namespace fgmpi::check {

constinit Next g_next{};
// Never destroyed: ranks call MPI until the process ends.
Process& g_process = *new Process;

const sched::Proclet* const* g_running = &kNobody;

Rank* current_rank() {
  if (!g_process.on && !MPIX_Tool_word) return nullptr;
  void** word = MPIX_Tool_word();
  return word ? static_cast<Rank*>(*word) : nullptr;
}

Rank* local_rank(int world) {
  return is_local(world) ? g_process.all[static_cast<size_t>(world - g_process.first)].get()
                         : nullptr;
}

namespace {

std::vector<int> world_ranks(MPI_Group group) {
  int size = 0;
  g_next.MPI_Group_size(group, &size);
  std::vector<int> own(static_cast<size_t>(size)), world(static_cast<size_t>(size), MPI_UNDEFINED);
  for (int i = 0; i < size; ++i) own[static_cast<size_t>(i)] = i;
  MPI_Group all = MPI_GROUP_NULL;
  g_next.MPI_Comm_group(MPI_COMM_WORLD, &all);
  g_next.MPI_Group_translate_ranks(group, size, own.data(), all, world.data());
  g_next.MPI_Group_free(&all);
  g_next.MPI_Group_free(&group);
  return world;
}

/// Fills in which processes have members. REQUIRES: the groups are filled in.
void add_processes(CheckedComm* c) {
  std::set<int> processes;
  for (int world : c->group) {
    if (world == MPI_UNDEFINED) {
      c->foreign = true;
      continue;
    }
    if (is_local(world)) ++c->local_members;
    processes.insert(MPIX_Tool_process(world));
  }
  std::set<int> of_both = processes;
  for (int world : c->remote)
    if (world != MPI_UNDEFINED) of_both.insert(MPIX_Tool_process(world));
  c->processes = static_cast<int>(of_both.size());
  of_both.erase(g_process.me);
  c->listeners.assign(of_both.begin(), of_both.end());
  processes.erase(g_process.me);
  c->others.assign(processes.begin(), processes.end());
  c->home = c->group.empty() || c->group[0] == MPI_UNDEFINED ? g_process.me
                                                             : MPIX_Tool_process(c->group[0]);
}

void fill_comm(CheckedComm* c, MPI_Comm handle) {
  int inter = 0;
  MPI_Group group = MPI_GROUP_NULL;
  g_next.MPI_Comm_test_inter(handle, &inter);
  c->inter = inter;
  g_next.MPI_Comm_size(handle, &c->size);
  g_next.MPI_Comm_group(handle, &group);
  c->group = world_ranks(group);
  if (inter) {
    g_next.MPI_Comm_remote_group(handle, &group);
    c->remote = world_ranks(group);
    for (int world : c->remote) c->foreign = c->foreign || world == MPI_UNDEFINED;
  }
  add_processes(c);
}

}  // namespace

CheckedComm* remote_side(const CheckedComm& c) {
  auto [at, fresh] = g_process.comms.try_emplace(c.key ^ 1);
  if (!fresh) return at->second.get();
  at->second = std::make_unique<CheckedComm>();
  CheckedComm* far = at->second.get();
  far->key = c.key ^ 1;
  far->inter = true;
  far->foreign = c.foreign;
  far->size = static_cast<int>(c.remote.size());
  far->group = c.remote;
  far->remote = c.group;
  add_processes(far);
  return far;
}

OwnComm* Rank::comm_of(MPI_Comm handle) {
  if (last_own && last_own->handle == handle) return last_own;
  auto found = comms.find(handle);
  if (found == comms.end()) {
    int leader = 0, index = 0, side = 0, rank = 0, topology = MPI_UNDEFINED;
    // MPI reports a wrong communicator itself.
    if (handle == MPI_COMM_NULL || !MPIX_Comm_key) return nullptr;
    if (!is_predefined(handle) && !made[static_cast<int>(Object::kComm)].contains(
                                      static_cast<uint64_t>(static_cast<uint32_t>(handle))))
      return nullptr;
    if (MPIX_Comm_key(handle, &leader, &index, &side) != MPI_SUCCESS) return nullptr;
    const uint64_t key = static_cast<uint64_t>(static_cast<uint32_t>(leader)) << 32 |
                         static_cast<uint64_t>(static_cast<uint32_t>(index)) << 1 |
                         static_cast<uint64_t>(side);
    auto shared = g_process.comms.find(key);
    if (shared == g_process.comms.end()) {
      auto made = std::make_unique<CheckedComm>();
      made->key = key;
      fill_comm(made.get(), handle);  // switches: another rank may add the communicator meanwhile
      shared = g_process.comms.try_emplace(key, std::move(made)).first;
    }
    g_next.MPI_Comm_rank(handle, &rank);
    g_next.MPI_Topo_test(handle, &topology);
    found = comms.emplace(handle, OwnComm{handle, rank, shared->second.get(), 0, {}}).first;
    found->second.has_topology = topology != MPI_UNDEFINED;
  }
  last_own = &found->second;
  return last_own;
}

void Rank::forget_comm(MPI_Comm handle) {
  last_own = nullptr;
  const auto found = comms.find(handle);
  if (found == comms.end()) return;
  // Clocks have components of communicators that were freed.
  const CheckedComm& comm = *found->second.comm;
  if (g_process.follows_order() && (!comm.others.empty() || comm.inter)) {
    past_events.emplace_back(of_comm(without_side(comm.key)), std::move(found->second.events));
    if (past_events.size() > kMostPastEvents) past_events.pop_front();
  }
  comms.erase(found);
}

uint64_t site_of(const void* return_address) {
  // A call from a Fortran binding has the place of the binding's caller, found by a walk of the
  // stack in each call; any other place follows from the return address.
  const bool binding = findings::from_fortran(return_address);
  uint64_t place = binding ? findings::place_of(return_address) : 0;
  const void* const key = binding ? reinterpret_cast<const void*>(place) : return_address;
  const auto [at, fresh] = g_process.sites.try_emplace(key, 0);
  if (!fresh) return at->second;
  // The address of the call itself, because the return address may belong to another line.
  place = (binding ? place : findings::place_of(return_address)) - 1;
  const auto module = module_at(reinterpret_cast<void*>(place));
  if (!module) return 0;
  char own[4096];
  const char* path = module->path;
  if (!g_is_rewound) {
    if (char* real = realpath(path, own)) path = real;
  } else if (!*module->map->l_name) {  // the program, of which the linker knows its argv[0]
    const long length = read_link_past_recording("/proc/self/exe", own, sizeof own - 1);
    own[std::max(length, 0L)] = 0;
    path = own;
  }
  return at->second = g_process.spool.add_site({path, place - module->map->l_addr});
}

namespace {

std::string number_or_name(ParameterUse what, int64_t value) {
  if (what == ParameterUse::kRank && value == MPI_ANY_SOURCE) return "MPI_ANY_SOURCE";
  if (what == ParameterUse::kRank && value == MPI_PROC_NULL) return "MPI_PROC_NULL";
  if (what == ParameterUse::kRoot && value == MPI_ROOT) return "MPI_ROOT";
  if (what == ParameterUse::kRoot && value == MPI_PROC_NULL) return "MPI_PROC_NULL";
  if (what == ParameterUse::kTag && value == MPI_ANY_TAG) return "MPI_ANY_TAG";
  return std::to_string(value);
}

std::string name_of_op(int64_t op) {
  static constexpr struct {
    MPI_Op op;
    const char* name;
  } kNames[] = {{MPI_MAX, "MPI_MAX"},        {MPI_MIN, "MPI_MIN"},       {MPI_SUM, "MPI_SUM"},
                {MPI_PROD, "MPI_PROD"},      {MPI_LAND, "MPI_LAND"},     {MPI_BAND, "MPI_BAND"},
                {MPI_LOR, "MPI_LOR"},        {MPI_BOR, "MPI_BOR"},       {MPI_LXOR, "MPI_LXOR"},
                {MPI_BXOR, "MPI_BXOR"},      {MPI_MINLOC, "MPI_MINLOC"}, {MPI_MAXLOC, "MPI_MAXLOC"},
                {MPI_REPLACE, "MPI_REPLACE"}};
  for (const auto& one : kNames)
    if (one.op == op) return one.name;
  return "the program's";
}

std::string name_of_comm(int64_t comm, const Rank* rank) {
  if (comm == MPI_COMM_WORLD) return "MPI_COMM_WORLD";
  if (comm == MPI_COMM_SELF) return "MPI_COMM_SELF";
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  if (rank && rank == current_rank() && rank->comms.contains(static_cast<int>(comm)))
    g_next.MPI_Comm_get_name(static_cast<MPI_Comm>(comm), name, &length);
  return *name ? format("\"%s\"", name)
               : format("0x%x", static_cast<unsigned>(static_cast<uint32_t>(comm)));
}

std::string words_of_argument(const Parameter& p, int64_t value, const Rank* rank) {
  switch (p.object) {
    case Object::kComm:
      return name_of_comm(value, rank);
    case Object::kDatatype: {
      if (!is_predefined(static_cast<MPI_Datatype>(value))) return "a derived type";
      const std::string words = words_of(static_cast<MPI_Datatype>(value), 1);
      return words.starts_with("1 x ") ? words.substr(4) : words;
    }
    case Object::kOp:
      return name_of_op(value);
    case Object::kNone:
      break;
    default:
      return "";
  }
  switch (p.what) {
    case ParameterUse::kCount:
    case ParameterUse::kRank:
    case ParameterUse::kRoot:
    case ParameterUse::kTag:
    case ParameterUse::kNumber:
      return number_or_name(p.what, value);
    default:
      return "";
  }
}

}  // namespace

std::string arguments_of(const CallRecord& call, const Rank* rank) {
  std::string text;
  for (int i = 0; i < call.info().count; ++i) {
    const Parameter& p = call.info().parameters[i];
    if (p.pointer) continue;
    const std::string words = words_of_argument(p, call.words[i], rank);
    if (!words.empty()) text += (text.empty() ? "" : ", ") + std::string(p.name) + "=" + words;
  }
  return text;
}

findings::Participant participant(const Rank* rank, const CallRecord& call, const char* role) {
  return {rank ? rank->world : -1, call.info().name, arguments_of(call, rank), call.site, role};
}

uint64_t report(FindingKind kind, std::string sentence, std::string allowed,
                std::vector<findings::Participant> calls, bool note) {
  ++g_process.reports;
  if (!g_process.wants(kind)) return 0;
  if (kind == FindingKind::kArguments) ++g_process.of_arguments;
  return g_process.spool.add(
      {kind, std::move(sentence), std::move(allowed), std::move(calls), note});
}

}  // namespace fgmpi::check
