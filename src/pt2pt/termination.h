// When is a job of several processes deadlocked? Termination detection by counting, in two waves.
//
// A process is passive when all its proclets are parked for something that only MPI can bring, no
// timer runs, and nothing is deferred or being pulled. Its fingerprint is <frames sent, frames
// received, switches made>. All three only grow, and any activity grows one of them. Frames of the
// detection itself are not counted.
//
// Process 0, once it has been passive for kPatience, asks every process. A process answers when it
// is passive: with its fingerprint, and whether that equals the fingerprint of its answer to the
// wave before. When all have answered and process 0 is passive again, it starts the second wave.
// If in the second wave all fingerprints are unchanged, and the sums of frames sent and received
// are equal, then at the moment between the waves every process was passive and no frame was under
// way: a state that nothing can leave. So a deadlock is never reported falsely. A wave that meets
// an active process waits until that process is passive.
// Source: Mattern, "Algorithms for distributed termination detection", 1987 (the four-counter
// method).
//
// A fingerprint counts only while nothing is deferred, that is, on entry to on_passive(). The
// detection counts a frame of its own when it hands the frame on; the process counts it when the
// transport has accepted it. While such a frame is deferred, the difference of the two counts is
// too small, and would hide as many frames that are under way.
//
// Lost processes (lost.h). Frames sent to them or received from them are in the counts of the
// survivors, and nobody can find out how many they are: the sums prove nothing any more. Then each
// process that is asked first sends a mark to every other process, and answers once it has the
// marks of all. Frames do not overtake each other, so everything that was sent to it before has
// arrived. The second wave's answers then prove what equal sums prove otherwise. The survivor with
// the lowest number asks. A wave in which a process learns of another loss is given up. Questions,
// marks and answers name the losses that they assume, so that a wave has only processes that have
// recorded the same losses. Its cost is as many frames as there are pairs of processes, paid only
// in jobs that have lost some and seem to be deadlocked.
//
// Other jobs. While a process is connected with another job, that job may still send something, and
// this job cannot find out whether it will. The process's answers report this to process 0. Nothing
// is reported then, but a limit that holds back messages within the job gives way all the same.
// The fingerprint counts connections and disconnections too, so the second wave's answers about
// them were also true between the waves.
//
// Thread rule: host stack; on_notice() runs inside poll.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fgmpi::pt2pt {

/// What the asking process decides when nothing in the job can move any more.
enum class Verdict : uint8_t {
  kJobEnds,     ///< the deadlock has been reported
  kReported,    ///< the job stays as it is
  kGivesWay,    ///< every process gives way: the job goes on
  kCheckAgain,  ///< neither: detection goes on
};

/// What the detection sees of its process, and how it reaches the others.
class DetectionSite {
 public:
  struct TrafficCounts {
    /// Frames of all kinds, without those that are deferred.
    uint64_t frames_sent, frames_received;
    uint64_t switches;  ///< switches made, and changes of others()
  };
  virtual ~DetectionSite() = default;
  virtual TrafficCounts counts() const = 0;
  virtual int64_t now_ns() const = 0;
  /// Processes recorded here as failed. The list only grows.
  virtual const std::vector<uint32_t>& lost() const = 0;
  /// Other jobs may still send something to this process.
  virtual bool others() const = 0;
  /// Sends or defers a frame.
  virtual void send(uint32_t process, uint64_t word, const void* data, size_t bytes) = 0;
  /// Who waits for what in this process, encoded as bytes for the wire.
  virtual std::string local_report() const = 0;
  /// Called in the asking process when all processes have sent their reports: parts[p] is that of
  /// process p, empty where p is lost. Returns what is to be done. `others`: other jobs may still
  /// send something to some process, so that nothing may be reported.
  virtual Verdict judge(const std::vector<std::string>& parts, bool others) = 0;
  /// Accepts messages that only the limit of buffering holds back.
  virtual void give_way() = 0;
  /// Records that an impossible notice was dropped.
  virtual void refused() = 0;
};

class Detection {
 public:
  /// How long process 0 is passive before it asks, in ns. Most jobs end before that.
  static constexpr int64_t kPatience = 500'000'000;
  /// Most bytes of one process's report. The report is bounded by counts (report.h), not by bytes,
  /// since names are the program's; this is far more than those counts amount to.
  static constexpr size_t kMostPart = 4 << 20;

  /// Sets *watched while due() is to be called at every poll.
  Detection(DetectionSite* site, uint32_t me, uint32_t processes, bool* watched)
      : site_(site), watched_(watched), me_(me), processes_(processes), left_(processes) {}

  /// Handles a frame that another process's detection has sent.
  void on_notice(uint32_t from, uint64_t word, const void* data, size_t bytes);
  /// REQUIRES: this process is passive and nothing is deferred. True when the job is to end.
  bool on_passive();
  /// To be called when site->lost() has grown.
  void on_loss() { news_ = *watched_ = true; }
  /// Called at each poll while *watched. True: on_passive() is to be called again, as soon as this
  /// process is passive.
  bool due();
  bool over() const { return over_; }

 private:
  struct Fingerprint {
    uint64_t sent = 0, received = 0, switches = 0;
    bool operator==(const Fingerprint&) const = default;
  };
  /// A question, or a mark of a process that has been asked.
  struct WaveQuestion {
    uint64_t losses = 0;  ///< the number of the set of lost processes; 0: none is lost
    uint32_t wave = 0;
    uint32_t from = 0;
    bool operator==(const WaveQuestion&) const = default;
  };
  struct WaveAnswer {
    uint64_t losses;
    uint32_t wave;
    uint16_t same, others;
    uint64_t sent, received;
  };

  Fingerprint fingerprint() const;
  bool is_lost(uint32_t process) const { return !lost_.empty() && lost_[process]; }
  bool asks() const { return me_ == asking_; }
  bool some_are_lost() const { return left_ < processes_; }
  void check_for_losses();
  template <class F>
  void for_others(F&& f) const;
  void send_word(uint32_t process, uint64_t word, const void* data, size_t bytes);
  void send_to_others(uint64_t word, const void* data, size_t bytes);
  void add_answer(const WaveAnswer& answer);
  bool is_asked() const;
  bool all_have_marked() const;
  void answer_if_asked(const Fingerprint& now);
  void start_wave(const Fingerprint& now);
  void judge();
  void coordinate();
  void collect();
  void send_report(uint32_t to, uint32_t wave);
  void receive_part(uint32_t from, uint32_t wave, bool last, const void* data, size_t bytes);
  void finish_report();

  DetectionSite* site_;
  bool* watched_;
  uint32_t me_, processes_;
  uint64_t notices_sent_ = 0, notices_received_ = 0;
  // In every process: which process asks, the wave that waits for an answer, and the last answer.
  uint32_t asking_ = 0;
  WaveQuestion asked_;
  uint32_t answered_ = 0;
  Fingerprint last_;
  // Used once some processes are lost.
  size_t known_losses_ = 0;          ///< how many entries of site_->lost() have been handled
  uint32_t left_;                    ///< processes that are not lost
  uint64_t losses_ = 0;              ///< the number of the set of lost processes
  std::vector<bool> lost_;           ///< by process
  uint32_t marked_ = 0;              ///< the wave for which this process has sent its marks
  std::vector<WaveQuestion> marks_;  ///< the last one of each process
  /// A notice has arrived, perhaps while this process slept: on_passive() is to handle it.
  bool news_ = false;
  bool over_ = false;  ///< reported: the job ends
  // Used in the process that asks.
  uint32_t wave_ = 0;     ///< number of the current wave; 0: none yet
  uint32_t missing_ = 0;  ///< answers to this wave that have not arrived
  bool all_same_ = false, others_ = false;
  uint64_t sent_ = 0, received_ = 0;
  bool judged_ = true;         ///< this wave's answers have been evaluated
  bool second_due_ = false;    ///< the last wave is complete and justifies a second
  bool due_reported_ = false;  ///< due() has returned true since patience ended
  int64_t parked_since_ = -1;
  Fingerprint parked_as_;
  bool collecting_ = false, reported_ = false;
  std::vector<std::string> parts_;  ///< reports of processes, as far as they have arrived
  std::vector<bool> complete_;      ///< which of them have arrived whole
};

}  // namespace fgmpi::pt2pt
