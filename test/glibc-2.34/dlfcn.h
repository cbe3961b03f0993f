// <dlfcn.h> as before glibc 2.35, without _dl_find_object(). The preset `minimal` finds this folder's headers first.
#define dl_find_object fgmpi_hidden_dl_find_object
#define _dl_find_object fgmpi_hidden_find_object
#include_next <dlfcn.h>
#undef dl_find_object
#undef _dl_find_object
#undef DLFO_STRUCT_HAS_EH_DBASE
