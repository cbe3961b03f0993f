// The end of a process on its own account.
//
// A mark that it sets when it has ended in order, or has said why not: others that see it end then add
// nothing. An eventfd, which outlives the process in the hands of whoever holds a duplicate
// (src/bootstrap/watch.h), so that the mark is there whenever it is looked at after the end. And a last
// act, by which it tells the rest of its job before it goes.
#pragma once

namespace fgmpi {

/// The descriptor of the mark, made at the first call; -1 when there is none to be had.
int farewell_fd();

/// Sets the mark, if it was made. Async-signal-safe.
void say_farewell();

/// What end_process() does first, once: `tell` lets the other processes of the job know, which might
/// wait for this one for ever.
void set_last_act(void (*tell)(int status));
/// Does it.
void do_last_act(int status);

}  // namespace fgmpi
