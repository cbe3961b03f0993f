// Standard input, output and error that whoever has started the process has closed.
//
// The next descriptor that is opened would have the number of a closed one: a socket of this
// library or of hydra, which the program's printf() would write to, and its scanf() read from.
//
// Thread rule: one thread, before there are others. Nothing here switches.
#pragma once

namespace fgmpi {

/// Opens /dev/null in place of the closed ones. Called before a process opens anything.
void open_standard_files();

}  // namespace fgmpi
