// Files of a recorded run whose contents are in the recording (mpiexec -record-inputs).
//
// Before the run is repeated, each file is compared with what is kept of it. The repeated run gets
// a folder (rewind::kInputsFd) in which the file N is a link to the file where that is unchanged,
// and made of the kept contents where it is not. Costs the reading of all that is kept, twice where
// a file has changed. Thread rule: one thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "rewind/format.h"

namespace fgmpi::launcher {

class KeptInputs {
 public:
  KeptInputs() = default;
  ~KeptInputs();
  KeptInputs(const KeptInputs&) = delete;
  KeptInputs& operator=(const KeptInputs&) = delete;

  /// Makes the folder, and writes a line to standard error for files that have changed. Does
  /// nothing for a recording without kept contents. Errors: they are damaged; no room.
  Status make(int recording, const rewind::RecordingHeader& header);
  /// Called in the process that becomes the run: gives it the folder.
  Status place() const;

 private:
  struct KeptBlock {
    uint64_t block, at;  ///< where its bytes are in the recording
    rewind::SealedChunk head;
  };
  struct KeptVersion {
    rewind::KeptFile file{};
    bool is_described = false;
    std::vector<KeptBlock> blocks;
  };

  /// Forks a process that removes the folder when this one ends, however that is.
  Status guard_folder();
  Status read_index(const rewind::RecordingHeader& header);
  Status read_block(const KeptBlock& block, uint8_t* chunk) const;
  /// How the file differs from what is kept of it, in words; "": it does not.
  Status compare(const KeptVersion& kept, std::string* difference) const;
  Status write(const KeptVersion& kept, const std::string& path) const;

  int recording_ = -1;
  pid_t guard_ = 0;
  int guarded_ = -1;  ///< the guard waits until it is closed
  std::string folder_;
  std::map<uint64_t, KeptVersion> files_;
};

}  // namespace fgmpi::launcher
