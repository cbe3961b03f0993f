// Files: records which bytes each rank reads and writes. Conflicts are found after the job
// (readers/findings/files.h).
#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "base/strings.h"
#include "check/call.h"
#include "check/extensions.h"

namespace fgmpi::check {
namespace {

/// The most bytes that one process writes about accesses.
constexpr size_t kMostBytes = 16 << 20;
size_t g_bytes = 0;

/// How a function gets the offset of an access.
enum class Where : uint8_t { kNone, kOffset, kPointer, kShared };
struct Kinds {
  Where where = Where::kNone;
  bool writes = false;
};

Kinds read_name(const char* name) {
  if (std::strncmp(name, "MPI_File_", 9) != 0) return {};
  std::string_view rest = name + 9;
  if (rest.starts_with('i')) rest.remove_prefix(1);
  const bool writes = rest.starts_with("write");
  if (!writes && !rest.starts_with("read")) return {};
  if (rest.find("_end") != rest.npos) return {};
  if (rest.find("shared") != rest.npos || rest.find("ordered") != rest.npos)
    return {Where::kShared, writes};
  return {rest.find("_at") != rest.npos ? Where::kOffset : Where::kPointer, writes};
}

/// The kinds of each MPI function, derived from its name.
const Kinds& kinds_of(uint16_t id) {
  static const std::vector<Kinds> all = [] {
    std::vector<Kinds> kinds(kCallCount);
    for (size_t i = 0; i < kinds.size(); ++i) kinds[i] = read_name(kCalls[i].name);
    return kinds;
  }();
  return all[id];
}

/// Sets the view. Returns false where the bytes that it shows are unknown.
bool read_view(OpenFile* file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype) {
  const TypeLayout *elementary = layout_of(etype), *tile = layout_of(filetype);
  file->known = elementary && tile && tile->exact && tile->size > 0 && elementary->size > 0;
  if (!file->known) return false;
  file->disp = disp;
  file->etype_bytes = elementary->size;
  file->tile_bytes = tile->size;
  file->tile_extent = tile->extent;
  file->tile = tile->blocks;
  return true;
}

/// Ranges of bytes in a file; adjoining ones are joined.
struct Ranges {
  std::vector<ByteBlock> blocks;
  void add(int64_t offset, int64_t bytes) {
    if (!blocks.empty() && blocks.back().offset + blocks.back().bytes == offset)
      blocks.back().bytes += bytes;
    else
      blocks.push_back({offset, bytes});
  }
};

/// Finds the ranges of `bytes` bytes from byte `at` of the view. Returns false where
/// there are too many.
bool find_ranges(const OpenFile& file, int64_t at, int64_t bytes, Ranges* out) {
  constexpr size_t kMost = 1 << 14;
  if (file.tile.size() == 1 && file.tile[0].bytes == file.tile_extent) {
    out->add(file.disp + file.tile[0].offset + at, bytes);
    return true;
  }
  for (int64_t tile = at / file.tile_bytes, skip = at % file.tile_bytes; bytes > 0; ++tile) {
    for (const ByteBlock& block : file.tile) {
      const int64_t left_out = std::min(skip, block.bytes);
      const int64_t taken = std::min(block.bytes - left_out, bytes);
      skip -= left_out;
      if (taken <= 0) continue;
      out->add(file.disp + tile * file.tile_extent + block.offset + left_out, taken);
      bytes -= taken;
    }
    if (out->blocks.size() > kMost) return false;
  }
  return true;
}

OpenFile* file_of(CheckedCall* call) {
  const auto handle = static_cast<uint64_t>(call->at(0));
  auto& files = call->rank()->files;
  auto found = files.find(handle);
  return found == files.end() ? nullptr : &found->second;
}

/// Writes the call to the spool, once for each rank. Returns its key.
uint64_t name_call(CheckedCall* call, OpenFile* file) {
  const CallRecord& record = call->record();
  const uint64_t key =
      mix(mix(record.site, record.id), static_cast<uint64_t>(call->rank()->world)) | 1;
  if (file->named.insert(key).second) g_process.spool.add_waiting(key, {call->me()});
  return key;
}

/// Writes an access with its ranges to the spool.
void write_access(std::string line, const Ranges& ranges) {
  for (const ByteBlock& b : ranges.blocks)
    line += format(" %llx.%llx", static_cast<unsigned long long>(b.offset),
                   static_cast<unsigned long long>(b.bytes));
  g_bytes += line.size();
  g_process.spool.add_access(line);
}

/// The library has determined the offset of an access by a shared file pointer. Another rank may be
/// running, so this calls nothing of MPI.
void shared_access_placed(int world, MPI_File handle, int writes, MPI_Offset offset) {
  Rank* rank = local_rank(world);
  if (!rank) return;
  auto found = rank->files.find(static_cast<uint64_t>(word(handle)));
  if (found == rank->files.end()) return;
  OpenFile& file = found->second;
  // Pending accesses of one rank get their offsets in the order of their calls.
  auto access = std::find_if(file.placed_later.begin(), file.placed_later.end(),
                             [&](const SharedAccess& a) { return a.writes == (writes != 0); });
  if (access == file.placed_later.end()) return;
  Ranges ranges;
  if (find_ranges(file, offset * file.etype_bytes, access->bytes, &ranges))
    write_access(std::move(access->line), ranges);
  file.placed_later.erase(access);
}

void record_file_access(CheckedCall* call, const Kinds& kinds, OpenFile* file) {
  MPI_File handle = reinterpret_cast<MPI_File>(call->at(0));
  MPI_Offset offset = 0;
  if (kinds.where == Where::kOffset)
    offset = call->at(call->find("offset"));
  else if (kinds.where == Where::kPointer)
    g_next.MPI_File_get_position(handle, &offset);
  const int count_at = call->find("count"), type_at = call->find("datatype");
  const TypeLayout* type = layout_of(static_cast<MPI_Datatype>(call->at(type_at)));
  if (!type || !file->known || g_bytes > kMostBytes || offset < 0) return;
  const int64_t bytes = call->at(count_at) * type->size;
  Ranges ranges;
  const bool later = kinds.where == Where::kShared;
  if (bytes <= 0 || (!later && !find_ranges(*file, offset * file->etype_bytes, bytes, &ranges)))
    return;
  int atomic = 0;
  g_next.MPI_File_get_atomicity(handle, &atomic);
  const uint64_t name = name_call(call, file);
  std::string line =
      format("%llx %d %c %d %llx %llx %llx", static_cast<unsigned long long>(file->key),
             call->rank()->world, kinds.writes ? 'w' : 'r', atomic ? 1 : 0,
             static_cast<unsigned long long>(file->syncs),
             static_cast<unsigned long long>(file->fenced), static_cast<unsigned long long>(name));
  // Entries of calls that failed are still there.
  if (later && !g_process.threads)
    std::erase_if(file->placed_later, [](const SharedAccess& a) { return a.call != nullptr; });
  if (later)
    file->placed_later.push_back({&call->record(), kinds.writes, bytes, std::move(line)});
  else
    write_access(std::move(line), ranges);
}

/// Removes the entry of a blocking access by a shared pointer that has failed, and
/// so has no offset.
void forget_unplaced(CheckedCall* call, OpenFile* file) {
  if (call->info().starts == Starts::kBlocking && !std::strstr(call->info().name, "_begin"))
    std::erase_if(file->placed_later,
                  [&](const SharedAccess& a) { return a.call == &call->record(); });
  for (SharedAccess& a : file->placed_later)
    if (a.call == &call->record()) a.call = nullptr;
}

void record_file_open(CheckedCall* call) {
  if (!call->collective.comm || call->collective.comm->size < 2) return;
  const int amode_at = call->find("amode");
  if (call->at(amode_at) & MPI_MODE_RDONLY) return;  // nobody can write, so nothing can conflict
  const auto handle = reinterpret_cast<const MPI_File*>(call->at(call->find("fh")));
  OpenFile file;
  file.key = mix(call->collective.comm->key, call->collective.number) | 1;
  read_view(&file, 0, MPI_BYTE, MPI_BYTE);
  call->rank()->files.insert_or_assign(static_cast<uint64_t>(word(*handle)), std::move(file));
}

void record_file_sync(CheckedCall* call, OpenFile* file) {
  const uint64_t communications = call->rank()->communications;
  if (file->syncs > 0 && communications != file->communications) file->fenced = file->syncs;
  ++file->syncs;
  file->communications = communications;
}

}  // namespace

void follow_places() {
  if (MPIX_Tool_places && g_process.wants(FindingKind::kFiles))
    MPIX_Tool_places(shared_access_placed);
}

void check_files_before(CheckedCall* call) {
  if (!g_process.wants(FindingKind::kFiles) || call->rank()->files.empty()) return;
  OpenFile* file = file_of(call);
  if (const Kinds& kinds = kinds_of(call->record().id); file && kinds.where != Where::kNone)
    record_file_access(call, kinds, file);
}

void record_files_after(CheckedCall* call) {
  if (!g_process.wants(FindingKind::kFiles)) return;
  const uint16_t id = call->record().id;
  if (id == kCall_MPI_File_open) return record_file_open(call);
  if (id == kCall_MPI_File_close) {
    call->rank()->files.erase(call->old[0]);
    return;
  }
  OpenFile* file = file_of(call);
  if (!file) return;
  if (!file->placed_later.empty()) forget_unplaced(call, file);
  if (id == kCall_MPI_File_sync) return record_file_sync(call, file);
  if (id == kCall_MPI_File_set_view) {
    const auto* datarep = reinterpret_cast<const char*>(call->at(call->find("datarep")));
    read_view(file, call->at(1), static_cast<MPI_Datatype>(call->at(2)),
              static_cast<MPI_Datatype>(call->at(3)));
    // Other data representations have other sizes.
    file->known = file->known && !std::strcmp(datarep, "native");
  }
}

}  // namespace fgmpi::check
