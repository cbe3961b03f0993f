// Shared file pointers: a number at the leader's process. Other processes fetch it and add to it by
// a notice and its answer.
//
//   | file 8 | cookie 8 | value 8 | kind 1 |
//
// kind: ask (value: what to add) or answer (value: the number from before).
//
// Thread rule: one thread; functions that wait say so. There are no hidden files and no locks: an
// access costs one message and its answer.
#pragma once

#include "file/file.h"

namespace fgmpi::file {

/// Makes this process handle the notices from now on. May be called any number of times.
void start_messages();
/// Add and remove the file to which notices of its context id belong.
void register_shared(SharedFile* shared);
void drop_shared(SharedFile* shared);

}  // namespace fgmpi::file
