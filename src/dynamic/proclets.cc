// Spawning as proclets: plan, loading and start of the new ranks in each process.

#include "dynamic/proclets.h"

#include <mpi.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/fields.h"
#include "base/strings.h"
#include "ch4-av-rankmap/mlut.h"
#include "comm/create.h"
#include "comm/hierarchy.h"
#include "comm/meeting_decider.h"
#include "dynamic/deadline_waiter.h"
#include "dynamic/inside.h"
#include "proclet-sched/sched.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::dynamic {
namespace {

/// Consecutive ranks of a spawn that run the same command.
struct CommandRanks {
  uint32_t first, count;  ///< ranks in their MPI_COMM_WORLD
  int appnum;
  std::string errhandler;
};

/// The ranks of one spawn in this process.
struct Spawned {
  GroupUid uid;
  uint32_t first_local = 0, first_rank = 0, count = 0;
  uint32_t left = 0;  ///< number of ranks that have not ended
  comm::SharedComm *world = nullptr, *parents = nullptr;
  std::vector<CommandRanks> parts;
  enum SpawnShare : uint8_t { kWorld = 1, kParents = 2, kArrived = 4 };
  /// Bits of SpawnShare for each rank here: shares claimed, and whether it has come to MPI_Init.
  std::vector<uint8_t> claimed;
  uint32_t coming = 0;        ///< number of ranks that have neither come nor ended
  int64_t ended_before = -1;  ///< rank in MPI_COMM_WORLD that ended without coming; -1: none
  enum SpawnVerdict : uint8_t { kOpen, kGoOn, kEnd } verdict = kOpen;
  std::vector<sched::Proclet*> waiting;  ///< ranks that wait for the verdict
  DeadlineWaiter waits_for_ranks;        ///< waits for the ranks of this process to come
  const CommandRanks& part_of(uint32_t rank) const {
    return *std::find_if(parts.begin(), parts.end(),
                         [&](const CommandRanks& part) { return rank - part.first < part.count; });
  }
};

std::vector<std::unique_ptr<Spawned>>& all_spawned() {
  static auto* all = new std::vector<std::unique_ptr<Spawned>>;
  return *all;
}

Spawned* spawned_of(uint32_t local) {
  if (local < g_av.my_count()) return nullptr;
  for (const auto& s : all_spawned())
    if (local - s->first_local < s->count) return s.get();
  return nullptr;
}

Programs g_programs;

void give_back(uint32_t first_local, uint32_t count) {
  for (uint32_t k = first_local; k < first_local + count; ++k) {
    sched::Proclet* p = sched::rank_proclet(k);
    delete static_cast<comm::RankState*>(p->rank_state);
    p->rank_state = p->image = nullptr;
  }
  g_programs.forget(first_local, count);
  sched::remove_ranks(first_local);
}

/// Removes spawned ranks that are not needed any more. Runs on the host stack.
void reap() {
  std::erase_if(all_spawned(), [](const std::unique_ptr<Spawned>& s) {
    if (s->left > 0 || g_process_groups.find(s->uid) != ProcessGroups::kNone) return false;
    for (uint32_t k = s->first_local; k < s->first_local + s->count; ++k)
      if (sched::rank_proclet(k)->state != sched::ProcletState::kFinished) return false;
    give_back(s->first_local, s->count);
    return true;
  });
}

bool reap_when_idle() {
  reap();
  return false;
}

// ---- The order ----------------------------------------------------------------------------------

/// What the root orders, or the error at the root.
struct Order {
  enum OrderKind : uint8_t { kProcesses, kProclets, kFailed } kind = kProcesses;
  Status status;
  std::vector<int> codes;  ///< kFailed
  comm::ContextId world, parents;
  GroupUid uid;
  uint32_t most_each = 0;  ///< most ranks a process; 0: equal numbers
  std::vector<LauncherSection> sections;
};

bool wants_proclets(const Command& command) {
  // An explored or predicted process has no others.
  if (inside::is_on() || comm::g_meeting_decider) return true;
  return std::any_of(command.info.begin(), command.info.end(), [](const auto& key) {
    return key.first == "fgmpi_where" && key.second == "here";
  });
}

/// Refuses info keys for things that proclets cannot have.
Status check_keys(const LauncherSection& s) {
  const char* key = !s.hosts.empty()         ? "host"
                    : !s.hostfile.empty()    ? "hostfile"
                    : !s.bind_to.empty()     ? "bind_to"
                    : !s.environment.empty() ? "env"
                                             : nullptr;
  if (key)
    return error(MPI_ERR_INFO_VALUE,
                 "info key %s is given with fgmpi_where=here; allowed are the keys nfg, soft, path "
                 "and mpi_initial_errhandler: proclets live in the processes of their parents",
                 key);
  struct stat wanted {
  }, here{};
  if (!s.wdir.empty() && (stat(s.wdir.c_str(), &wanted) != 0 || stat(".", &here) != 0 ||
                          wanted.st_dev != here.st_dev || wanted.st_ino != here.st_ino))
    return error(MPI_ERR_INFO_VALUE,
                 "info key wdir is \"%s\" with fgmpi_where=here; allowed is the folder of the "
                 "processes that the proclets are to live in",
                 escaped(s.wdir).c_str());
  return {};
}

Status plan_here(const Command& command, LauncherSection* out, uint32_t* most_each) {
  FGMPI_TRY(plan(command, out));
  for (const auto& [key, value] : command.info)
    if (key == "nfg")
      *most_each = std::max(*most_each, static_cast<uint32_t>(parse_int(value).value_or(0)));
  return check_keys(*out);
}

Order order_of(const std::vector<Command>& commands, uint32_t processes) {
  Order order;
  const auto here =
      static_cast<size_t>(std::count_if(commands.begin(), commands.end(), wants_proclets));
  if (here == 0) return order;
  std::vector<int> failed(commands.size());
  int64_t ranks = 0;
  for (size_t k = 0; k < commands.size(); ++k) {
    Status one = plan_here(commands[k], &order.sections.emplace_back(), &order.most_each);
    if (one.ok() && !wants_proclets(commands[k]))
      one =
          error(MPI_ERR_INFO_VALUE,
                "info key fgmpi_where is \"here\" for %zu of %zu commands; allowed is all or none",
                here, commands.size());
    failed[k] = one.ok() ? 0 : one.error_class();
    if (order.status.ok()) order.status = std::move(one);
    ranks += order.sections[k].ranks;
  }
  if (order.status.ok() && order.most_each && ranks > int64_t{order.most_each} * processes)
    order.status = error(MPI_ERR_SPAWN,
                         "%lld ranks are to be spawned with nfg %u; allowed are %lld in the %u "
                         "processes of comm",
                         static_cast<long long>(ranks), order.most_each,
                         static_cast<long long>(order.most_each) * processes, processes);
  order.kind = order.status.ok() ? Order::kProclets : Order::kFailed;
  if (order.kind == Order::kFailed) order.codes = codes_of(commands, order.sections, failed, false);
  order.world = comm::draw_candidate().id();
  order.parents = comm::draw_candidate().id();
  order.uid = {comm::random_bits(), comm::random_bits()};
  return order;
}

void append_codes(std::vector<uint8_t>* out, const std::vector<int>& codes) {
  append(out, static_cast<uint32_t>(codes.size()));
  for (int code : codes) append(out, code);
}

std::vector<int> read_codes(FieldReader* in) {
  std::vector<int> codes;
  for (auto left = in->get<uint32_t>(); left > 0 && !in->failed(); --left)
    codes.push_back(in->get<int>());
  return codes;
}

void append_status(std::vector<uint8_t>* out, const Status& status) {
  append(out, static_cast<int32_t>(status.ok() ? MPI_SUCCESS : status.error_class()));
  append_text(out, status.ok() ? "" : status.what());
}

Status read_status(FieldReader* in) {
  const auto error_class = in->get<int32_t>();
  const std::string words(in->get_text());
  return error_class == MPI_SUCCESS ? Status() : Status(error_class, words);
}

std::vector<uint8_t> encode(const Order& order) {
  std::vector<uint8_t> out;
  append(&out, static_cast<uint8_t>(order.kind));
  append_status(&out, order.status);
  append_codes(&out, order.codes);
  append(&out, order.world.bits);
  append(&out, order.parents.bits);
  append(&out, order.uid);
  append(&out, order.most_each);
  append(&out, static_cast<uint32_t>(order.sections.size()));
  for (const LauncherSection& s : order.sections) {
    append_text(&out, s.program);
    append_text(&out, s.path);
    append_text(&out, s.errhandler);
    append(&out, s.ranks);
    append(&out, static_cast<uint32_t>(s.arguments.size()));
    for (const std::string& word : s.arguments) append_text(&out, word);
  }
  return out;
}

Order decode(const std::vector<uint8_t>& bytes) {
  FieldReader in(bytes.data(), bytes.size());
  Order order;
  order.kind = static_cast<Order::OrderKind>(in.get<uint8_t>());
  order.status = read_status(&in);
  order.codes = read_codes(&in);
  order.world.bits = in.get<uint64_t>();
  order.parents.bits = in.get<uint64_t>();
  order.uid = in.get<GroupUid>();
  order.most_each = in.get<uint32_t>();
  for (auto left = in.get<uint32_t>(); left > 0 && !in.failed(); --left) {
    LauncherSection& s = order.sections.emplace_back();
    s.program = in.get_text();
    s.path = in.get_text();
    s.errhandler = in.get_text();
    s.ranks = in.get<int64_t>();
    for (auto words = in.get<uint32_t>(); words > 0 && !in.failed(); --words)
      s.arguments.emplace_back(in.get_text());
  }
  return order;
}

// ---- What each process does ---------------------------------------------------------------------

class Spawning {
 public:
  Spawning(comm::SharedComm* shared, comm::Meeting* meeting, uint32_t root_index)
      : shared_(shared),
        meeting_(meeting),
        root_index_(root_index),
        hierarchy_(comm::hierarchy(shared)) {}
  Status run(const std::vector<Command>* commands, bool* done, comm::SharedComm** made,
             std::vector<int>* codes);

 private:
  bool at_root() const { return hierarchy_.my_index == root_index_; }
  int32_t tag(comm::CreateStep step) const {
    return comm::tag_of(*shared_, meeting_->sequence, step);
  }
  Status spread(comm::CreateStep step, std::vector<uint8_t>* bytes) {
    return comm::send_to_processes(shared_, root_index_, tag(step), bytes, meeting_->call);
  }
  Status gather(comm::CreateStep step, std::vector<uint8_t> mine,
                std::vector<std::vector<uint8_t>>* all);
  void distribute();
  Status prepare(size_t* failed);
  Status prepare_part(const LauncherSection& section, const CommandRanks& part);
  Status decide(const std::vector<Command>* commands, const Status& here, size_t failed,
                uint32_t first_local, std::vector<uint8_t>* verdict);
  Status join(FieldReader* verdict, comm::SharedComm** made);
  Status start(const std::vector<Command>* commands, std::vector<int>* codes);
  Status wait_for_ranks(Spawned* spawned, size_t* failed);

  comm::SharedComm* shared_;
  comm::Meeting* meeting_;
  uint32_t root_index_;
  const comm::Hierarchy& hierarchy_;
  Order order_;
  std::vector<uint32_t> counts_;  ///< number of ranks, by process of the communicator
  std::unique_ptr<Spawned> mine_ = std::make_unique<Spawned>();
  bool added_ = false;
};

Status Spawning::gather(comm::CreateStep step, std::vector<uint8_t> mine,
                        std::vector<std::vector<uint8_t>>* all) {
  const uint64_t ctx = shared_->id.plane(comm::kPlaneInternal);
  if (!at_root())
    return pt2pt::process_send(hierarchy_.processes[root_index_], ctx, tag(step), mine.data(),
                               mine.size(), meeting_->call);
  all->resize(hierarchy_.count());
  for (uint32_t i = 0; i < hierarchy_.count(); ++i) {
    if (i == hierarchy_.my_index)
      (*all)[i] = std::move(mine);
    else
      FGMPI_TRY(
          pt2pt::process_recv(hierarchy_.processes[i], ctx, tag(step), &(*all)[i], meeting_->call));
  }
  return {};
}

/// Computes which process hosts which ranks, and what the ranks of this process run.
void Spawning::distribute() {
  uint64_t ranks = 0;
  for (const LauncherSection& s : order_.sections) ranks += static_cast<uint64_t>(s.ranks);
  const uint64_t processes = hierarchy_.count();
  uint64_t left = ranks, before = 0;
  for (uint64_t i = 0; i < processes; ++i) {
    const uint64_t equal = ranks / processes + (i < ranks % processes ? 1 : 0);
    const uint64_t here = std::min<uint64_t>(left, order_.most_each ? order_.most_each : equal);
    if (i < hierarchy_.my_index) before += here;
    counts_.push_back(static_cast<uint32_t>(here));
    left -= here;
  }
  mine_->uid = order_.uid;
  mine_->first_rank = static_cast<uint32_t>(before);
  mine_->count = mine_->left = mine_->coming = counts_[hierarchy_.my_index];
  mine_->claimed.resize(mine_->count);
  uint64_t begin = 0;
  for (size_t k = 0; k < order_.sections.size(); ++k) {
    const uint64_t end = begin + static_cast<uint64_t>(order_.sections[k].ranks);
    const uint64_t low = std::max<uint64_t>(begin, before);
    const uint64_t high = std::min<uint64_t>(end, before + mine_->count);
    if (low < high)
      mine_->parts.push_back({static_cast<uint32_t>(low), static_cast<uint32_t>(high - low),
                              static_cast<int>(k), order_.sections[k].errhandler});
    begin = end;
  }
}

Status Spawning::prepare_part(const LauncherSection& section, const CommandRanks& part) {
  std::string path;
  FGMPI_TRY(find_program(section, &path));
  void* program = nullptr;
  FGMPI_TRY(g_programs.load(path, &program));
  std::vector<std::string> words{section.program};
  words.insert(words.end(), section.arguments.begin(), section.arguments.end());
  return g_programs.prepare(program, mine_->first_local + (part.first - mine_->first_rank),
                            part.count, words);
}

/// Makes all that the ranks of this process need to run. Runs on the host stack. *failed: the
/// command whose preparation failed.
Status Spawning::prepare(size_t* failed) {
  reap();
  sched::add_trimmer(reap_when_idle);
  *failed = SIZE_MAX;
  if (mine_->count == 0) return {};
  FGMPI_TRY(sched::add_ranks(
      mine_->count, [](void*) { g_programs.run(); }, nullptr, &mine_->first_local));
  added_ = true;
  for (const CommandRanks& part : mine_->parts) {
    const auto k = static_cast<size_t>(part.appnum);
    Status status = prepare_part(order_.sections[k], part);
    if (status.ok()) continue;
    *failed = k;
    return status;
  }
  pt2pt::set_local_count(mine_->first_local + mine_->count);
  return {};
}

/// Gathers the outcomes and makes the root's verdict for all: i32 class | text | u32 n, codes | u32
/// first local index of each process.
Status Spawning::decide(const std::vector<Command>* commands, const Status& here, size_t failed,
                        uint32_t first_local, std::vector<uint8_t>* verdict) {
  std::vector<uint8_t> mine;
  append_status(&mine, here);
  append(&mine, static_cast<uint64_t>(failed));
  append(&mine, first_local);
  std::vector<std::vector<uint8_t>> all;
  FGMPI_TRY(gather(comm::kStepGather, std::move(mine), &all));
  if (!at_root()) return {};
  Status status;
  std::vector<int> classes(commands->size());
  std::vector<uint32_t> firsts;
  for (const auto& bytes : all) {
    FieldReader in(bytes.data(), bytes.size());
    Status one = read_status(&in);
    const auto blamed = in.get<uint64_t>();
    firsts.push_back(in.get<uint32_t>());
    if (!one.ok() && blamed < classes.size()) classes[blamed] = one.error_class();
    if (status.ok()) status = std::move(one);
  }
  append_status(verdict, status);
  append_codes(verdict, codes_of(*commands, order_.sections, classes, status.ok()));
  for (uint32_t first : firsts) append(verdict, first);
  return {};
}

/// Makes the group of the new ranks and its communicators.
Status Spawning::join(FieldReader* verdict, comm::SharedComm** made) {
  std::vector<uint32_t> counts;
  std::vector<AddressVector::Host> hosts;
  for (uint32_t i = 0; i < hierarchy_.count(); ++i) {
    const auto first = verdict->get<uint32_t>();
    if (counts_[i] == 0) continue;
    counts.push_back(counts_[i]);
    hosts.push_back({hierarchy_.processes[i], first});
  }
  uint32_t pgid;
  inside::record_order_source(order_.parents);
  FGMPI_TRY(g_process_groups.add_hosted(order_.uid, counts, std::move(hosts), &pgid));
  const RankMap map = RankMap::strided(static_cast<int32_t>(g_process_groups.ranks(pgid)),
                                       static_cast<int32_t>(g_process_groups.first_rank(pgid)), 1);
  const uint8_t side = comm::side_of(shared_->map, map);
  const auto processes = static_cast<uint32_t>(counts.size());
  // A process that hosts members of both sides takes part twice in creations.
  const uint32_t participants = hierarchy_.count() + processes;
  *made = comm::make_shared(
      {order_.parents, &shared_->map, &map, shared_->members, participants, side, meeting_->call});
  (*made)->hierarchy = shared_->hierarchy;
  if (mine_->count == 0) return {};
  const auto other_side = static_cast<uint8_t>(1 - side);
  mine_->parents = comm::make_shared({order_.parents, &map, &shared_->map, mine_->count,
                                      participants, other_side, meeting_->call});
  mine_->world =
      comm::make_shared({order_.world, &map, nullptr, mine_->count, processes, 0, meeting_->call});
  return {};
}

Status Spawning::run(const std::vector<Command>* commands, bool* done, comm::SharedComm** made,
                     std::vector<int>* codes) {
  std::vector<uint8_t> bytes;
  if (at_root()) bytes = encode(order_of(*commands, hierarchy_.count()));
  FGMPI_TRY(spread(comm::kStepSpread, &bytes));
  order_ = decode(bytes);
  *done = order_.kind != Order::kProcesses;
  *codes = std::move(order_.codes);
  if (order_.kind != Order::kProclets) return std::move(order_.status);
  distribute();
  Status here;
  size_t failed = SIZE_MAX;
  sched::call_on_host([&] { here = prepare(&failed); });
  bytes.clear();
  FGMPI_TRY(decide(commands, here, failed, mine_->first_local, &bytes));
  FGMPI_TRY(spread(comm::kStepExchange, &bytes));
  FieldReader verdict(bytes.data(), bytes.size());
  Status status = read_status(&verdict);
  *codes = read_codes(&verdict);
  if (!status.ok()) {
    sched::call_on_host([&] {
      if (added_) give_back(mine_->first_local, mine_->count);
    });
    return status;
  }
  sched::call_on_host([&] { status = join(&verdict, made); });
  FGMPI_TRY(std::move(status));
  status = start(commands, codes);
  if (status.ok()) return {};
  for (uint32_t k = 0; k < shared_->members; ++k) comm::release_share(*made);
  *made = nullptr;
  return status;
}

/// Lets the new ranks run, and waits until all have come to MPI_Init. Where one has not, the
/// others end.
Status Spawning::start(const std::vector<Command>* commands, std::vector<int>* codes) {
  // All processes must know the group of the new ranks before any process can receive a message
  // from them.
  std::vector<std::vector<uint8_t>> all;
  FGMPI_TRY(gather(comm::kStepAnswer, {}, &all));
  std::vector<uint8_t> bytes;
  FGMPI_TRY(spread(comm::kStepSpread, &bytes));
  Spawned* const spawned = mine_.get();
  Status here;
  size_t failed = SIZE_MAX;
  if (spawned->count > 0) {
    g_programs.ranks_join(spawned->count);
    all_spawned().push_back(std::move(mine_));
    sched::start_added_ranks(spawned->first_local);
    here = wait_for_ranks(spawned, &failed);
  }
  bytes.clear();
  FGMPI_TRY(decide(commands, here, failed, spawned->first_local, &bytes));
  FGMPI_TRY(spread(comm::kStepExchange, &bytes));
  FieldReader verdict(bytes.data(), bytes.size());
  Status status = read_status(&verdict);
  *codes = read_codes(&verdict);
  spawned->verdict = status.ok() ? Spawned::kGoOn : Spawned::kEnd;
  for (sched::Proclet* p : std::exchange(spawned->waiting, {})) sched::ready(p);
  return status;
}

Status Spawning::wait_for_ranks(Spawned* spawned, size_t* failed) {
  while (spawned->coming > 0 && spawned->ended_before < 0)
    spawned->waits_for_ranks.wait(INT64_MAX, meeting_->call,
                                  [](const sched::WaitSite*, std::string* out) {
                                    *out += "waiting for spawned ranks to call MPI_Init";
                                  });
  if (spawned->ended_before < 0) return {};
  const auto rank = static_cast<uint32_t>(spawned->ended_before);
  *failed = static_cast<size_t>(spawned->part_of(rank).appnum);
  return error(MPI_ERR_SPAWN,
               "rank %u of the new ranks (command \"%s\") has ended before it called MPI_Init",
               rank, escaped(order_.sections[*failed].program).c_str());
}

void release_unclaimed_share(Spawned* s, uint32_t k, Spawned::SpawnShare share,
                             comm::SharedComm* shared) {
  if (s->claimed[k] & share) return;
  s->claimed[k] |= share;
  comm::release_share(shared);
}

}  // namespace

Status spawn_proclets(comm::SharedComm* shared, comm::Meeting* meeting, uint32_t root_index,
                      const std::vector<Command>* commands, bool* done, comm::SharedComm** made,
                      std::vector<int>* codes) {
  return Spawning(shared, meeting, root_index).run(commands, done, made, codes);
}

bool find_spawned(uint32_t local, SpawnedRank* out) {
  const Spawned* s = spawned_of(local);
  if (!s) return false;
  const uint32_t rank = s->first_rank + (local - s->first_local);
  const CommandRanks& part = s->part_of(rank);
  *out = {s->world, s->parents, static_cast<int32_t>(rank), part.appnum, part.errhandler};
  return true;
}

bool wait_for_spawned_ranks(uint32_t local) {
  Spawned* s = spawned_of(local);
  if (!s || s->claimed[local - s->first_local] & Spawned::kArrived) return true;
  s->claimed[local - s->first_local] |= Spawned::kArrived;
  if (--s->coming == 0) s->waits_for_ranks.wake();
  sched::WaitSite site{"MPI_Init",
                       [](const sched::WaitSite*, std::string* out) {
                         *out += "waiting for the other ranks of the same spawn";
                       },
                       false};
  if (s->verdict == Spawned::kOpen) {
    s->waiting.push_back(sched::current());
    sched::park(&site);
  }
  return s->verdict == Spawned::kGoOn;
}

bool is_spawned(uint32_t local) { return spawned_of(local) != nullptr; }

void record_world_claimed(uint32_t local) {
  Spawned* s = spawned_of(local);
  s->claimed[local - s->first_local] |= Spawned::kWorld;
}

void record_parents_claimed(uint32_t local) {
  Spawned* s = spawned_of(local);
  s->claimed[local - s->first_local] |= Spawned::kParents;
}

void spawned_rank_ends(uint32_t local) {
  Spawned* s = spawned_of(local);
  if (!s) return;
  const uint32_t k = local - s->first_local;
  if (!(s->claimed[k] & Spawned::kArrived)) {
    --s->coming;
    s->ended_before = s->first_rank + k;
    s->waits_for_ranks.wake();
  }
  release_unclaimed_share(s, k, Spawned::kParents, s->parents);
  release_unclaimed_share(s, k, Spawned::kWorld, s->world);
  --s->left;
}

void set_programs(const Programs& programs) { g_programs = programs; }

}  // namespace fgmpi::dynamic
