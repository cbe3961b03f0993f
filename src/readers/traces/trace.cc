// Reading of a trace's files, chunk by chunk.

#include "readers/traces/trace.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "track/track_calls.h"

namespace fgmpi::track {
namespace {

struct TraceChunk {
  ChunkHeader header;
  const char* records;
};

Status map_file(const std::string& path, std::unique_ptr<TraceFile>* out) {
  auto file = std::make_unique<TraceFile>();
  file->path = path;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0)
    return error(MPI_ERR_IO, "%s: %s", path.c_str(), std::strerror(errno));
  file->size = static_cast<size_t>(info.st_size);
  if (file->size < kFileHeaderBytes) {
    close(fd);
    return error(MPI_ERR_IO, "%s: %zu bytes; a trace file has %zu at least", path.c_str(),
                 file->size, kFileHeaderBytes);
  }
  void* map = mmap(nullptr, file->size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (map == MAP_FAILED) return error(MPI_ERR_IO, "%s: %s", path.c_str(), std::strerror(errno));
  file->bytes = static_cast<const char*>(map);
  const FileHeader& h = file->header();
  if (h.magic != kFileMagic)
    return error(MPI_ERR_IO, "%s: is no trace file of this version", path.c_str());
  if (h.calls != kCallCount)
    return error(MPI_ERR_IO, "%s: was written with %u functions in its list, this program knows %u",
                 path.c_str(), h.calls, static_cast<unsigned>(kCallCount));
  if (h.ranks < 1 || h.world_size < h.ranks || h.first_rank < 0 ||
      h.first_rank > h.world_size - h.ranks)
    return error(MPI_ERR_IO, "%s: ranks %d to %d of %d: damaged", path.c_str(), h.first_rank,
                 h.first_rank + h.ranks - 1, h.world_size);
  if (h.ticks1 > h.ticks0)
    file->ns_per_tick =
        static_cast<double>(h.mono1 - h.mono0) / static_cast<double>(h.ticks1 - h.ticks0);
  *out = std::move(file);
  return {};
}

/// Calls visit(chunk) for each chunk, up to the end of the file or the first invalid chunk.
template <class Visit>
void for_each_chunk(const TraceFile& file, Visit visit) {
  const size_t end = std::min<size_t>(file.size, file.header().end);
  for (size_t at = kFileHeaderBytes; at + sizeof(ChunkHeader) <= end;) {
    TraceChunk c;
    std::memcpy(&c.header, file.bytes + at, sizeof c.header);
    at += sizeof c.header;
    if (c.header.magic != kChunkMagic || c.header.capacity > file.size - at) return;
    c.header.used = std::min(c.header.used, c.header.capacity);
    c.records = file.bytes + at;
    at += c.header.capacity;
    visit(c);
  }
}

void read_modules(const TraceChunk& c, std::vector<Module>* out) {
  for (size_t at = 0; at + sizeof(TracedModule) <= c.header.used;) {
    TracedModule m;
    std::memcpy(&m, c.records + at, sizeof m);
    at += sizeof m;
    if (m.path_bytes > c.header.used - at) return;
    out->push_back({m.base, m.size, std::string(c.records + at, m.path_bytes)});
    at = (at + m.path_bytes + 7) / 8 * 8;
  }
}

/// Reads a record {comm, bytes} and the bytes that follow it, as in kGroups and kNames.
template <class Record>
bool read_tail(const TraceChunk& c, uint32_t* comm, std::span<const char>* bytes) {
  Record r;
  if (c.header.used < sizeof r) return false;
  std::memcpy(&r, c.records, sizeof r);
  if (r.bytes > c.header.used - sizeof r) return false;
  *comm = r.comm;
  *bytes = {c.records + sizeof r, r.bytes};
  return true;
}

void add_chunk(const TraceChunk& c, RankTrace* r) {
  uint32_t comm = 0;
  std::span<const char> bytes;
  switch (c.header.kind) {
    case ChunkKind::kComms: {
      const size_t n = c.header.used / sizeof(CommRecord), before = r->comms.size();
      r->comms.resize(before + n);
      if (n > 0) std::memcpy(r->comms.data() + before, c.records, n * sizeof(CommRecord));
      break;
    }
    case ChunkKind::kEvents:
      r->events.emplace_back(reinterpret_cast<const CallEvent*>(c.records),
                             c.header.used / sizeof(CallEvent));
      break;
    case ChunkKind::kMapping:
      r->mapping.resize(c.header.used / sizeof(uint32_t));
      if (!r->mapping.empty())
        std::memcpy(r->mapping.data(), c.records, r->mapping.size() * sizeof(uint32_t));
      break;
    case ChunkKind::kGroups:
      if (read_tail<GroupRecord>(c, &comm, &bytes)) r->groups.emplace_back(comm, bytes);
      break;
    case ChunkKind::kNames:
      if (read_tail<NameRecord>(c, &comm, &bytes))
        r->names[comm].assign(bytes.data(), bytes.size());
      break;
    default:
      break;
  }
}

}  // namespace

TraceFile::~TraceFile() {
  if (bytes) munmap(const_cast<char*>(bytes), size);
}

uint64_t TraceFile::time_of(uint64_t ticks) const {
  const FileHeader& h = header();
  const double since = static_cast<double>(static_cast<int64_t>(ticks - h.ticks0)) * ns_per_tick;
  return h.mono0 + static_cast<uint64_t>(static_cast<int64_t>(since));
}

size_t RankTrace::event_count() const {
  size_t n = 0;
  for (const auto& chunk : events) n += chunk.size();
  return n;
}

Status Trace::read(const std::string& folder) {
  std::error_code failed;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
    if (entry.path().extension() == ".trk") paths.push_back(entry.path());
  if (failed) return error(MPI_ERR_IO, "%s: %s", folder.c_str(), failed.message().c_str());
  if (paths.empty()) return error(MPI_ERR_IO, "%s: no trace files (*.trk) in it", folder.c_str());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    std::unique_ptr<TraceFile> file;
    FGMPI_TRY(map_file(path, &file));
    files.push_back(std::move(file));
  }
  // Jobs are sorted by their start.
  std::map<uint64_t, std::pair<uint64_t, int32_t>> started;  // key -> start, size
  for (const auto& file : files) {
    const FileHeader& h = file->header();
    auto [it, fresh] = started.try_emplace(h.job, h.real0, h.world_size);
    it->second.first = std::min(it->second.first, h.real0);
    if (h.world_size != it->second.second)
      return error(MPI_ERR_IO, "%s: its job has %d ranks, another file of the job says %d",
                   file->path.c_str(), h.world_size, it->second.second);
  }
  std::vector<std::pair<uint64_t, uint64_t>> order;  // start, key
  for (const auto& [key, value] : started) order.emplace_back(value.first, key);
  std::sort(order.begin(), order.end());
  std::map<uint64_t, int32_t> index_of;
  for (const auto& [start, key] : order) {
    index_of[key] = static_cast<int32_t>(jobs.size());
    const int32_t size = started[key].second, first = static_cast<int32_t>(ranks.size());
    jobs.push_back({key, size, first, {}});
    for (int32_t r = 0; r < size; ++r) {
      RankTrace rank;
      rank.rank = r;
      rank.job = index_of[key];
      ranks.push_back(std::move(rank));
    }
  }
  for (const auto& file : files) {
    const FileHeader& h = file->header();
    Job& job = jobs[static_cast<size_t>(index_of[h.job])];
    for (int32_t r = h.first_rank; r < h.first_rank + h.ranks; ++r)
      ranks[static_cast<size_t>(job.first_index + r)].file = file.get();
    for_each_chunk(*file, [&](const TraceChunk& c) {
      if (c.header.kind == ChunkKind::kModules) read_modules(c, &modules[file.get()]);
      if (c.header.kind == ChunkKind::kUnified) job.unified = {c.records, c.header.used};
      if (c.header.rank < 0 || c.header.rank >= job.size) return;
      add_chunk(c, &ranks[static_cast<size_t>(job.first_index + c.header.rank)]);
    });
  }
  return {};
}

}  // namespace fgmpi::track
