// Sessions: how they are finalized and begun again. What was made with them (groups, communicators)
// is described in terms of the job, as all else is.
#include "checkpoint/sessions.h"

#include <cstring>

#include "checkpoint/deputy.h"
#include "checkpoint/describe.h"
#include "checkpoint/moves.h"
#include "checkpoint/wrappers.h"

namespace fgmpi::checkpoint {
namespace {

constexpr const char* kThreadLevel = "thread_level";

/// The session gets at most MPI_THREAD_SERIALIZED: a rank's tables are not locked.
int begin_session(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  LayerRank* rank = current_rank();
  if (!rank || !session) return g_next.MPI_Session_init(info, errhandler, session);
  auto hints = info == MPI_INFO_NULL ? decltype(VirtualSession::info)()
                                     : contents_of(real_of(*rank, Object::kInfo, info));
  for (auto& [key, value] : hints)
    if (key == kThreadLevel && value == "MPI_THREAD_MULTIPLE") value = "MPI_THREAD_SERIALIZED";
  MPI_Info given = info_of(hints);
  const int code =
      g_next.MPI_Session_init(given, real_of(*rank, Object::kErrhandler, errhandler), session);
  g_next.MPI_Info_free(&given);
  if (code != MPI_SUCCESS) return code;
  if (!g_moves) rank->has_deputy = g_deputies;  // the rank itself has begun MPI
  VirtualSession* made = nullptr;
  const int handle = rank->sessions.add(&made);
  made->real = *session;
  *session = handle;
  return code;
}

int end_session(MPI_Session* session) {
  LayerRank* rank = current_rank();
  VirtualSession* found = rank && session ? rank->sessions.find(*session) : nullptr;
  if (!found) return g_next.MPI_Session_finalize(session);
  MPI_Session real = found->real;
  const int code = g_next.MPI_Session_finalize(&real);
  if (code != MPI_SUCCESS) return code;
  rank->sessions.remove(*session);
  *session = MPI_SESSION_NULL;
  return code;
}

}  // namespace

void describe_sessions(LayerRank& rank) {
  rank.sessions.for_each([&](MPI_Session, VirtualSession* session) {
    MPI_Info info = MPI_INFO_NULL;
    g_next.MPI_Session_get_info(session->real, &info);
    session->info = contents_of(info);
    g_next.MPI_Info_free(&info);
    MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;
    g_next.MPI_Session_get_errhandler(session->real, &handler);
    session->errhandler = virtual_of(rank, Object::kErrhandler, handler);
    g_next.MPI_Errhandler_free(&handler);
  });
}

void discard_sessions(LayerRank& rank) {
  rank.sessions.for_each(
      [](MPI_Session, VirtualSession* session) { g_next.MPI_Session_finalize(&session->real); });
}

void remake_sessions(LayerRank& rank) {
  rank.sessions.for_each([&](MPI_Session, VirtualSession* session) {
    MPI_Info info = info_of(session->info);
    g_next.MPI_Session_init(info, real_of(rank, Object::kErrhandler, session->errhandler),
                            &session->real);
    g_next.MPI_Info_free(&info);
  });
}

}  // namespace fgmpi::checkpoint

using namespace fgmpi::checkpoint;

FGMPI_BOTH(MPI_Session_init, (MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session),
           begin_session(info, errhandler, session))
FGMPI_BOTH(MPI_Session_finalize, (MPI_Session * session), end_session(session))
