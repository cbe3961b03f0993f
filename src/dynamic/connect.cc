// Making an intercommunicator between two jobs, from each side's root to all of its processes.

#include "dynamic/connect.h"

#include <mpi.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/environment.h"
#include "base/fields.h"
#include "base/hash.h"
#include "base/strings.h"
#include "ch4-av-rankmap/mlut.h"
#include "comm/create.h"
#include "comm/group.h"
#include "comm/hierarchy.h"
#include "dynamic/inside.h"
#include "dynamic/links.h"
#include "dynamic/ports.h"
#include "dynamic/proclets.h"
#include "pt2pt/pt2pt.h"
#include "transport/random.h"

namespace fgmpi::dynamic {
namespace {

using comm::Meeting;
using comm::SharedComm;

/// The longest time for an answer over the network once the other side has accepted: its processes
/// may compute meanwhile.
constexpr int64_t kAnswerWithin = 180 * kSecond;

struct ConnectArrival : comm::CreateArrival {
  const ConnectArguments* arguments = nullptr;
  int32_t root = 0;
  /// The ids that the sides of inside::meet() have drawn. All members record that what the sides
  /// did before comes first.
  comm::ContextId sides[2];
};

// A message between processes begins with u8 ok. If ok is not 1, i32 error class and the error
// text follow.
std::vector<uint8_t> encode(const Status& status) {
  std::vector<uint8_t> out;
  append(&out, static_cast<uint8_t>(status.ok()));
  if (status.ok()) return out;
  append(&out, static_cast<int32_t>(status.error_class()));
  append_text(&out, status.what());
  return out;
}

Status decode_status(FieldReader* in) {
  if (in->get<uint8_t>() == 1) return {};
  const auto error_class = in->get<int32_t>();
  const std::string words(in->get_text());
  if (in->failed() || error_class <= 0 || error_class >= MPI_ERR_LASTCODE)
    return error(MPI_ERR_PORT, "the other side says what cannot be read");
  return Status(error_class, words);
}

/// Makes the intercommunicator in this process.
void establish(SharedComm* shared, Meeting* meeting, comm::ContextId id, const RankMap& remote) {
  const comm::Hierarchy far = comm::build_hierarchy(remote);
  const uint8_t side = comm::side_of(shared->map, remote);
  const uint32_t processes = comm::hierarchy(shared).count() + far.count();
  SharedComm* made = comm::make_shared(
      {id, &shared->map, &remote, shared->members, processes, side, meeting->call});
  made->hierarchy = shared->hierarchy;
  comm::enter_all(meeting, made, 0);
}

/// The making of a connection, in one process of a side.
class Connecting {
 public:
  Connecting(SharedComm* shared, Meeting* meeting, const ConnectArguments& arguments,
             uint32_t root_index)
      : shared_(shared), meeting_(meeting), arguments_(arguments), root_index_(root_index) {}
  Status run();

 private:
  bool at_root() const { return comm::hierarchy(shared_).my_index == root_index_; }
  int32_t tag(comm::CreateStep step) const {
    return comm::tag_of(*shared_, meeting_->sequence, step);
  }
  Status gather(comm::CreateStep step, const std::vector<uint8_t>& mine,
                std::vector<std::vector<uint8_t>>* all);
  Status gather_cards();
  Status open_conversation();
  Status meet_other_side(std::vector<uint8_t>* offer);
  Status exchange_maps(const std::vector<uint8_t>& mine, std::vector<uint8_t>* theirs);
  Status adopt_offer(const std::vector<uint8_t>& offer);
  Status agree_on_status(const Status& here, Status* agreed);
  void end_failed_spawn();

  SharedComm* shared_;
  Meeting* meeting_;
  const ConnectArguments& arguments_;
  uint32_t root_index_;
  std::unique_ptr<Conversation> conversation_;
  RankMap remote_;
  comm::ContextId id_;
  std::vector<int> codes_;  ///< kSpawn, at the root
  pid_t launcher_ = -1;
};

/// Gathers each process's bytes at the root's process; *all is empty elsewhere.
Status Connecting::gather(comm::CreateStep step, const std::vector<uint8_t>& mine,
                          std::vector<std::vector<uint8_t>>* all) {
  const comm::Hierarchy& h = comm::hierarchy(shared_);
  const uint64_t ctx = shared_->id.plane(comm::kPlaneInternal);
  if (!at_root())
    return pt2pt::process_send(h.processes[root_index_], ctx, tag(step), mine.data(), mine.size(),
                               meeting_->call);
  all->resize(h.count());
  for (uint32_t i = 0; i < h.count(); ++i) {
    if (i == h.my_index)
      (*all)[i] = mine;
    else
      FGMPI_TRY(pt2pt::process_recv(h.processes[i], ctx, tag(step), &(*all)[i], meeting_->call));
  }
  return {};
}

/// Gathers the cards of all processes at the root's process, or the first error.
Status Connecting::gather_cards() {
  Status here = links().listen();
  if (here.ok() && g_av.processes() > pt2pt::kMostProcessesToConnect)
    here = error(MPI_ERR_OTHER, "a job of %u processes cannot be connected; allowed are %u",
                 g_av.processes(), pt2pt::kMostProcessesToConnect);
  std::vector<uint8_t> mine = encode(here);
  if (here.ok()) append_text(&mine, links().own_card());
  std::vector<std::vector<uint8_t>> all;
  FGMPI_TRY(gather(comm::kStepGather, mine, &all));
  const comm::Hierarchy& h = comm::hierarchy(shared_);
  Status status;
  for (uint32_t i = 0; i < all.size(); ++i) {
    FieldReader in(all[i].data(), all[i].size());
    Status one = decode_status(&in);
    if (status.ok()) status = std::move(one);
    // In a communicator over several jobs, the cards of other jobs are known already.
    if (status.ok() && h.processes[i] < g_av.processes())
      g_process_groups.set_card(0, h.processes[i], in.get_text());
  }
  return status;
}

Status Connecting::open_conversation() {
  switch (arguments_.way) {
    case ConnectionWay::kAccept:
      return accept(arguments_.port, meeting_->call, &conversation_);
    case ConnectionWay::kConnect:
      return call_port(arguments_.port, &conversation_);
    case ConnectionWay::kJoin:
      conversation_ = std::make_unique<Conversation>();
      conversation_->adopt(arguments_.fd, false);
      return {};
    case ConnectionWay::kSpawn:
      return spawn(*arguments_.commands, meeting_->call, &conversation_, &codes_, &launcher_);
  }
  return {};
}

Status Connecting::exchange_maps(const std::vector<uint8_t>& mine, std::vector<uint8_t>* theirs) {
  int64_t seconds = 0;
  FGMPI_TRY(connect_timeout(&seconds));
  for (;;) {
    FGMPI_TRY(open_conversation());
    conversation_->send_message(mine);
    const int64_t within =
        arguments_.way == ConnectionWay::kConnect ? seconds * kSecond : kAnswerWithin;
    Status received =
        conversation_->receive_message(theirs, add_time(now_ns(), within), meeting_->call);
    if (!received.ok() && arguments_.way == ConnectionWay::kSpawn)
      return Status(MPI_ERR_SPAWN, received.what());
    // A caller that has gone meanwhile is no reason to stop accepting.
    if (received.ok() || arguments_.way != ConnectionWay::kAccept) return received;
    conversation_.reset();
  }
}

Status rank_ended(uint32_t rank) {
  const std::string who = rank == ~0u ? "a rank" : format("rank %u", rank);
  return error(MPI_ERR_SPAWN, "%s of the new job has ended before it called MPI_Init", who.c_str());
}

/// Meets the other side, in the root's process. *offer is what all its processes need: u8 ok | u64
/// id | text own map | text the other side's map.
Status Connecting::meet_other_side(std::vector<uint8_t>* offer) {
  std::vector<uint8_t> own_map, mine, theirs;
  shared_->map.serialize(&own_map, true);
  append(&mine, comm::draw_candidate().id().bits);
  mine.insert(mine.end(), own_map.begin(), own_map.end());
  FGMPI_TRY(exchange_maps(mine, &theirs));
  FieldReader in(theirs.data(), theirs.size());
  const auto their_id = in.get<uint64_t>();
  FieldReader ours(mine.data(), mine.size());
  const auto our_id = ours.get<uint64_t>();
  if (arguments_.way == ConnectionWay::kSpawn && their_id == 0)
    return rank_ended(in.get<uint32_t>());
  if (in.failed() || !comm::ContextId{their_id}.is_drawn())
    return error(MPI_ERR_PORT, "the other side says what is no group of ranks");
  *offer = encode({});
  append(offer, std::min(our_id, their_id));
  append_text(offer, {reinterpret_cast<const char*>(own_map.data()), own_map.size()});
  append_text(offer, {reinterpret_cast<const char*>(in.rest()), in.left()});
  return {};
}

Status Connecting::adopt_offer(const std::vector<uint8_t>& offer) {
  FieldReader in(offer.data(), offer.size());
  FGMPI_TRY(decode_status(&in));
  id_.bits = in.get<uint64_t>();
  for (RankMap* map : {static_cast<RankMap*>(nullptr), &remote_}) {
    const std::string_view text = in.get_text();
    RankMap own;
    size_t used;
    FGMPI_TRY(RankMap::deserialize({reinterpret_cast<const uint8_t*>(text.data()), text.size()},
                                   &used, map ? map : &own));
  }
  if (in.failed() || remote_.size() == 0)
    return error(MPI_ERR_PORT, "the other side says what is no group of ranks");
  if (const int common = comm::intersect(shared_->map, remote_).size())
    return error(MPI_ERR_COMM,
                 "the two sides have %d ranks in common; allowed are sides that have none", common);
  const uint8_t side = comm::side_of(shared_->map, remote_);
  if (comm::find_shared(id_, side))
    return error(MPI_ERR_OTHER, "a context id was drawn that is in use; try again");
  return {};
}

/// Ends a job that was spawned, after a failure, so that none of its ranks goes on.
void Connecting::end_failed_spawn() {
  if (launcher_ < 0) return;
  end_spawned(launcher_);
  std::fill(codes_.begin(), codes_.end(), MPI_ERR_SPAWN);
}

/// Agrees on the outcome of all processes of both sides: ok only if it is ok everywhere.
Status Connecting::agree_on_status(const Status& here, Status* agreed) {
  std::vector<std::vector<uint8_t>> all;
  FGMPI_TRY(gather(comm::kStepAnswer, encode(here), &all));
  std::vector<uint8_t> verdict;
  if (at_root()) {
    Status status;
    for (const auto& bytes : all) {
      FieldReader in(bytes.data(), bytes.size());
      Status one = decode_status(&in);
      if (status.ok()) status = std::move(one);
    }
    if (conversation_) {
      std::vector<uint8_t> theirs;
      conversation_->send_message(encode(status));
      Status received = conversation_->receive_message(&theirs, add_time(now_ns(), kAnswerWithin),
                                                       meeting_->call);
      FieldReader in(theirs.data(), theirs.size());
      if (received.ok()) received = decode_status(&in);
      if (status.ok()) status = std::move(received);
      conversation_->finish_sending(add_time(now_ns(), kAnswerWithin), meeting_->call);
      conversation_.reset();
    }
    if (!status.ok()) end_failed_spawn();
    verdict = encode(status);
    for (int code : codes_) append(&verdict, code);
  }
  FGMPI_TRY(comm::send_to_processes(shared_, root_index_, tag(comm::kStepExchange), &verdict,
                                    meeting_->call));
  FieldReader in(verdict.data(), verdict.size());
  *agreed = decode_status(&in);
  std::vector<int> codes;
  while (in.left()) codes.push_back(in.get<int>());
  for (const comm::Arrival* a = meeting_->arrivals; a; a = a->next)
    if (auto* wanted = static_cast<const ConnectArrival*>(a)->arguments->codes) *wanted = codes;
  return {};
}

Status Connecting::run() {
  Status status = gather_cards();
  std::vector<uint8_t> offer;
  if (at_root()) {
    if (status.ok()) status = meet_other_side(&offer);
    if (!status.ok()) {
      conversation_.reset();  // no process is waited for any more
      end_failed_spawn();
      offer = encode(status);
    }
  } else {
    FGMPI_TRY(std::move(status));
  }
  FGMPI_TRY(comm::send_to_processes(shared_, root_index_, tag(comm::kStepSpread), &offer,
                                    meeting_->call));
  Status here, agreed;
  sched::call_on_host([&] { here = adopt_offer(offer); });
  const StoredGroups kept(remote_);
  FGMPI_TRY(agree_on_status(here, &agreed));
  if (!agreed.ok()) return agreed;
  establish(shared_, meeting_, id_, remote_);
  links().open_to(remote_);
  return {};
}

/// Connects two sides in an explored process.
Status connect_inside(SharedComm* shared, Meeting* meeting, const ConnectArguments& arguments) {
  if (arguments.way != ConnectionWay::kAccept && arguments.way != ConnectionWay::kConnect) {
    inside::record_undecided();
    return error(MPI_ERR_OTHER,
                 "other processes have no part in an exploration; allowed are connections by "
                 "ports, and spawned ranks, in the explored process");
  }
  const comm::ContextId own = comm::draw_candidate().id();
  inside::Met met;
  FGMPI_TRY(inside::meet(arguments.port, arguments.way == ConnectionWay::kAccept, shared->map, own,
                         arguments.call, &met));
  const StoredGroups kept(met.remote);
  establish(shared, meeting, met.id, met.remote);
  for (const comm::Arrival* a = meeting->arrivals; a; a = a->next) {
    auto* member = static_cast<ConnectArrival*>(const_cast<comm::Arrival*>(a));
    member->sides[0] = own;
    member->sides[1] = met.theirs;
  }
  return {};
}

void connect_action(SharedComm* shared, Meeting* meeting) {
  auto* first = static_cast<ConnectArrival*>(meeting->arrivals);
  const comm::Hierarchy& h = comm::hierarchy(shared);
  const uint32_t root_index = h.index_of_rank(shared->map, first->root);
  const comm::Arrival* a = first;
  if (root_index == h.my_index)
    while (a->rank != first->root) a = a->next;
  const ConnectArguments& arguments = *static_cast<const ConnectArrival*>(a)->arguments;
  Status status;
  bool done = false;
  if (arguments.way == ConnectionWay::kSpawn) {
    SharedComm* made = nullptr;
    std::vector<int> codes;
    status = spawn_proclets(shared, meeting, root_index, arguments.commands, &done, &made, &codes);
    done |= !status.ok();
    for (const comm::Arrival* b = first; b && done; b = b->next)
      *static_cast<const ConnectArrival*>(b)->arguments->codes = codes;
    if (made) comm::enter_all(meeting, made, 0);
  }
  if (!done)
    status = inside::is_on() ? connect_inside(shared, meeting, arguments)
                             : Connecting(shared, meeting, arguments, root_index).run();
  if (!status.ok()) comm::fail_all(meeting, status);
}

}  // namespace

Status connect_timeout(int64_t* seconds) {
  *seconds = 180;
  const char* text = environment::text(environment::kConnectTimeout);
  if (!text) return {};
  auto number = parse_int(text);
  if (!number || *number < 1 || *number > 1'000'000'000)
    return error(MPI_ERR_OTHER, "%s is \"%s\"; allowed is a number of seconds from 1 on",
                 environment::name(environment::kConnectTimeout), text);
  *seconds = *number;
  return {};
}

Status connect(comm::Comm* comm, int root, const ConnectArguments& arguments, comm::Comm** out) {
  ConnectArrival mine;
  mine.arguments = &arguments;
  mine.root = root;
  Status status = comm::meet(comm, &mine, comm::kOpConnect, arguments.call, connect_action);
  *out = mine.out;
  if (arguments.way != ConnectionWay::kSpawn)
    for (const comm::ContextId side : mine.sides) inside::record_order_target(side);
  return status;
}

void set_own_job_uid(const std::string& published) {
  GroupUid uid;
  if (published.empty())
    transport::random_bytes(&uid, sizeof uid);
  else
    uid = {hash_text(published, 1), hash_text(published, 2)};
  g_process_groups.set_own(uid);
}

void finish() { links().close(); }

}  // namespace fgmpi::dynamic
