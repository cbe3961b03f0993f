// The recording in the process: written while the run is recorded, read while it is repeated.
//
// Both use the same memory at the same address and no heap, so that the program's own memory lies
// at the same places in both. Thread rule: the scheduler's thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rewind/format.h"

namespace fgmpi::rewind {

enum class RunMode : uint8_t { kNone, kRecorded, kRepeated };

/// How the run is run. Set once, before ranks run.
[[gnu::visibility("hidden")]] extern RunMode g_mode;
inline bool is_recorded() { return g_mode == RunMode::kRecorded; }
inline bool is_repeated() { return g_mode == RunMode::kRepeated; }
/// Is this a repeated run that is checked? For it the library takes memory, too: what is mapped
/// when, and where the program's heap ends, may differ.
[[gnu::visibility("hidden")]] extern bool g_is_checked;

/// Maps the file behind kRecordingFd, or the memory into which it is read. Returns an error in
/// words, or nullptr.
const char* open_recording(RunMode mode);

/// The header: of the file while it is written, a copy while it is read.
RecordingHeader& header();

// ---- Writing ------------------------------------------------------------------------------------

/// Adds bytes to the record that is being written.
void put(RecordingStream stream, const void* bytes, size_t size);
void put_number(RecordingStream stream, uint64_t value);
/// Ends the record: from now on it is part of the file.
void commit(RecordingStream stream);

/// Appends a chunk of kContents.
void put_contents(uint64_t serial, const uint8_t* chunk);

// ---- Reading ------------------------------------------------------------------------------------

/// Reads the next bytes. Returns false behind the last one.
bool get(RecordingStream stream, void* bytes, size_t size);
bool get_number(RecordingStream stream, uint64_t* value);
/// Passes over bytes.
bool skip(RecordingStream stream, size_t size);

/// Is true when bytes were missing because the file is damaged, not because it ends.
[[gnu::visibility("hidden")]] extern bool g_is_damaged;

/// The events that lie in the open chunk, for the common path of event().
struct RecordedChunk {
  uint16_t* next;
  uint16_t* end;
};
[[gnu::visibility("hidden")]] extern RecordedChunk g_event_chunk;
/// Called when next == end: seals the chunk, or reads the following one. Returns false where there
/// is none.
bool turn_event_chunk();

}  // namespace fgmpi::rewind
