/* fgmpi-python: the Python interpreter as a program of MPI, for several ranks a process.
 *
 * Debian's python3 has the interpreter in the executable, which is not position-independent. This
 * program has it as a shared library, which is private (src/privatize/load/libraries.h), as are the
 * extension modules that a rank imports: each rank has its own interpreter, with its own modules,
 * lock and threads. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "own_library.h"

/* Called before all constructors. */
__attribute__((section(".preinit_array"),
               used)) static void (*const g_use_own_library)(int, char**, char**) = use_own_library;

int main(int argc, char** argv) { return Py_BytesMain(argc, argv); }
