// What other processes are to be told, several pieces in one notice (MPIX_Tool_notify), in the
// order in which they were said:
//
//   kSeveral, 7 bytes | bytes of a piece, 8 bytes | the piece, up to a multiple of 8 | bytes of the next ...
//
// Wins where many ranks of a process say something at the same time, above all in collectives: a
// notice takes longer than what all the rest of the checker does with the call. A piece goes on its
// way when told_now() is called, when the ranks of this process have made as many more calls as
// told_within() was given, when all of them wait (so before a deadlock is reported), when a rank
// ends, and before another process is answered that what was said before has been sent. Thread
// rule: as Call (call.h). Only send_told() and answer() poll: what comes in then may change all
// that agreement.cc keeps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace fgmpi::check {

inline constexpr size_t kMostNotice = 1000;
inline constexpr size_t kMostPiece = kMostNotice - 16;

struct ToldLater {
  bool any = false, now = false;
  int calls = 0;  ///< until it is sent
};
extern ToldLater g_told_later;

/// Memory for one more piece, at an address that is a multiple of 8. REQUIRES: at most kMostPiece;
/// that it is filled before anything else of this file is called. To be followed by told_now() or
/// told_within().
void* add_piece(int process, size_t bytes);

/// The last piece that the process is to be told, which may still be changed; null: there is none.
struct LastPiece {
  void* data = nullptr;
  size_t bytes = 0;
};
LastPiece last_piece(int process);
/// Makes it longer, at the same address; false: its notice is full.
bool grow_last_piece(int process, size_t more);

/// What is there is to be sent by the next progress_by_call().
inline void told_now() { g_told_later.now = g_told_later.any; }
/// It may wait for so many calls of the ranks of this process.
inline void told_within(int calls) { g_told_later.calls = std::min(g_told_later.calls, calls); }
/// Sends all.
void send_told();
/// Sends what the process is to be told.
void send_told_to(int process);
/// Another process asks whether all that was said before has been sent: sends it, then the answer,
/// a notice of its own.
void answer(int process);

/// A call begins or ends: what is due is sent.
inline void progress_by_call() {
  if (g_told_later.any && (g_told_later.now || --g_told_later.calls <= 0)) send_told();
}

/// f(piece, its bytes) for each piece of a notice that has come in; ends at one that cannot be.
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
