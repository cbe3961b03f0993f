// Collective operations: two-phase access with processes as the actors (Thakur, Gropp, Lusk: "Data
// Sieving and Collective I/O in ROMIO", 1999), where a process stands for all its ranks.
//
//   members' walks -> pieces in file order, touching ones joined, equal ones read once
//     ranges of processes do not interleave:  each process moves its own, in windows
//       (reads of a few bytes even before the processes have told each other)
//     they do:  rounds of (aggregators x cb_buffer_size) bytes of the file; in each, every process
//               tells each aggregator its ranges as rules and sends or gets their data, and the
//               aggregator moves its window whole
//
// Members of one process never copy to each other: their pieces form one list for the system calls.

#include <algorithm>
#include <cstring>
#include <limits>

#include "file/access.h"
#include "file/processes.h"
#include "file/ranges.h"
#include "file/request.h"
#include "proclet-sched/coroutine/packing.h"

namespace fgmpi::file {
namespace {

constexpr uint8_t kOpAccess = comm::kFirstOther + 60;  ///< behind those of src/comm and src/rma
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
/// ROMIO's cb_buffer_size.
constexpr int64_t kBufferBytes = 16 << 20;
/// Bytes that a process moves at once of its own ranges.
constexpr int64_t kOwnWindow = int64_t{64} << 20;
/// Reads of up to so many bytes cost less time than sending the ranges to the other processes.
constexpr int64_t kEarly = 1 << 20;

struct FileArrival : comm::Arrival {
  File* file = nullptr;
  FileOperation what;
  pt2pt::Buffer buffer;
  ViewPtr view;
  int64_t offset = 0, bytes = 0, etypes = 0;
  int64_t moved = 0;  ///< bytes of the file
  Walk walk;
  /// The rank whose functions convert: those of a nonblocking read run at its end, on a helper.
  sched::Proclet* owner = nullptr;
  Status converted;
};

class CollectiveRequest final : public FileRequest {
 public:
  using FileRequest::FileRequest;
  FileArrival member;
};

/// What each process announces before any byte moves.
struct AnnouncedRange {
  int64_t low = kNever, high = 0;
  int64_t ascends = 1;  ///< 0: a view overlaps itself
  int64_t done = 0;     ///< 1: read already
};

class CollectiveAccess {
 public:
  CollectiveAccess(comm::SharedComm* comm, comm::Meeting* meeting)
      : processes_(comm, meeting), call_(meeting->call) {
    for (comm::Arrival* a = meeting->arrivals; a; a = a->next)
      members_.push_back(static_cast<FileArrival*>(a));
    std::sort(members_.begin(), members_.end(),
              [](const FileArrival* a, const FileArrival* b) { return a->rank < b->rank; });
    shared_ = members_[0]->file->shared;
    write_ = members_[0]->what.kind & kWrite;
  }

  /// Runs the operation. May switch.
  void run() {
    Status status = begin();
    if (status.ok() && !all_is_done()) {
      status = move_all();
      status = processes_.agree(std::move(status));
    }
    const bool moved = status.ok() || ended_at_ != kNever;
    for (FileArrival* m : members_) m->moved = moved ? m->walk.bytes_before(ended_at_) : 0;
    finish_nonblocking();
    for (FileArrival* m : members_) {
      m->status = comm::copy_status(m->what.bad.ok() ? status : m->what.bad);
      if (m->status.ok()) m->status = std::move(m->converted);
      if (!m->request) continue;
      m->request->outcome.bytes = static_cast<uint64_t>(m->bytes);
      File* file = std::exchange(static_cast<FileRequest*>(m->request)->file, nullptr);
      if (--file->pending == 0 && file->parked) sched::ready(std::exchange(file->parked, nullptr));
    }
  }

 private:
  /// Converts what members have read that do not wait in their calls (run_collective() converts for
  /// those that wait). A helper of the member runs functions of the program. May switch.
  void finish_nonblocking() {
    for (FileArrival* m : members_) {
      if (!m->request) continue;
      if (!m->walk.finish_calls_program()) {
        m->converted = m->walk.finish(m->moved, &m->bytes);
        continue;
      }
      Finishing finishing{m};
      sched::spawn_helper(m->owner, finish_as_owner, &finishing);
      if (finishing.over) continue;
      finishing.waits = sched::current();
      const sched::WaitSite site{call_, nullptr, false};
      sched::park(&site);
    }
  }
  struct Finishing {
    FileArrival* member;
    bool over = false;
    sched::Proclet* waits = nullptr;
  };
  static void finish_as_owner(void* argument) {
    auto* f = static_cast<Finishing*>(argument);
    f->member->converted = f->member->walk.finish(f->member->moved, &f->member->bytes);
    f->over = true;
    if (f->waits) sched::ready(f->waits);
  }

  /// Finds the positions of all members, agrees on errors found before, and exchanges the ranges.
  Status begin() {
    Status mine;
    for (FileArrival* m : members_)
      if (mine.ok() && !m->what.bad.ok()) mine = comm::copy_status(m->what.bad);
    if (members_[0]->what.kind & kSharedPointer) {
      Status placed = place_ordered(&mine);
      if (!placed.ok()) return placed;
    }
    AnnouncedRange range;
    for (FileArrival* m : members_) {
      if (!mine.ok()) break;
      mine = begin_walk(m);
      if (!mine.ok()) break;
      if (m->walk.total() == 0) continue;
      range.ascends &= m->walk.ascends();
      range.low = std::min(range.low, m->walk.low());
      range.high = std::max(range.high, m->walk.high());
    }
    if (mine.ok()) mine = read_early(&range);
    Bytes bytes;
    std::vector<Bytes> all;
    append(&bytes, range);
    write_status(mine, &bytes);
    FGMPI_TRY(processes_.gather_all(bytes, &all));
    for (const Bytes& one : all) {
      FieldReader in(one.data(), one.size());
      ranges_.push_back(in.get<AnnouncedRange>());
      Status theirs = read_status(&in);
      if (mine.ok() && !theirs.ok()) mine = std::move(theirs);
    }
    return mine;
  }

  Status begin_walk(FileArrival* m) {
    int64_t position;
    if (__builtin_mul_overflow(m->offset, m->view->etype_size, &position))
      return error(MPI_ERR_ARG, "offset is %lld etypes, beyond the largest offset of a file",
                   static_cast<long long>(m->offset));
    return m->walk.begin(position);
  }

  /// Reads a few bytes in a row before the other processes have announced their ranges, which
  /// seldom reach into these bytes. The outcome travels with the range, so no process waits twice.
  /// Where other ranges do reach into them, the bytes are read again together with those. May
  /// switch.
  Status read_early(AnnouncedRange* range) {
    if (write_ || processes_.count() == 1 || shared_->atomic || shared_->sequential() ||
        !range->ascends || shared_->is("romio_cb_read", "enable"))
      return {};
    int64_t bytes = 0;
    for (const FileArrival* m : members_) bytes += m->walk.total();
    if (bytes > 0 && (bytes != range->high - range->low || bytes > kEarly)) return {};
    range->done = 1;
    if (bytes == 0) return {};
    Pin pin;
    FGMPI_TRY(pin.reserve(&shared_->descriptor));
    fd_ = pin.fd();
    return own(*range);
  }
  bool all_is_done() const {
    for (const AnnouncedRange& r : ranges_)
      if (!r.done) return false;
    return !needs_exchange();
  }

  /// Ordered operations: ranks access in order from the shared pointer on. The members' lengths go
  /// to the first process, and the positions come back. A member without a valid buffer has length
  /// 0.
  Status place_ordered(Status* mine) {
    struct Amount {
      int32_t rank;
      int32_t unused;
      int64_t etypes;
    };
    Bytes bytes;
    std::vector<Bytes> all;
    for (const FileArrival* m : members_)
      append(&bytes, Amount{m->rank, 0, m->what.bad.ok() ? m->etypes : 0});
    FGMPI_TRY(processes_.gather_all(bytes, &all));
    std::vector<Amount> amounts;
    for (const Bytes& one : all)
      for (FieldReader in(one.data(), one.size()); in.left() > 0;)
        amounts.push_back(in.get<Amount>());
    std::sort(amounts.begin(), amounts.end(),
              [](const Amount& a, const Amount& b) { return a.rank < b.rank; });
    int64_t sum = 0, before = 0;
    for (const Amount& a : amounts) sum += a.etypes;
    // The process that holds the pointer moves it for all.
    Bytes pointer;
    if (g_av.me() == shared_->leader) {
      *mine = mine->ok() ? fetch_shared(shared_, sum, &before, call_) : std::move(*mine);
      append(&pointer, before);
    }
    FGMPI_TRY(processes_.gather_all(pointer, &all));
    for (const Bytes& one : all) {
      if (one.empty()) continue;
      FieldReader in(one.data(), one.size());
      before = in.get<int64_t>();
    }
    size_t next = 0;
    for (const Amount& a : amounts) {
      if (next < members_.size() && members_[next]->rank == a.rank) {
        report_offset_to_tool(members_[next]->file, write_, before);
        members_[next++]->offset = before;
      }
      before += a.etypes;
    }
    return {};
  }

  Status move_all() {
    Pin pin;
    const bool exchanges = !shared_->atomic && ranges_[processes_.me()].ascends && needs_exchange();
    if (ranges_[processes_.me()].done) {
      if (!exchanges) return {};
      ended_at_ = kNever;
      for (FileArrival* m : members_) FGMPI_TRY(begin_walk(m));
    }
    // A process that only sends or receives needs no descriptor. An aggregator without a descriptor
    // still exchanges messages, because others wait for it.
    if (!exchanges || aggregates()) not_opened_ = pin.reserve(&shared_->descriptor);
    fd_ = pin.fd();
    if (exchanges) return exchange();
    if (!not_opened_.ok()) return std::move(not_opened_);
    if (shared_->atomic || !ranges_[processes_.me()].ascends) return one_by_one();
    return own(ranges_[processes_.me()]);
  }
  bool aggregates() const {
    const std::vector<uint32_t>& list = shared_->aggregators;
    return std::find(list.begin(), list.end(), processes_.me()) != list.end();
  }

  /// Atomic mode: members that write to the same bytes write one after the other. The same holds
  /// for views that overlap themselves, because no window of the file holds all neighbours of a
  /// position.
  Status one_by_one() {
    const bool others = processes_.count() > 1;
    for (FileArrival* m : members_) {
      if (m->walk.total() == 0) continue;
      AtomicTurn turn;
      if (shared_->atomic)
        FGMPI_TRY(
            turn.wait_for_turn(shared_, fd_, m->walk.low(), m->walk.high(), write_, others, call_));
      while (!m->walk.at_end()) {
        std::vector<FilePiece> pieces;
        m->walk.next_pieces(kNever, 4096, kOwnWindow, &pieces);
        int64_t end = kNever;
        Status status = write_ && !m->walk.ascends() ? write_in_order(pieces, &end)
                                                     : move_pieces(std::move(pieces), &end);
        ended_at_ = std::min(ended_at_, end);
        FGMPI_TRY(std::move(status));
        if (end != kNever) break;
      }
    }
    return {};
  }

  /// Writes pieces that may overlap: the last one's bytes stay.
  Status write_in_order(const std::vector<FilePiece>& all, int64_t* end) {
    for (size_t first = 0, last; first < all.size() && *end == kNever; first = last) {
      last = end_of_ascending_run(all, first);
      FGMPI_TRY(move_pieces({&all[first], &all[last - 1] + 1}, end));
    }
    return {};
  }

  /// True where ranges of processes interleave, or the hints ask for the exchange.
  bool needs_exchange() const {
    const char* key = write_ ? "romio_cb_write" : "romio_cb_read";
    if (processes_.count() == 1 || shared_->is(key, "disable") || shared_->sequential())
      return false;
    for (const AnnouncedRange& r : ranges_)
      if (!r.ascends) return false;
    if (shared_->is(key, "enable")) return true;
    std::vector<AnnouncedRange> sorted;
    for (const AnnouncedRange& r : ranges_)
      if (r.high > r.low) sorted.push_back(r);
    std::sort(sorted.begin(), sorted.end(),
              [](const AnnouncedRange& a, const AnnouncedRange& b) { return a.low < b.low; });
    for (size_t i = 1; i < sorted.size(); ++i)
      if (sorted[i].low < sorted[i - 1].high) return true;
    return false;
  }

  /// Pieces of all members below an offset, ascending.
  std::vector<FilePiece> pieces_below(int64_t limit) {
    std::vector<FilePiece> pieces;
    for (FileArrival* m : members_)
      m->walk.next_pieces(limit, std::numeric_limits<size_t>::max(), kNever, &pieces);
    sort(&pieces);
    return pieces;
  }
  static void sort(std::vector<FilePiece>* pieces) {
    auto before = [](const FilePiece& a, const FilePiece& b) { return a.offset < b.offset; };
    if (!std::is_sorted(pieces->begin(), pieces->end(), before))
      std::stable_sort(pieces->begin(), pieces->end(), before);
  }

  /// Moves pieces, which may overlap. *end: the file's offset where it ended early.
  Status move_pieces(std::vector<FilePiece> pieces, int64_t* end) {
    std::vector<FilePiece> copies;
    Transfer transfer;
    transfer.pieces = std::move(pieces);
    sort(&transfer.pieces);
    split_overlaps(&transfer.pieces, &copies);
    transfer.fd = fd_;
    transfer.write = write_;
    transfer.stream = shared_->streams();
    transfer.sieve = shared_->sieve(write_);
    AtomicTurn turn;
    if (write_) transfer.sieve = 0;
    if (write_ && !shared_->atomic && !transfer.pieces.empty()) {
      const FilePiece& last = transfer.pieces.back();
      transfer.sieve = turn.wait_to_sieve(shared_, fd_, transfer.pieces[0].offset,
                                          last.offset + last.bytes, call_);
    }
    const int64_t wanted = transfer.bytes();
    file::run(&transfer, call_);
    if (transfer.done < wanted) *end = std::min(*end, offset_at(transfer.pieces, transfer.done));
    if (!write_) copy_overlaps(transfer.pieces, copies, *end);
    return status_of(transfer, shared_->descriptor.path());
  }

  /// Moves this process's own ranges, window by window.
  Status own(const AnnouncedRange& range) {
    for (int64_t low = range.low; low < range.high && ended_at_ == kNever;) {
      const int64_t limit = std::min(range.high, low + kOwnWindow);
      std::vector<FilePiece> pieces = pieces_below(limit);
      if (!pieces.empty()) FGMPI_TRY(move_pieces(std::move(pieces), &ended_at_));
      low = limit;
      // Skips a hole in which no member has any bytes.
      int64_t next = range.high;
      for (const FileArrival* m : members_)
        if (!m->walk.at_end()) next = std::min(next, m->walk.next_offset());
      low = std::max(low, next);
    }
    return {};
  }

  // ---- The exchange -----------------------------------------------------------------------------
  //
  // Writes: an aggregator writes one round while the next round's data arrive. Reads: processes
  // announce what they want one round ahead, so an aggregator reads while the previous round's data
  // are being sent.

  /// One side of a round with one process.
  struct RoundShare {
    /// The process's own: for an aggregator; an aggregator's: of a process.
    std::vector<FilePiece> pieces;
    Bytes header;
    std::unique_ptr<char[]> data;
    int64_t bytes = 0;
    int64_t end = kNever;
  };
  /// What a process sends and receives in a round, by aggregator.
  struct TransferRound {
    std::vector<RoundShare> out;
    std::vector<FilePiece> copies;  ///< pieces of its members that overlap
    std::vector<pt2pt::Request*> requests;
  };
  /// What an aggregator holds of a round, by process.
  struct Window {
    CollectiveAccess* self;
    std::vector<RoundShare> in;
    std::vector<FilePiece> pieces;  ///< pieces of all processes, its own included, ascending
    std::vector<pt2pt::Request*> requests;
    Status status;
    int64_t end = kNever;
    bool moved = true;
    sched::Proclet* waits = nullptr;
  };

  Status exchange() {
    const auto count = static_cast<int64_t>(shared_->aggregators.size());
    int64_t low = kNever, high = 0;
    for (const AnnouncedRange& r : ranges_) {
      low = std::min(low, r.low);
      high = std::max(high, r.high);
    }
    if (high <= low) return {};
    const int64_t unit = std::max<int64_t>(shared_->number("striping_unit", 4096), 1);
    window_ = std::max<int64_t>(shared_->number("cb_buffer_size", kBufferBytes), 1);
    window_ = std::max(unit, window_ / unit * unit);
    // A narrow range is divided among all aggregators.
    window_ = std::min(window_, ((high - low) / count / unit + 1) * unit);
    const int64_t step = count * window_;
    Status first;
    if (write_)
      write_rounds(low / unit * unit, high, step, &first);
    else
      read_rounds(low / unit * unit, high, step, &first);
    return first;
  }

  void write_rounds(int64_t at, int64_t high, int64_t step, Status* first) {
    std::unique_ptr<Window> behind;  // is being written
    for (; at < high; at += step) {
      std::unique_ptr<TransferRound> round = ask(at, first);
      if (aggregates()) {
        auto window = std::make_unique<Window>();
        collect(round.get(), window.get());
        record_first_error(&window->status, processes_.finish(&window->requests));
        wait_for(behind.get(), first);
        behind = std::move(window);
        start_moving(behind.get(), first->ok());
      }
      record_first_error(first, processes_.finish(&round->requests));
    }
    wait_for(behind.get(), first);
  }

  void read_rounds(int64_t at, int64_t high, int64_t step, Status* first) {
    std::unique_ptr<Window> sent;  // its data are on their way
    std::unique_ptr<TransferRound> next = ask(at, first);
    for (; at < high; at += step) {
      std::unique_ptr<TransferRound> round = std::move(next);
      if (at + step < high) next = ask(at + step, first);
      if (aggregates()) {
        auto window = std::make_unique<Window>();
        window->self = this;
        collect(round.get(), window.get());
        move_window(window.get(), first->ok());
        if (sent) record_first_error(first, processes_.finish(&sent->requests));
        send_back(window.get());
        record_first_error(first, std::move(window->status));
        sent = std::move(window);
      }
      get_back(round.get(), first);
    }
    if (sent) record_first_error(first, processes_.finish(&sent->requests));
  }

  /// Sends the aggregators the ranges of the members here in the windows from `at` on, and for a
  /// write their data.
  std::unique_ptr<TransferRound> ask(int64_t at, Status* status) {
    const std::vector<uint32_t>& aggregators = shared_->aggregators;
    auto round = std::make_unique<TransferRound>();
    round->out.resize(aggregators.size());
    for (size_t a = 0; a < aggregators.size(); ++a) {
      RoundShare& s = round->out[a];
      s.pieces = pieces_below(at + static_cast<int64_t>(a + 1) * window_);
      split_overlaps(&s.pieces, &round->copies);
      if (aggregators[a] == processes_.me()) continue;
      write_ranges(s.pieces, &s.header);
      for (const FilePiece& p : s.pieces) s.bytes += p.bytes;
      record_first_error(status, isend(aggregators[a], Processes::kHeaders, s.header.data(),
                                       s.header.size(), &round->requests));
      if (s.bytes == 0) continue;
      s.data.reset(new char[static_cast<size_t>(s.bytes)]);
      if (!write_) continue;
      pack(s.pieces, s.data.get());
      record_first_error(status, isend(aggregators[a], Processes::kData, s.data.get(),
                                       static_cast<size_t>(s.bytes), &round->requests));
    }
    return round;
  }

  /// Collects what other processes have in this process's window, beside its own pieces. Data to be
  /// written are being sent afterwards.
  void collect(TransferRound* round, Window* window) {
    const std::vector<uint32_t>& aggregators = shared_->aggregators;
    const auto mine = std::find(aggregators.begin(), aggregators.end(), processes_.me());
    window->self = this;
    window->in.resize(processes_.count());
    window->pieces = round->out[static_cast<size_t>(mine - aggregators.begin())].pieces;
    for (uint32_t i = 0; i < processes_.count(); ++i) {
      RoundShare& s = window->in[i];
      if (i == processes_.me()) continue;
      Status got = processes_.recv(i, Processes::kHeaders, &s.header);
      if (got.ok()) got = read_ranges(s.header, &s.pieces, &s.bytes);
      record_first_error(&window->status, std::move(got));
      if (s.bytes == 0) continue;
      s.data.reset(new char[static_cast<size_t>(s.bytes)]);
      char* memory = s.data.get();
      for (FilePiece& p : s.pieces) {
        p.memory = memory;
        memory += p.bytes;
      }
      if (write_)
        record_first_error(&window->status,
                           irecv(i, s.data.get(), static_cast<size_t>(s.bytes), &window->requests));
    }
    for (const RoundShare& s : window->in)
      window->pieces.insert(window->pieces.end(), s.pieces.begin(), s.pieces.end());
  }

  /// `useful`: no earlier round has failed.
  void move_window(Window* window, bool useful) {
    if (!not_opened_.ok()) record_first_error(&window->status, comm::copy_status(not_opened_));
    if (useful && !window->pieces.empty() && window->status.ok())
      record_first_error(&window->status, move_pieces(std::move(window->pieces), &window->end));
    if (!window->status.ok() && window->end == kNever) window->end = 0;
    ended_at_ = std::min(ended_at_, window->end);
  }
  /// As move_window(), on a helper, so that this process continues with the next round.
  void start_moving(Window* window, bool useful) {
    if (!useful || window->pieces.empty() || !sched::ensure_helper().ok())
      return move_window(window, useful);
    window->moved = false;
    sched::spawn_helper(
        sched::current(),
        [](void* w) {
          auto* window = static_cast<Window*>(w);
          try {
            window->self->move_window(window, true);
          } catch (const std::bad_alloc&) {
            window->status = error(MPI_ERR_NO_MEM, "no memory is left for it");
          }
          window->moved = true;
          if (window->waits) sched::ready(window->waits);
        },
        window);
  }
  void wait_for(Window* window, Status* first) {
    if (!window) return;
    if (!window->moved) {
      window->waits = sched::current();
      const sched::WaitSite site{call_, nullptr, false};
      sched::park(&site);
    }
    record_first_error(first, std::move(window->status));
  }

  void send_back(Window* window) {
    for (uint32_t i = 0; i < processes_.count(); ++i) {
      RoundShare& s = window->in[i];
      if (s.bytes == 0) continue;
      s.end = window->end;
      record_first_error(&window->status,
                         isend(i, Processes::kData, &s.end, sizeof s.end, &window->requests));
      record_first_error(&window->status, isend(i, Processes::kData, s.data.get(),
                                                static_cast<size_t>(s.bytes), &window->requests));
    }
  }
  void get_back(TransferRound* round, Status* status) {
    const std::vector<uint32_t>& aggregators = shared_->aggregators;
    for (size_t a = 0; a < aggregators.size(); ++a) {
      RoundShare& s = round->out[a];
      if (aggregators[a] == processes_.me() || s.bytes == 0) continue;
      Status got = processes_.recv(aggregators[a], &s.end, sizeof s.end);
      if (got.ok())
        got = processes_.recv(aggregators[a], s.data.get(), static_cast<size_t>(s.bytes));
      if (got.ok()) {
        unpack(s.pieces, s.data.get(), s.end);
        ended_at_ = std::min(ended_at_, s.end);
      }
      record_first_error(status, std::move(got));
    }
    record_first_error(status, processes_.finish(&round->requests));
    std::vector<FilePiece> all;
    for (const RoundShare& s : round->out) all.insert(all.end(), s.pieces.begin(), s.pieces.end());
    copy_overlaps(all, round->copies, ended_at_);
  }

  static void record_first_error(Status* first, Status one) {
    if (first->ok() && !one.ok()) *first = std::move(one);
  }
  Status isend(uint32_t to, Processes::Channel channel, const void* data, size_t bytes,
               std::vector<pt2pt::Request*>* requests) {
    pt2pt::Request* request = nullptr;
    Status status = processes_.isend(to, channel, data, bytes, &request);
    if (request) requests->push_back(request);
    return status;
  }
  Status irecv(uint32_t from, void* data, size_t bytes, std::vector<pt2pt::Request*>* requests) {
    pt2pt::Request* request = nullptr;
    Status status = processes_.irecv(from, data, bytes, &request);
    if (request) requests->push_back(request);
    return status;
  }

  Processes processes_;
  const char* call_;
  std::vector<FileArrival*> members_;
  std::vector<AnnouncedRange> ranges_;
  SharedFile* shared_ = nullptr;
  int fd_ = -1;
  int64_t window_ = 0;  ///< bytes of the file that an aggregator has in a round
  Status not_opened_;   ///< why the file has no descriptor here
  bool write_ = false;
  int64_t ended_at_ = kNever;  ///< reads: the end of the file; or where an error was
};

void act(comm::SharedComm* shared, comm::Meeting* meeting) {
  CollectiveAccess(shared, meeting).run();
}

void arrive(File* file, FileOperation* what, FileArrival* member) {
  member->file = file;
  member->what = std::move(*what);
  member->view = file->view;
  FileOperation& w = member->what;
  sched::keep_unpacked(w.address, 0);
  w.bad = prepare(file, w, &member->buffer, &member->etypes);
  if (w.bad.ok()) w.bad = member->walk.prepare(member->view, member->buffer, w.kind & kWrite);
  member->owner = sched::rank_proclet(comm::rank_state()->local);
  member->offset = w.offset;
  if (!w.bad.ok() || !(w.kind & kIndividualPointer)) return;
  member->offset = file->pointer;
  if (__builtin_add_overflow(file->pointer, member->etypes, &file->pointer)) {
    file->pointer = member->offset;
    w.bad = error(MPI_ERR_ARG, "the individual pointer would be beyond the largest offset");
  }
}

/// Names the collective, so that members in different ones get an error that says so.
uint8_t code_of(const FileOperation& what, bool blocking) {
  return static_cast<uint8_t>(kOpAccess + (what.kind & kWrite) + (blocking ? 2 : 0));
}

}  // namespace

Status run_collective(File* file, FileOperation* what, int64_t* bytes) {
  FileArrival member;
  arrive(file, what, &member);
  Status status =
      comm::meet(file->comm, &member, code_of(member.what, true), member.what.call, act);
  Status converted = member.walk.finish(member.moved, &member.bytes);
  *bytes = member.bytes;
  return status.ok() ? std::move(converted) : std::move(status);
}

Status start_collective(File* file, FileOperation* what, pt2pt::Request** request) {
  auto mine = std::make_unique<CollectiveRequest>(file, what->call);
  arrive(file, what, &mine->member);
  const uint8_t code = code_of(mine->member.what, false);
  Status status =
      comm::meet_nonblocking(file->comm, &mine->member, code, mine->call, act, mine.get());
  if (!status.ok()) {
    --file->pending;
    return status;
  }
  *request = mine.release();
  return {};
}

}  // namespace fgmpi::file
