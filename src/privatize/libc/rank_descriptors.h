// Descriptors of ranks that may be saved (mpiexec -checkpoint), or go to another process of the
// host (load/visitors.h): which rank has opened which, and numbers that no other rank of the job
// has, so that any ranks can go on in one process.
//
// Rank r of a job of N ranks gets the numbers kFirstOwn + r, kFirstOwn + N + r and so on, as many
// as the limit of descriptors allows for each rank. So the numbers of a job of some hundred ranks
// fit into a set of select(), which has room for 1,024. A program that names a number (dup2), or
// has more descriptors open than its share, is not saved, and does not move.
//
// Thread rule: descriptors are made and closed by any thread; the rest on the scheduler's thread.
#pragma once

#include <stdio.h>

#include <cstddef>
#include <cstdint>

namespace fgmpi::privatize {

/// Begins to record descriptors. Called once, before ranks run.
void record_descriptors(uint32_t ranks);

namespace detail {
[[gnu::visibility("hidden")]] extern bool g_records_descriptors;
int give_to_rank(int fd, const void* caller);
void note_owner(int fd, const void* caller);
void forget_owner(int fd);
}  // namespace detail

/// A call of code at `caller` has made the descriptor (-1: it has failed). Returns its number,
/// which is another one where the rank has numbers of its own. Leaves errno unchanged.
inline int give_descriptor(int fd, const void* caller) {
  return __builtin_expect(detail::g_records_descriptors, 0) ? detail::give_to_rank(fd, caller) : fd;
}
/// give_descriptor() for a stream, which may be null.
inline FILE* give_stream(FILE* stream, const void* caller) {
  if (stream) stream->_fileno = give_descriptor(stream->_fileno, caller);
  return stream;
}
/// As give_descriptor() where the program has chosen the number, which stays.
inline int name_descriptor(int fd, const void* caller) {
  if (__builtin_expect(detail::g_records_descriptors, 0)) detail::note_owner(fd, caller);
  return fd;
}
/// The descriptor was closed.
inline void descriptor_is_closed(int fd) {
  if (__builtin_expect(detail::g_records_descriptors, 0)) detail::forget_owner(fd);
}

/// What is needed to open the rank's files again, in memory of the rank's heap; *list is null
/// where it has none open. Frees what *list has been before. Returns nullptr, or why the rank's
/// descriptors cannot be saved.
const char* describe_descriptors(uint32_t index, void** list);
/// Opens the files again, at their offsets; those that were written since are cut back, with a
/// line. Ends the process, with a line, where one cannot be opened.
void reopen_descriptors(uint32_t index, const void* list);

// A rank that moves takes what its descriptors refer to along: pipes, sockets and shared offsets,
// too. The process that it leaves keeps its descriptors open until it is told that the rank has
// arrived.

/// Writes the numbers of the rank's descriptors into memory of its heap, to which *numbers then
/// leads (null: it has none). Returns nullptr, or why they cannot be moved.
const char* list_descriptors(uint32_t index, void** numbers);
/// Opens what those numbers of the other process refer to, as the rank's, with the same numbers,
/// and closes what the rank has left open in this process before. The process may be this one.
/// Returns nullptr, or why it cannot be done.
const char* fetch_descriptors(uint32_t index, const void* numbers, int process);
/// Closes the descriptors that a rank of the job has left open in this process.
void close_descriptors_of(uint64_t world_rank);

}  // namespace fgmpi::privatize
