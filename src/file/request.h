// Requests of files. Thread rule: one thread; nothing here switches.
#pragma once

#include "file/file.h"

namespace fgmpi::file {

class FileRequest : public pt2pt::Request {
 public:
  FileRequest(File* file, const char* call);
  ~FileRequest() override;
  void describe(std::string* out) const override;
  /// Called when the operation is over: its file may be closed from now on.
  void complete_operation();

  File* file;
};

}  // namespace fgmpi::file
