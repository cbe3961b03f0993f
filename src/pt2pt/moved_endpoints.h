// Endpoints of ranks that move, in jobs of let_ranks_move(): the engine's side of forwarding.h.
//
// In such a job a user's message to a rank of the job has the destination <kByWorld, world rank>
// (ch4-av-rankmap/av.h), for which each send finds the process anew: at home as ever, or by an
// item. Only messages on the plane of point-to-point move with a rank; everything else
// (collectives, windows, partitioned requests) stays at its home's endpoint.
//
// What holds for a rank that moves:
//   messages      arrive once, in order, with any receive or probe (forwarding.h)
//   eager         a forwarded message is whole; its credit goes to the process that gave it. Those
//                 that are sent as items have a window of their own, one a process
//   rendezvous    is handed over with the sender's number, and the new host asks the sender's
//                 process for data frames: data is never copied by a process between them
//   collocated    a sender that waits at an endpoint that leaves becomes a rendezvous, and again a
//                 waiting sender where its message comes back to its process
//   synchronous, past the limit   the answer goes from the host to the sender's process
//   ready         as standard sends, as everywhere in this module
//   cancelled     the cancel follows its message on all its ways, and finds it where it is; a
//                 rendezvous that comes back to its process first is withdrawn there
//   probes        see a message when it is in an endpoint, not while it is held or under way; one
//                 that finds nothing waits until all that the rank had has followed it
//   termination   items and notes are frames, counted like others. Whatever is kept waits for a
//                 frame that is under way (forwarding.h), so a job that keeps any is not at rest
//   names         reports show a visitor's world rank; a send names its destination's world rank
//
// What keeps a rank where it is (depart() says so): a posted receive or a probe that waits; a
// message of which only some frames have come; a message that is being pulled past the limit;
// messages that have not been handed over yet; a decider (mpiexec -explore, -predict); a failed
// process (mpiexec -ft). The caller sees to what this layer cannot see: no
// send of the rank is under way, no receive of it is being filled, it holds no message of a matched
// probe, and its record travels in frames (notices), or something else keeps the process from being
// parked, since a rank that is in no process is missed by the detection of termination.
//
// Frames. Items: kMoving has the message's ctx, src_rank, tag, size and cookie in the header, and
// in front of the first bytes of an eager message
//
//     0       4        8        12       16        20    21     22        23       24
//    | world | process | target | sender | account | leg | kind | request | answer |
//
// kMovingMore has the rest (addr: offset); no other item of the process comes between. kMoveNote:
// tag is the note, ctx the world rank, size the argument; of a credit, the process and the bytes.
// A frame that says what cannot be is dropped and counted. Thread rule: one thread. Nothing here
// switches.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "pt2pt/pt2pt.h"

namespace fgmpi::pt2pt {

/// To be called before sinks() and init(), in each process of the job. False: a later init() is for
/// a job whose ranks stay.
void let_ranks_move(bool move = true);

/// May the rank's endpoint leave? Otherwise the words say what keeps it. `local`: its index here.
Status may_depart(uint32_t world, uint32_t local);
/// Has this rank come, and its messages are still on their way? False for helpers.
bool messages_follow(const sched::Proclet* rank);
/// Gives up the endpoint of a rank that leaves for another process. MPI_ERR_ARG, MPI_ERR_PENDING:
/// nothing has changed.
Status depart(uint32_t world, uint32_t local, uint32_t process);
/// Makes `local` the endpoint of a rank that has come: an index behind all own ranks and other
/// visitors, or, at home, the rank's own. Its messages may follow later.
Status arrive(uint32_t world, uint32_t local);

/// Appends what is kept here for ranks that move, in words; for reports and tests.
void describe_moved(std::string* out);

}  // namespace fgmpi::pt2pt
