// Published names (MPI-4.0 section 11.8.4), between the processes of a user on a host.
//
// A name is a file in a folder that only the user can enter: $XDG_RUNTIME_DIR/fgmpi-names, or
// /tmp/fgmpi-names-UID. The file's name is a hash of the service's name; the file contains its
// publisher, the service's name and the port's. The names of a process that have not been withdrawn
// are removed when it ends. The name of a process that was killed counts as not published, and is
// replaced.
// Thread rule: one thread; nothing here switches, system calls block.
#pragma once

#include <string>

#include "base/status.h"

namespace fgmpi::dynamic {

/// Errors: MPI_ERR_SERVICE when the name is published already, MPI_ERR_OTHER when the folder cannot
/// be used.
Status publish_name(const std::string& service, const std::string& port);
/// Errors: MPI_ERR_SERVICE when this process has not published the name.
Status unpublish_name(const std::string& service);
/// Errors: MPI_ERR_NAME when no process has published the name.
Status lookup_name(const std::string& service, std::string* port);
/// Withdraws all names that this process has published.
void withdraw_names();

/// The functions of the launcher's name service (bootstrap/bootstrap.h), which is used beside
/// the files.
struct LauncherNames {
  bool (*publish)(const std::string& service, const std::string& port) = nullptr;
  bool (*unpublish)(const std::string& service) = nullptr;
  bool (*lookup)(const std::string& service, std::string* port) = nullptr;
};
void set_launcher_names(const LauncherNames& names);

}  // namespace fgmpi::dynamic
