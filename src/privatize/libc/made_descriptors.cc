// Functions of the C library that make descriptors: ranks that may be saved learn which are theirs.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "privatize/internal.h"
#include "privatize/libc/rank_descriptors.h"
#include "privatize/libc/waits.h"

using namespace fgmpi::privatize;

#define FGMPI_CALLER __builtin_return_address(0)

/// A function that returns the descriptor.
#define FGMPI_MAKES(name, parameters, arguments, types, ...) \
  FGMPI_INTERPOSE int name parameters __VA_ARGS__ {          \
    static constinit Real<int types> real(#name);            \
    return give_descriptor(real arguments, FGMPI_CALLER);    \
  }
/// A function that stores two.
#define FGMPI_MAKES_PAIR(name, parameters, arguments, types, ...) \
  FGMPI_INTERPOSE int name parameters __VA_ARGS__ {               \
    static constinit Real<int types> real(#name);                 \
    const int result = real arguments;                            \
    if (result != 0) return result;                               \
    pair[0] = give_descriptor(pair[0], FGMPI_CALLER);             \
    pair[1] = give_descriptor(pair[1], FGMPI_CALLER);             \
    return result;                                                \
  }

FGMPI_MAKES(dup, (int fd), (fd), (int), noexcept)
FGMPI_MAKES(socket, (int domain, int type, int protocol), (domain, type, protocol), (int, int, int),
            noexcept)
FGMPI_MAKES(eventfd, (unsigned count, int flags), (count, flags), (unsigned, int), noexcept)
FGMPI_MAKES(epoll_create, (int size), (size), (int), noexcept)
FGMPI_MAKES(epoll_create1, (int flags), (flags), (int), noexcept)
FGMPI_MAKES(timerfd_create, (clockid_t clock, int flags), (clock, flags), (clockid_t, int),
            noexcept)
FGMPI_MAKES(signalfd, (int fd, const sigset_t* mask, int flags), (fd, mask, flags),
            (int, const sigset_t*, int), noexcept)
FGMPI_MAKES(inotify_init, (), (), (), noexcept)
FGMPI_MAKES(inotify_init1, (int flags), (flags), (int), noexcept)
FGMPI_MAKES(memfd_create, (const char* name, unsigned flags), (name, flags),
            (const char*, unsigned), noexcept)
FGMPI_MAKES(shm_open, (const char* name, int flags, mode_t mode), (name, flags, mode),
            (const char*, int, mode_t))
FGMPI_MAKES(mkstemp, (char* path), (path), (char*))
FGMPI_MAKES(mkstemp64, (char* path), (path), (char*))
FGMPI_MAKES(mkostemp, (char* path, int flags), (path, flags), (char*, int))
FGMPI_MAKES(mkstemps, (char* path, int suffix), (path, suffix), (char*, int))
FGMPI_MAKES_PAIR(pipe, (int* pair), (pair), (int*), noexcept)
FGMPI_MAKES_PAIR(pipe2, (int* pair, int flags), (pair, flags), (int*, int), noexcept)
FGMPI_MAKES_PAIR(socketpair, (int domain, int type, int protocol, int* pair),
                 (domain, type, protocol, pair), (int, int, int, int*), noexcept)
