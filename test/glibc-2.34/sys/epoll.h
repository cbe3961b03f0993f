// <sys/epoll.h> as before glibc 2.35, without epoll_pwait2(). The preset `minimal` finds this folder's headers first.
#define epoll_pwait2 fgmpi_hidden_epoll_pwait2
#include_next <sys/epoll.h>
#undef epoll_pwait2
