// Which teams have a board, its set-up by messages, and waits.

#include "coll/board_use.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "base/environment.h"
#include "base/strings.h"
#include "ch4-av-rankmap/hosts.h"
#include "coll/algorithms.h"
#include "coll/early_exit_decider.h"
#include "coll/selector.h"
#include "comm/hardware.h"
#include "comm/meeting_decider.h"
#include "pt2pt/message_decider.h"
#include "pt2pt/short_spin.h"
#include "transport/memory_object.h"

namespace fgmpi::coll {
namespace {

/// The collective at which a board is set up: each kSetUpEvery-th of a communicator's.
constexpr int32_t kSetUpEvery = 16;
/// Two processes are faster by messages: each of them sends at the same time as the other.
constexpr uint32_t kLeastProcesses = 3;
/// So are up to this many where they share fewer processors: on a board each waits for the next
/// turn of another one (docs/measurements.md).
constexpr uint32_t kMostCrowded = 5;

/// What a communicator keeps while it has no board and will never have one.
struct NoBoard final : comm::CollectiveExtras {};

uint32_t g_boards = 0;  ///< how many boards there are in this process

/// A board, which is counted while it exists.
struct CountedBoard {
  CountedBoard(std::unique_ptr<transport::MemoryObject> object, std::span<const BoardPlace> places,
               uint32_t me)
      : memory(std::move(object)), board(memory->base(), places, me) {
    ++g_boards;
  }
  CountedBoard(const CountedBoard&) = delete;
  CountedBoard& operator=(const CountedBoard&) = delete;
  ~CountedBoard() { --g_boards; }
  std::unique_ptr<transport::MemoryObject> memory;
  Board board;
};

/// What a communicator keeps that has a board. A collective under way holds the board, too, as the
/// communicator may lose it meanwhile.
struct KeptBoard final : comm::CollectiveExtras {
  explicit KeptBoard(std::shared_ptr<CountedBoard> kept) : counted(std::move(kept)) {}
  std::shared_ptr<CountedBoard> counted;
};

/// The board that a communicator keeps, or nullptr.
std::shared_ptr<Board> board_in(const std::unique_ptr<comm::CollectiveExtras>& extras) {
  const auto* kept = dynamic_cast<const KeptBoard*>(extras.get());
  return kept ? std::shared_ptr<Board>(kept->counted, &kept->counted->board) : nullptr;
}

/// Number of the blocking collective, or -1 for another one.
int32_t blocking_number(const Team& team) {
  const int32_t number = team.open().tag >> kNumberBit;
  return number & 1 ? -1 : number / static_cast<int32_t>(comm::kNextOfKind);
}

bool reaches_by_shared_memory(const Team& team) {
  if (!pt2pt::g_engine.transports.first_shares_memory()) return false;
  for (uint32_t process : team.processes())
    if (process != g_av.me() && g_av.transport_bit(process) != 0) return false;
  return true;
}

/// Where this process runs, if it is bound to some processors. The machine is not examined else.
BoardPlace own_place() {
  cpu_set_t allowed;
  BoardPlace place;
  if (sched_getaffinity(0, sizeof allowed, &allowed) ||
      CPU_COUNT(&allowed) >= sysconf(_SC_NPROCESSORS_ONLN))
    return place;
  place.numa = static_cast<int32_t>(std::max<int64_t>(comm::resource_instance("NUMANode"), -1));
  place.cache = static_cast<int32_t>(std::max<int64_t>(comm::resource_instance("L3Cache"), -1));
  return place;
}

/// What each process contributes to the set-up.
struct BoardOffer {
  transport::MemoryObjectName object;  ///< the first process's: the memory
  BoardPlace place;
  uint64_t able = 0;
};

/// Gathers what each process gives, `bytes` each, at all of them. This is no collective of the
/// program, and is not counted as one.
Status gather_all(const Team& team, void* all, size_t bytes) {
  ProcessBlocks blocks;
  for (uint32_t p = 0; p <= team.count(); ++p) blocks.offset.push_back(p * bytes);
  return allgather_bruck(team, static_cast<char*>(all), blocks);
}

/// Do few processes share fewer processors than they are, though no setting names a board?
bool is_crowded(uint32_t processes) {
  return processes <= kMostCrowded && processes > sysconf(_SC_NPROCESSORS_ONLN) &&
         !settings::is_set(settings::kCollBarrier) && !settings::is_set(settings::kCollBcast) &&
         !settings::is_set(settings::kCollAllreduce);
}

Status set_up(const Team& team, std::unique_ptr<comm::CollectiveExtras>* out) {
  std::vector<BoardOffer> offers(team.count());
  BoardOffer& mine = offers[team.me()];
  auto memory = std::make_unique<transport::MemoryObject>();
  const size_t bytes = Board::bytes(team.count());
  mine.able = g_boards < kMostBoards && !is_crowded(team.count()) &&
              (team.me() > 0 || (memory->make(bytes, true, true).ok() && memory->name().fd >= 0));
  mine.place = own_place();
  if (team.me() == 0) mine.object = memory->name();
  FGMPI_TRY(gather_all(team, offers.data(), sizeof(BoardOffer)));
  std::vector<uint8_t> able(team.count());
  able[team.me()] = std::all_of(offers.begin(), offers.end(),
                                [](const BoardOffer& offer) { return offer.able == 1; }) &&
                    offers[0].object.bytes == bytes &&
                    (team.me() == 0 || memory->open(offers[0].object).ok());
  FGMPI_TRY(gather_all(team, able.data(), 1));
  memory->close_name();
  if (std::count(able.begin(), able.end(), 1) != team.count()) {
    *out = std::make_unique<NoBoard>();
    return {};
  }
  std::vector<BoardPlace> places;
  for (const BoardOffer& offer : offers) places.push_back(offer.place);
  *out = std::make_unique<KeptBoard>(
      std::make_shared<CountedBoard>(std::move(memory), places, team.me()));
  return {};
}

/// What the deadlock report says of a process that waits for others.
struct BoardSite : sched::WaitSite {
  BoardSite(const Team& team, const Board& the_board)
      : WaitSite{team.call(), words, true}, number(blocking_number(team)), board(&the_board) {}
  static void words(const WaitSite* site, std::string* out) {
    const auto* self = static_cast<const BoardSite*>(site);
    *out += format(
        "collective number %d: all members of this process are there, of its group of "
        "%u processes %u are",
        self->number, self->board->mates(), self->board->arrived());
  }
  int32_t number;
  const Board* board;
};

/// A wait of a parked proclet for the board.
class BoardWait final : public transport::SharedWait {
 public:
  BoardWait(BoardRun* run, bool (*is_here)(Board*), bool wakes_mates)
      : run_(run), is_here_(is_here), wakes_mates_(wakes_mates) {}
  bool is_over() const override {
    return is_here_(&run_->board()) || run_->team().open().failed() ||
           run_->board().is_declined(run_->operation());
  }
  void end() override {
    if (wakes_mates_ && is_here_(&run_->board())) run_->board().wake_mates(*run_);
    sched::ready(proclet);
  }
  sched::Proclet* proclet = nullptr;

 private:
  BoardRun* run_;
  bool (*is_here_)(Board*);
  bool wakes_mates_;
};

}  // namespace

bool may_use_board(const Team& team, bool named) {
  const comm::SharedComm* shared = team.open().shared;
  if ((team.count() < kLeastProcesses && !named) || !shared || !shared->meetings || shared->inter ||
      shared->tree || shared->id.is_drawn() || blocking_number(team) < 0)
    return false;
  if (shared->meetings->extras) return true;
  static const bool survives = environment::text(environment::kFt) != nullptr;
  return !survives && !comm::g_meeting_decider && !g_early_exit_decider &&
         !pt2pt::g_message_decider && reaches_by_shared_memory(team);
}

Status board_of(const Team& team, bool at_once, std::shared_ptr<Board>* board) {
  std::unique_ptr<comm::CollectiveExtras>& extras = team.open().shared->meetings->extras;
  if (__builtin_expect(!extras, 0)) {
    if (!at_once && blocking_number(team) % kSetUpEvery != kSetUpEvery - 1) return {};
    std::unique_ptr<comm::CollectiveExtras> made;
    FGMPI_TRY(set_up(team, &made));
    // The communicator may have been broken meanwhile, and its meetings dropped.
    if (const auto& meetings = team.open().shared->meetings)
      meetings->extras = std::move(made);
    else
      return team.open().failed() ? team.open().failure() : Status();
  }
  *board = board_in(team.open().shared->meetings->extras);
  if (*board && (*board)->is_closed()) board->reset();
  return {};
}

void close_board(const comm::SharedComm* shared) {
  if (!shared || !shared->meetings) return;
  const std::shared_ptr<Board> board = board_in(shared->meetings->extras);
  if (!board || board->is_closed()) return;
  board->close();
  const comm::Hierarchy& h = *shared->hierarchy;
  for (uint32_t i = 0; i < h.count(); ++i)
    if (const uint32_t process = h.processes[i]; process != g_av.me())
      if (transport::FrameCarrier* carrier = pt2pt::g_engine.transports.to(process))
        carrier->shared_waits()->wake(g_av.address(process));
}

bool BoardRun::sleeps(uint32_t team_rank) const {
  const uint32_t process = team_.process(team_rank);
  transport::FrameCarrier* const carrier = pt2pt::g_engine.transports.to(process);
  return carrier && carrier->shared_waits()->sleeps(g_av.address(process));
}

void BoardRun::wake(uint32_t team_rank) const {
  const uint32_t process = team_.process(team_rank);
  if (transport::FrameCarrier* const carrier = pt2pt::g_engine.transports.to(process))
    carrier->shared_waits()->wake(g_av.address(process));
}

void BoardRun::decline() {
  declined_ = true;
  board_->close();
  for (uint32_t p = 0; p < team_.count(); ++p)
    if (p != team_.me()) wake(p);
}

Status BoardRun::wait(bool (*is_here)(Board*), bool wakes_mates) {
  BoardWait wait(this, is_here, wakes_mates);
  for (pt2pt::ShortSpin spin; !wait.is_over() && spin.may_continue();) pt2pt::progress();
  if (!wait.is_over()) {
    BoardSite site(team_, *board_);
    board_->forgo_wake();
    wait.proclet = sched::current();
    pt2pt::g_engine.transports.with_bit(0)->shared_waits()->add(&wait);
    sched::park(&site);
  }
  if (__builtin_expect(is_here(board_.get()), 1)) return {};
  if (team_.open().failed()) return team_.open().failure();
  declined_ = true;
  return {};
}

}  // namespace fgmpi::coll
