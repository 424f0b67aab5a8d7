// The training thread: computes micro-batches on the current state until a freeze takes their sum,
// and applies the updates that the swarm has committed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include "boinc_app/training/replica.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/trainer.hpp"

namespace dedloc::training {

/// Settings of a SwarmTrainer.
struct SwarmTrainerOptions {
    PeerKey peer;                   ///< seeds the samples that this peer draws (task.hpp)
    unsigned threads = 1;           ///< compute threads of torch
    std::uint64_t micro_batch = 1;  ///< samples computed at once, in whole units
    /// Called once from the training thread when it fails (out of memory, a lost device), within
    /// the handler of the exception: std::current_exception() has it.
    std::function<void(const std::string& sentence)> failed;
};

/// The Trainer of the training app. It starts without a state and waits for action::Load.
///
/// The contribution to step k is the sum of the gradients of samples 0, 1, 2 … n − 1, added in
/// whole micro-batches in that order from zero. step_random(seed, peer, k) determines the samples.
/// After a sum is dropped (pause, load) the next one starts again at sample 0, so the number of
/// samples in the ledger always tells which samples were summed. With overlap a contribution to
/// step k + 1 begins with those samples of step k that follow the ones in the contribution to
/// step k (peer/round/overlap.md).
///
/// Answers  A pause and a load end the current micro-batch at once: its samples are dropped. A
///          freeze and an update let it end for half a second, then drop it too, unless no other
///          micro-batch is in the sum. "At once" is between two operations of the model.
/// Memory   the replica's (footprint.hpp). A pause gives that of a GPU back.
/// Threads  its own one, which also emits the events; calls come from one other thread.
class SwarmTrainer final : public Trainer {
  public:
    /// `run` and `replica` must outlive it. The training thread alone uses `replica`.
    SwarmTrainer(const formats::RunFile& run, Replica& replica, SwarmTrainerOptions options,
                 EventSink sink);
    /// Ends the current micro-batch at once.
    ~SwarmTrainer() override;
    SwarmTrainer(const SwarmTrainer&) = delete;
    SwarmTrainer& operator=(const SwarmTrainer&) = delete;

    /// From now on the training thread computes in this share of the time and rests in the other,
    /// in turns of a tenth of a second or one operation of the model. It does not rest while a
    /// freeze or an update waits. Requires 0 < share ≤ 1 (DEDLOC_CHECK). Thread: any.
    void limit(double share);

    /// Takes a copy of the state, or nothing if there is none. Thread: the training thread.
    using TakeCopy = std::function<void(std::optional<event::SnapshotTaken>)>;
    /// As action::TakeSnapshot, but the copy goes to `take` and not to the sink. Thread: any.
    void copy(TakeCopy take);

    /// Queues the action for the training thread.
    void perform(TrainerAction action) override;

  private:
    struct Copy {
        TakeCopy take;
    };
    struct Stop {};
    using Command = std::variant<TrainerAction, Copy, Stop>;
    class Worker;

    void give(Command command);
    /// Tells the training thread how long it may go on with its micro-batch.
    void interrupt(const Command& command);
    void run(Worker& worker);
    /// Rests if it is time to. Ends at once when a command comes that does.
    void rest();

    std::mutex mutex_;
    std::condition_variable given_;
    std::deque<Command> commands_;  // bounded: kMaxCommands
    /// Whether a queued command ends the micro-batch at once. Set by give(); the training thread
    /// resets it, under the mutex, when the queue is empty.
    std::atomic<bool> must_stop_{false};
    /// When a queued freeze or update ends the micro-batch; kNever without one. Set and reset as
    /// must_stop_.
    std::atomic<TimePoint> freeze_by_{kNever};
    std::atomic<double> share_{1};  ///< the part of the time in which to compute
    TimePoint worked_until_{};      ///< the training thread's: until then its work is counted
    Duration worked_{};             ///< the training thread's: its work since the last rest
    std::unique_ptr<Worker> worker_;
    std::thread thread_;
};

}  // namespace dedloc::training
