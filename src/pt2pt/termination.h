// When is a job of several processes deadlocked? Termination detection by counting, in two waves.
//
// A process is passive when all its proclets are parked for something that only MPI can bring, no
// timer runs, nothing is deferred or being pulled. Its fingerprint is <frames sent, frames
// received, switches made>: all three only grow, and any activity grows one of them (frames of the
// detection itself are left out).
//
// Process 0, once it has been passive for kPatience, asks everybody; a process answers when it is
// passive, with its fingerprint and whether that is the one of its answer to the wave before. When
// a wave has been answered, process 0, passive again, starts the second. If in the second all
// fingerprints are the same and the sums of frames sent and received are equal, then at the moment
// between the waves everybody was passive and nothing was on its way: a state that nothing can
// leave. So it is never reported falsely; and a wave over an active process just waits for it.
// Source: Mattern, "Algorithms for distributed termination detection", 1987 (the four-counter
// method).
//
// A fingerprint counts only while nothing is deferred, that is, on entry to on_passive(). A frame
// of the detection is counted by it when it is given away, but by the process when the transport
// has taken it: while one is deferred, the difference is too small, and would hide as many frames
// that are under way.
//
// Lost processes (lost.h). What was sent to them or came from them is in the counts of those that
// are left, and nobody can tell how much it is: the sums say nothing any more. Then every process
// that is asked first sends a mark to every other one, and answers once it has the marks of all:
// frames do not overtake each other, so whatever was sent to it before has come. The second wave's
// answers then say the same as equal sums do. Whoever has the lowest number among those that are
// left asks; a wave in which somebody learns of another loss is given up. Questions, marks and
// answers name the losses that they count on, so that only processes that know of the same ones are
// in a wave. That takes as many frames as there are pairs of processes, in jobs that have lost some
// and seem to be deadlocked.
//
// Other jobs. While a process is connected with another job, that one may still send something, and
// nobody here knows: its answers say so, and then nothing is reported, but a limit that keeps
// messages of the own job waiting gives way all the same. Coming and going of connections is
// counted in the fingerprint, so what the second wave's answers say was so between the waves, too.
//
// Thread rule: host stack; on_notice() runs inside poll.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fgmpi::pt2pt {

/// What follows when nothing can move any more.
enum class Verdict : uint8_t {
  kJobEnds,    ///< it has been reported
  kReported,   ///< the job stays as it is
  kGivesWay,   ///< every process gives way: the job goes on
  kLookAgain,  ///< neither
};

/// What the detection sees of its process, and how it reaches the others.
class DetectionSite {
 public:
  struct Counts {
    /// Of all kinds, those that are deferred not among them.
    uint64_t frames_sent, frames_received;
    uint64_t switches;  ///< and changes of others()
  };
  virtual ~DetectionSite() = default;
  virtual Counts counts() const = 0;
  virtual int64_t now_ns() const = 0;
  /// Processes that are known here to have failed. The list only grows.
  virtual const std::vector<uint32_t>& lost() const = 0;
  /// Other jobs may still send something to this process.
  virtual bool others() const = 0;
  /// Sends or defers a frame.
  virtual void send(uint32_t process, uint64_t word, const void* data, size_t bytes) = 0;
  /// Who waits for what in this process, as bytes for the wire.
  virtual std::string local_report() const = 0;
  /// The process that asks: all have sent theirs, parts[p] being process p's; that of a lost one is
  /// empty. What is to be done about it; `others`: other jobs may still send something to any
  /// process, so that nothing may be reported.
  virtual Verdict judge(const std::vector<std::string>& parts, bool others) = 0;
  /// Messages that only the limit of buffering holds back are taken in.
  virtual void give_way() = 0;
  /// A notice that cannot be was dropped.
  virtual void refused() = 0;
};

class Detection {
 public:
  static constexpr int64_t kPatience = 500'000'000;  ///< ns; jobs end long before they are asked
  /// Bytes of a process's part of the report. It is bounded by counts (report.h), not by bytes,
  /// since names are the program's; this is far more than these come to.
  static constexpr size_t kMostPart = 4 << 20;

  /// Sets *watched while due() is to be asked at every poll.
  Detection(DetectionSite* site, uint32_t me, uint32_t processes, bool* watched)
      : site_(site), watched_(watched), me_(me), processes_(processes), left_(processes) {}

  /// A frame that another process's detection has sent.
  void on_notice(uint32_t from, uint64_t word, const void* data, size_t bytes);
  /// REQUIRES: this process is passive and nothing is deferred. True when the job is to end.
  bool on_passive();
  /// site->lost() has grown.
  void on_loss() { news_ = *watched_ = true; }
  /// Asked while *watched: on_passive() is to be called again, as soon as this process is passive.
  bool due();
  bool over() const { return over_; }

 private:
  struct Fingerprint {
    uint64_t sent = 0, received = 0, switches = 0;
    bool operator==(const Fingerprint&) const = default;
  };
  /// A question, or a mark of one who has been asked.
  struct Question {
    uint64_t losses = 0;  ///< a name of the set of lost processes; 0: of none
    uint32_t wave = 0;
    uint32_t from = 0;
    bool operator==(const Question&) const = default;
  };
  struct Answer {
    uint64_t losses;
    uint32_t wave;
    uint16_t same, others;
    uint64_t sent, received;
  };

  Fingerprint fingerprint() const;
  bool is_lost(uint32_t process) const { return !lost_.empty() && lost_[process]; }
  bool asks() const { return me_ == asking_; }
  bool some_are_lost() const { return left_ < processes_; }
  void look_for_losses();
  template <class F>
  void for_others(F&& f) const;
  void tell(uint32_t process, uint64_t word, const void* data, size_t bytes);
  void tell_others(uint64_t word, const void* data, size_t bytes);
  void take(const Answer& answer);
  bool is_asked() const;
  bool all_have_marked() const;
  void answer_if_asked(const Fingerprint& now);
  void start_wave(const Fingerprint& now);
  void judge();
  void coordinate();
  void collect();
  void send_report(uint32_t to, uint32_t wave);
  void take_part(uint32_t from, uint32_t wave, bool last, const void* data, size_t bytes);
  void finish_report();

  DetectionSite* site_;
  bool* watched_;
  uint32_t me_, processes_;
  uint64_t notices_sent_ = 0, notices_received_ = 0;
  // Every process: who asks, the wave that waits for an answer, and the last answer.
  uint32_t asking_ = 0;
  Question asked_;
  uint32_t answered_ = 0;
  Fingerprint last_;
  // Once some are lost:
  size_t known_losses_ = 0;      ///< of site_->lost()
  uint32_t left_;                ///< processes that are not lost
  uint64_t losses_ = 0;          ///< the name of their set
  std::vector<bool> lost_;       ///< by process
  uint32_t marked_ = 0;          ///< the wave for which this process has sent its marks
  std::vector<Question> marks_;  ///< the last one of each process
  /// A notice came, perhaps while this process slept: on_passive() is to look at it.
  bool news_ = false;
  bool over_ = false;  ///< reported: the job ends
  // The process that asks.
  uint32_t wave_ = 0;     ///< 0: none yet
  uint32_t missing_ = 0;  ///< answers to this wave
  bool all_same_ = false, others_ = false;
  uint64_t sent_ = 0, received_ = 0;
  bool judged_ = true;       ///< this wave's answers have been looked at
  bool second_due_ = false;  ///< the last wave is complete and worth another
  bool due_told_ = false;    ///< that patience has ended
  int64_t parked_since_ = -1;
  Fingerprint parked_as_;
  bool collecting_ = false, reported_ = false;
  std::vector<std::string> parts_;  ///< as far as they have come
  std::vector<bool> complete_;      ///< which of them have come whole
};

}  // namespace fgmpi::pt2pt
