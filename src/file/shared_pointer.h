// Shared file pointers: a number at the leader's process, which other processes fetch and add to by
// a notice and its answer.
//
//   | file 8 | cookie 8 | value 8 | kind 1 |     kind: ask (value: what to add) or answer (value: before)
//
// Thread rule: one thread; what waits says so. No hidden files, no locks: it is as fast as a
// message.
#pragma once

#include "file/file.h"

namespace fgmpi::file {

/// Notices are handled from now on. Any number of times.
void start_messages();
/// The files that notices of their context are about.
void register_shared(SharedFile* shared);
void drop_shared(SharedFile* shared);

}  // namespace fgmpi::file
