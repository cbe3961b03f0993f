// Saving the ranks of a process: agreement, fork, and the child's work.
#include <fcntl.h>
#include <fenv.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/checkpoint_link.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/mapped_allocator.h"
#include "base/page.h"
#include "base/rank_memory.h"
#include "base/raw_call.h"
#include "base/written_pages.h"
#include "checkpoint/file/folder.h"
#include "checkpoint/file/page_list.h"
#include "checkpoint/file/writer.h"
#include "checkpoint/save.h"
#include "checkpoint/wrappers.h"

#pragma weak fgmpi_process_slots
#pragma weak fgmpi_describe_rank
#pragma weak fgmpi_memory_of_ranks
#pragma weak fgmpi_call_on_host
#pragma weak fgmpi_leave_rank

namespace fgmpi::checkpoint {
namespace {

/// So many checkpoints in a row leave out what the one before has: a restart reads all of them.
constexpr uint32_t kMostBased = 8;

/// A process that saves its ranks.
struct SavingProcess {
  std::string folder, restart;
  CheckpointWriter writer;
  PageListWriter list;
  PageList before;             ///< of the checkpoint on which this one is based
  uint32_t based = 0;          ///< how many files in a row are based on others
  std::string words;           ///< of the job, for the child
  uint64_t number = 0;         ///< of the checkpoint that is taken
  uint64_t latest = 0;         ///< that this process has begun to write in this run; 0: none
  uint32_t stopped = 0;        ///< ranks that wait for the fork
  LayerRank* first = nullptr;  ///< of them
  pid_t child = 0;             ///< that writes; 0: none
  bool failed = false;         ///< the latest fork, or what comes before it
  bool leaves = false;         ///< the job ends when it is saved
  bool written = false;        ///< by the latest child that has ended
};
/// Made when it is first used, by a constructor; never destroyed: ranks may save themselves until
/// the process ends.
SavingProcess& saving() {
  static auto* made = new SavingProcess;
  return *made;
}

void say(const char* what, const char* why) {
  dprintf(STDERR_FILENO, "fgmpi-checkpoint: %s: %s\n", what, why);
}

/// Waits until the child has ended, or only looks. A child that failed has said why.
void await_child(int options = 0) {
  if (saving().child == 0) return;
  int status = 0;
  long ended;
  do
    ended =
        raw_call(SYS_wait4, saving().child, reinterpret_cast<long>(&status), __WALL | options, 0);
  while (ended == -EINTR);
  if (ended == 0) return;  // it writes
  saving().child = 0;
  saving().written = ended > 0 && status == 0;
}

// ---- The child

struct MemoryWriting {
  WrittenPages pages;
  Status failed;
  uint32_t first = 0;  ///< rank of the job
  /// Where the part of each rank's stack begins that is needed.
  std::vector<uintptr_t, MappedAllocator<uintptr_t>> stacks;
};

/// Writes those of the pages [first, end) that are not as they were.
Status write_pages(BlockKind kind, uint32_t rank, uintptr_t first, uintptr_t end) {
  SavingProcess& process = saving();
  const bool whole = !process.before.is_open();
  // Pages that are zero now may have held something else in the checkpoint before.
  if (!whole) kind = BlockKind::kImage;
  uintptr_t from = first;  // pages from here on are to be written
  const auto write_up_to = [&](uintptr_t page) -> Status {
    if (page == from) return {};
    return process.writer.write(kind, rank, from, reinterpret_cast<const void*>(from), page - from);
  };
  for (uintptr_t page = first; page < end; page += kBlockPageBytes) {
    const uint64_t hash = hash_of_page(reinterpret_cast<const void*>(page));
    FGMPI_TRY(process.list.add({page, hash}));
    const PageRecord* before = whole ? nullptr : process.before.find(page);
    if (!before || before->hash != hash) continue;
    FGMPI_TRY(write_up_to(page));
    from = page + kBlockPageBytes;
  }
  return write_up_to(end);
}

/// Writes the pages of a range that were written.
void write_range(uint32_t index, const RankMemoryRange& range, void* data) {
  auto* work = static_cast<MemoryWriting*>(data);
  const uint32_t rank = work->first + index;
  const auto low = reinterpret_cast<uintptr_t>(range.low),
             high = reinterpret_cast<uintptr_t>(range.high);
  const bool writable = range.protection & PROT_WRITE,
             of_image = range.of_file && range.part != RankMemoryPart::kMapping;
  if (of_image && !writable) return;  // as the library made it
  if (!(range.protection & PROT_READ)) mprotect(range.low, high - low, PROT_READ);
  // What was not written is not zero there.
  const auto kind = range.of_file || range.part == RankMemoryPart::kImage ? BlockKind::kImage
                                                                          : BlockKind::kMemory;
  work->pages.visit(low, high, [&](uintptr_t first, uintptr_t end) {
    if (range.part == RankMemoryPart::kStack) first = std::max(first, work->stacks[index]);
    if (first < end && work->failed.ok()) work->failed = write_pages(kind, rank, first, end);
  });
  if (range.protection == (PROT_READ | PROT_WRITE) || of_image || !work->failed.ok()) return;
  const MemoryProtection protection{high - low, static_cast<uint64_t>(range.protection)};
  work->failed =
      saving().writer.write(BlockKind::kProtection, rank, low, &protection, sizeof protection);
}

Status write_ranks(const ProcessSlots& slots) {
  CheckpointWriter& writer = saving().writer;
  const std::string& words = saving().words;
  FGMPI_TRY(writer.write(BlockKind::kJob, 0, 0, words.data(), words.size()));
  MemoryWriting work;
  work.first = static_cast<uint32_t>(slots.first);
  work.stacks.resize(slots.count);
  for (const LayerRank* rank = saving().first; rank; rank = rank->next_stopped) {
    const auto of_job = static_cast<uint32_t>(rank->world_rank);
    work.stacks[of_job - work.first] = page_down(reinterpret_cast<uintptr_t>(rank->root.stack));
    FGMPI_TRY(writer.write(BlockKind::kRank, of_job, 0, &rank->root, sizeof rank->root));
    FGMPI_TRY(writer.write(BlockKind::kLibraries, of_job, 0, rank->root.libraries,
                           rank->root.libraries_bytes));
    FGMPI_TRY(writer.write(BlockKind::kMappings, of_job, 0, rank->root.mappings,
                           rank->root.mappings_bytes));
  }
  if (const char* reason = fgmpi_memory_of_ranks(0, slots.count, write_range, &work))
    return error(MPI_ERR_OTHER, "%s", reason);
  FGMPI_TRY(std::move(work.failed));
  FGMPI_TRY(saving().list.finish());
  return writer.finish();
}

[[noreturn]] void write_in_child(const ProcessSlots& slots) {
  // What is open would keep pipes and connections of the job open for as long as the child writes.
  const auto file = static_cast<unsigned>(saving().writer.descriptor());
  const auto list = static_cast<unsigned>(saving().list.descriptor());
  const unsigned low = std::min(file, list), high = std::max(file, list);
  raw_call(SYS_close, STDIN_FILENO);
  raw_call(SYS_close, STDOUT_FILENO);
  if (low > 3) close_descriptors(3, low - 1);
  if (high > low + 1) close_descriptors(low + 1, high - 1);
  close_descriptors(high + 1, ~0u);
  const Status written = write_ranks(slots);
  if (!written.ok()) say("a checkpoint could not be written", written.what().c_str());
  raw_call(SYS_exit_group, written.ok() ? 0 : 1);
  __builtin_unreachable();
}

/// Opens the list of the pages of the latest complete checkpoint of this run. Returns its number;
/// 0: the file is to have all pages.
uint64_t find_base(uint32_t process) {
  SavingProcess& me = saving();
  const uint64_t base = me.latest;
  const std::string file = complete_file(me.folder, base, process);
  const bool usable = base != 0 && me.based < kMostBased && access(file.c_str(), R_OK) == 0 &&
                      me.before.open(page_list_of(file)).ok();
  if (!usable) me.before.close();
  me.based = usable ? me.based + 1 : 0;
  return usable ? base : 0;
}

/// Makes the file, and forks.
Status begin_to_write() {
  const char* reason = nullptr;
  const ProcessSlots slots = fgmpi_process_slots(&reason);
  CheckpointHeader header = {};
  header.process = static_cast<uint32_t>(slots.process);
  header.processes = static_cast<uint32_t>(slots.processes);
  header.first_rank = static_cast<uint32_t>(slots.first);
  header.ranks = slots.count;
  header.world_ranks = static_cast<uint32_t>(slots.total);
  header.number = saving().number;
  saving().words = job_words(slots.stack_bytes);
  header.base = find_base(header.process);
  FGMPI_TRY(saving().list.open(
      page_list_of(file_to_write(saving().folder, saving().number, header.process))));
  FGMPI_TRY(saving().writer.open(file_to_write(saving().folder, saving().number, header.process),
                                 header));
  const long child = raw_call(SYS_clone, 0);  // its end sends no signal
  if (child == 0) write_in_child(slots);
  saving().writer.close();
  saving().list.close();
  if (child < 0) return error(MPI_ERR_OTHER, "fork: %s", std::strerror(static_cast<int>(-child)));
  saving().child = static_cast<pid_t>(child);
  saving().latest = saving().number;
  return {};
}

/// Called for the last rank of the process to stop.
void write_process(void*) {
  const Status begun = begin_to_write();
  saving().failed = !begun.ok();
  if (!begun.ok()) say("no checkpoint is taken", begun.what().c_str());
  saving().stopped = 0;
  saving().first = nullptr;
}

/// Waits until all ranks have been saved, or not.
Saved stop_until_saved(LayerRank& rank) {
  const char* reason = nullptr;
  rank.next_stopped = saving().first;
  saving().first = &rank;
  int failed = 0, any = 0;
  if (++saving().stopped == fgmpi_process_slots(&reason).count) {
    fgmpi_call_on_host(write_process, nullptr);
    failed = saving().failed;
  }
  g_next.MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any ? Saved::kNot : Saved::kTaken;
}

/// Saves the frames of the rank. A function of its own, of which nothing is in registers that the
/// other process does not have.
[[gnu::noinline]] Saved save_frames(LayerRank& rank) {
  fegetenv(&rank.modes);
  if (__builtin_setjmp(rank.goes_on_at) == 0) {
    constexpr size_t kRedZone = 256;
    rank.root.layer = &rank;
    rank.root.stack = static_cast<char*>(rank.goes_on_at[2]) - kRedZone;
    return stop_until_saved(rank);
  }
  fesetenv(&current_rank()->modes);
  return Saved::kRestarted;
}

/// What rank 0 tells all others at the start.
struct Beginning {
  uint64_t number;  ///< of the checkpoint; 0: nothing can be written
  uint64_t leaves;
};

/// Rank 0's part. Runs on the stack with which the process began: functions on folders need more
/// than a rank's may have.
void begin_for_all(void* data) {
  auto* all = static_cast<Beginning*>(data);
  all->number = std::max(next_checkpoint(saving().folder), saving().number + 1);
  all->leaves = is_asked_to_leave();
  if (const Status begun = begin_checkpoint(saving().folder, all->number); !begun.ok()) {
    say("no checkpoint is taken", begun.what().c_str());
    all->number = 0;
  }
}

/// Begins a checkpoint of the whole job.
Beginning begin_in_folder(const LayerRank& rank) {
  Beginning all = {};
  if (rank.world_rank == 0) fgmpi_call_on_host(begin_for_all, &all);
  g_next.MPI_Bcast(&all, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  return all;
}

/// Tells mpiexec by a file.
void make_file(const char* name) {
  const std::string path = saving().folder + "/" + name;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd >= 0) ::close(fd);
}

/// Can all ranks be saved? Else one says why not.
bool can_be_saved(LayerRank& rank) {
  const char* reason = fgmpi_describe_rank ? nullptr : "the MPI library is another one";
  if (!reason) fgmpi_process_slots(&reason);
  if (!reason) reason = fgmpi_describe_rank(&rank.root);
  const std::string words = reason ? reason : "";  // another rank's description overwrites them
  int refuses = reason ? rank.world_rank : INT32_MAX, first = INT32_MAX;
  g_next.MPI_Allreduce(&refuses, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first == rank.world_rank)
    dprintf(STDERR_FILENO, "fgmpi-checkpoint: no checkpoint is taken of rank %d: %s\n", first,
            words.c_str());
  return first == INT32_MAX;
}

}  // namespace

void read_folders() {
  const auto text = [](environment::Variable variable) {
    const char* value = environment::text(variable);
    return std::string(value ? value : "");
  };
  saving().folder = text(environment::kCheckpointFolder);
  saving().restart = text(environment::kRestart);
}

const std::string& checkpoint_folder() { return saving().folder; }
bool has_folder() { return !saving().folder.empty(); }
const std::string& restart_folder() { return saving().restart; }

Saved save(LayerRank& rank) {
  if (!can_be_saved(rank)) return Saved::kNot;
  await_child();
  const Beginning beginning = begin_in_folder(rank);
  if (beginning.number == 0) return Saved::kNot;
  saving().number = beginning.number;
  saving().leaves = beginning.leaves != 0;
  return save_frames(rank);
}

void finish_saving() { await_child(); }

bool is_writing() {
  await_child(WNOHANG);
  return saving().child != 0;
}

bool leaves() { return saving().leaves; }

void leave_job(LayerRank& rank) {
  await_child();
  int failed = !saving().written, any = 0;
  g_next.MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (any) return stay_in_job(rank);
  if (rank.world_rank == 0) make_file(kLeft);
  g_next.MPI_Finalize();
  fgmpi_leave_rank();
}

void stay_in_job(const LayerRank& rank) {
  if (rank.world_rank == 0 && take_request_to_leave()) make_file(kStays);
}

}  // namespace fgmpi::checkpoint
