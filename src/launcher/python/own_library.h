/* The library of the environment's own interpreter.
 *
 * A wheel (scripts/package --wheel) has a libpython inside, of the Python with which it was built.
 * Where it is installed for another release of the same version, say 3.11.7 instead of 3.11.2, that
 * libpython does not fit the environment's compiled modules: these use names that are not a part of
 * Python's stable interface. So the libpython of the environment's interpreter is used where it has
 * one. The file pyvenv.cfg of a virtual environment tells the folder of the interpreter.
 *
 * Thread rule: the code runs once, before any constructor, also before those of the MPI library,
 * which makes the copies of libpython for ranks. */
#pragma once

/* Executes the program anew with the environment's libpython, where there is one and it has not
 * been done. Writes one line where there is none and the library inside is of another release.
 * envp loses what the first start has added, but for a number that marks the process. */
void use_own_library(int argc, char** argv, char** envp);
