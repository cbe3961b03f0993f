// Ranks that were saved go on: their slots are filled from the files of a checkpoint.
#include <locale.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <vector>

#include "base/checkpoint_link.h"
#include "checkpoint/deputy.h"
#include "checkpoint/file/folder.h"
#include "checkpoint/file/page_list.h"
#include "checkpoint/file/reader.h"
#include "checkpoint/moves.h"
#include "checkpoint/save.h"
#include "checkpoint/wrappers.h"

#pragma weak fgmpi_load_libraries_of_rank
#pragma weak fgmpi_map_files_of_rank

namespace fgmpi::checkpoint {
namespace {

/// The ranks of this process, as they are read.
struct RestoredRanks {
  const ProcessSlots& slots;
  RankRoot* roots;
  std::vector<bool> found;
  std::string words;  ///< of the job that was saved
  PageList pages;     ///< of the file that is read
  std::vector<std::pair<uint64_t, MemoryProtection>> protections;

  bool has(uint32_t rank) const { return rank - slots.first < slots.count; }
};

Status wrong_size(const std::string& file) {
  return error(MPI_ERR_IO, "%s has a block of a size that this library does not write",
               file.c_str());
}

/// Fills in the pages that were still there when the ranks were saved.
void take_pages(const CheckpointBlock& block, PageList* pages) {
  for (size_t at = 0; at < block.bytes.size(); at += kBlockPageBytes) {
    const uint64_t address = block.address + at;
    if (pages->find(address))
      std::memcpy(reinterpret_cast<void*>(address), block.bytes.data() + at,
                  std::min(kBlockPageBytes, block.bytes.size() - at));
  }
}

Status take_block(const std::string& file, const CheckpointBlock& block, RestoredRanks* ranks) {
  const ProcessSlots& slots = ranks->slots;
  const auto index = static_cast<size_t>(block.rank - slots.first);
  switch (block.kind) {
    case BlockKind::kRank:
      if (block.bytes.size() != sizeof(RankRoot)) return wrong_size(file);
      std::memcpy(&ranks->roots[index], block.bytes.data(), sizeof(RankRoot));
      ranks->found[index] = true;
      return {};
    case BlockKind::kMemory:
    case BlockKind::kImage: {
      const uint64_t slot = reinterpret_cast<uint64_t>(slots.slots) + index * slots.stride;
      if (block.address < slot || block.address - slot > slots.stride - block.bytes.size())
        return error(MPI_ERR_IO, "%s has memory of rank %u at %#llx, outside of the rank's slot",
                     file.c_str(), block.rank, static_cast<unsigned long long>(block.address));
      take_pages(block, &ranks->pages);
      return {};
    }
    case BlockKind::kProtection: {
      MemoryProtection protection;
      if (block.bytes.size() != sizeof protection) return wrong_size(file);
      std::memcpy(&protection, block.bytes.data(), sizeof protection);
      ranks->protections.emplace_back(block.address, protection);
      return {};
    }
    default:
      return {};
  }
}

/// Reads a file, and before it those on which it is based. `latest`: it is of the checkpoint from
/// which the ranks go on.
Status read_file(const std::string& folder, const std::string& file, bool latest,
                 RestoredRanks* ranks) {
  CheckpointReader reader;
  FGMPI_TRY(reader.open(file));
  const CheckpointHeader& header = reader.header();
  if (header.world_ranks != ranks->slots.total)
    return error(MPI_ERR_IO, "%s is of %u ranks; this job has %llu", file.c_str(),
                 header.world_ranks, static_cast<unsigned long long>(ranks->slots.total));
  const bool has_own = header.first_rank < ranks->slots.first + ranks->slots.count &&
                       header.first_rank + header.ranks > ranks->slots.first;
  const bool reads_words = ranks->words.empty() && latest;
  if (!has_own && !reads_words) return {};
  if (latest) FGMPI_TRY(ranks->pages.open(page_list_of(file)));
  if (header.base != 0)
    FGMPI_TRY(read_file(folder, complete_file(folder, header.base, header.process), false, ranks));
  for (CheckpointBlock block;;) {
    FGMPI_TRY(reader.next(&block));
    if (block.kind == BlockKind::kEnd) return {};
    if (block.kind == BlockKind::kJob && reads_words)
      ranks->words.append(block.bytes.data(), block.bytes.size());
    const bool is_memory = block.kind == BlockKind::kMemory || block.kind == BlockKind::kImage;
    if (block.kind == BlockKind::kJob || !ranks->has(block.rank) || !(latest || is_memory))
      continue;
    FGMPI_TRY(take_block(file, block, ranks));
  }
}

/// Loads the libraries and maps the files of this process's ranks of which the file tells, before
/// any memory.
Status load_and_map(const std::string& file, const ProcessSlots& slots) {
  CheckpointReader reader;
  FGMPI_TRY(reader.open(file));
  std::map<uint32_t, std::vector<char>> libraries, mappings;  // by index
  for (CheckpointBlock block;;) {
    FGMPI_TRY(reader.next(&block));
    if (block.kind != BlockKind::kJob && block.kind != BlockKind::kRank &&
        block.kind != BlockKind::kLibraries && block.kind != BlockKind::kMappings)
      break;
    const auto index = static_cast<uint32_t>(block.rank - slots.first);
    if (block.rank < slots.first || index >= slots.count) continue;
    const bool loads = block.kind == BlockKind::kLibraries;
    if (!loads && block.kind != BlockKind::kMappings) continue;
    std::vector<char>& bytes = (loads ? libraries : mappings)[index];
    bytes.insert(bytes.end(), block.bytes.data(), block.bytes.data() + block.bytes.size());
  }
  for (const auto& [index, bytes] : libraries)
    if (const char* reason = fgmpi_load_libraries_of_rank(index, bytes.data(), bytes.size()))
      return error(MPI_ERR_OTHER, "%s", reason);
  for (const auto& [index, bytes] : mappings)
    if (const char* reason = fgmpi_map_files_of_rank(index, bytes.data(), bytes.size()))
      return error(MPI_ERR_OTHER, "%s", reason);
  return {};
}

Status restore_all(const ProcessSlots& slots, RankRoot* roots) {
  const std::filesystem::path checkpoint = restart_folder();
  std::vector<std::string> files;
  FGMPI_TRY(list_checkpoint(checkpoint.parent_path(),
                            std::strtoull(checkpoint.filename().c_str(), nullptr, 10), &files));
  for (const std::string& file : files) FGMPI_TRY(load_and_map(file, slots));
  RestoredRanks ranks{slots, roots, std::vector<bool>(slots.count), "", {}, {}};
  for (const std::string& file : files)
    FGMPI_TRY(read_file(checkpoint.parent_path(), file, true, &ranks));
  for (uint32_t k = 0; k < slots.count; ++k)
    if (!ranks.found[k])
      return error(MPI_ERR_IO, "%s lacks rank %llu", checkpoint.c_str(),
                   static_cast<unsigned long long>(slots.first + k));
  for_each_word(ranks.words, 'd', [](std::string_view folder) {
    if (chdir(std::string(folder).c_str()) != 0)
      dprintf(STDERR_FILENO, "fgmpi-checkpoint: working folder %.*s: %s\n",
              static_cast<int>(folder.size()), folder.data(), std::strerror(errno));
  });
  for_each_word(ranks.words, 'l',
                [](std::string_view locale) { setlocale(LC_ALL, std::string(locale).c_str()); });
  std::string difference;
  if (!same_places(ranks.words, &difference))
    return error(MPI_ERR_OTHER,
                 "this machine does not have what the ranks use at the same place: %s",
                 difference.c_str());
  for (const auto& [address, protection] : ranks.protections)
    if (mprotect(reinterpret_cast<void*>(address), protection.bytes,
                 static_cast<int>(protection.protection)) != 0)
      return error(MPI_ERR_OTHER, "mprotect of %llu bytes at %#llx: %s",
                   static_cast<unsigned long long>(protection.bytes),
                   static_cast<unsigned long long>(address), std::strerror(errno));
  return {};
}

const char* restore(const ProcessSlots& slots, RankRoot* roots) {
  static std::string reason;  // must outlive the call
  const Status restored = restore_all(slots, roots);
  if (restored.ok()) return nullptr;
  reason = "-restart: " + restored.what();
  return reason.c_str();
}

/// Goes on where save() was called. A function of its own, as __builtin_longjmp() demands.
[[noreturn, gnu::noinline]] void resume() { __builtin_longjmp(current_rank()->goes_on_at, 1); }

void note_kept(int by) {
  if (LayerRank* rank = current_rank()) rank->kept_by_calls += static_cast<uint32_t>(by);
}

int find_own_handle(int handle) {
  LayerRank* rank = current_rank();
  if (!rank || !is_virtual(handle)) return handle;
  if (VirtualRequest* request = rank->requests.find(handle)) request->staged = true;
  return without_mark(real_of(*rank, kind_of(handle), handle));
}

constexpr CheckpointHooks make_hooks(bool moves) {
  CheckpointHooks made;
  made.restarts = [] { return !restart_folder().empty(); };
  made.restore = restore;
  made.resume = resume;
  made.keeps = note_kept;
  made.own_handle = find_own_handle;
  if (!moves) return made;
  made.keep_error = keep_error;
  made.text_of_error = text_of_error;
  made.go_home_to_end = go_home_to_end;
  made.go_home = go_home_for_objects;
  made.try_to_go_home = try_to_go_home;
  return made;
}
constexpr CheckpointHooks kHooks = make_hooks(false), kHooksOfMoves = make_hooks(true);

}  // namespace
}  // namespace fgmpi::checkpoint

const fgmpi::checkpoint::CheckpointHooks* fgmpi_checkpoint_hooks() {
  using namespace fgmpi::checkpoint;
  return g_moves ? &kHooksOfMoves : &kHooks;
}
