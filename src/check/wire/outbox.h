// Pieces of information for the checkers of other processes, several in one notice
// (MPIX_Tool_notify), in the order in which they were added:
//
//  | kSeveral, 7 bytes | bytes of piece, 8 bytes | piece, padded to 8 bytes | bytes of next ...
//
// Wins where many ranks of a process have something to send at the same time, above all in
// collectives: one notice takes longer than all the rest of the checker's work on the call.
//
// The notice of a process is sent when notices_due_now() is called, when the ranks of this process
// have made as many more calls as given to notices_due_within(), when all of them wait (so before a
// deadlock is reported), when a rank ends, and before another process gets an answer which promises
// that everything earlier has been sent. Thread rule: as CheckedCall (call.h). Only
// send_due_notices() and answer() poll. Notices that arrive during the poll may change any state of
// agreement.cc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace fgmpi::check {

inline constexpr size_t kMostNotice = 1000;
inline constexpr size_t kMostPiece = kMostNotice - 16;

struct NoticesDue {
  bool any = false, now = false;
  int calls = 0;  ///< calls left until the pieces are sent
};
extern NoticesDue g_notices_due;

/// Memory for one more piece, at a multiple of 8. REQUIRES: `bytes` is at most kMostPiece; the
/// caller fills the memory before it calls another function of this file, then calls
/// notices_due_now() or notices_due_within().
void* add_piece(int process, size_t bytes);

/// The last piece that waits to be sent to the process, which may still be changed;
/// null: there is none.
struct LastPiece {
  void* data = nullptr;
  size_t bytes = 0;
};
LastPiece last_piece(int process);
/// Extends that piece at the same address; false: its notice is full.
bool grow_last_piece(int process, size_t more);

/// The next progress_by_call() sends all pieces.
inline void notices_due_now() { g_notices_due.now = g_notices_due.any; }
/// The pieces may wait until the ranks of this process have made `calls` more calls.
inline void notices_due_within(int calls) {
  g_notices_due.calls = std::min(g_notices_due.calls, calls);
}
/// Sends the pieces for all processes.
void send_due_notices();
/// Sends the pieces for one process.
void send_due_notices_to(int process);
/// Another process asks whether everything earlier has been sent: sends the pieces for it, then the
/// answer as a notice of its own.
void answer(int process);

/// A call begins or ends: sends the pieces that are due.
inline void progress_by_call() {
  if (g_notices_due.any && (g_notices_due.now || --g_notices_due.calls <= 0)) send_due_notices();
}

/// f(piece, size) for each piece of a notice that has arrived; stops at a malformed piece.
template <class F>
void for_each_piece(const void* notice, size_t bytes, F&& f) {
  const char* at = static_cast<const char*>(notice) + 8;
  size_t left = bytes < 8 ? 0 : bytes - 8;
  while (left > 8) {
    uint64_t piece = 0;
    __builtin_memcpy(&piece, at, 8);
    if (piece == 0 || piece > left - 8) return;
    f(at + 8, static_cast<size_t>(piece));
    const size_t all = 8 + (piece + 7) / 8 * 8;
    if (all > left) return;
    at += all;
    left -= all;
  }
}

}  // namespace fgmpi::check
