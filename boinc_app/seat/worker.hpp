// What a seat does between the messages of its peer: it trains (training_worker.hpp) or only
// averages (averaging_worker.hpp). The seat knows no more of it than this interface, so it needs no
// libtorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "boinc_app/seat/saved_state.hpp"
#include "kernels/workers.hpp"
#include "peer/base/digest.hpp"
#include "peer/trainer.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::seat {

/// Takes a worker's state, to save it, or nothing if it holds none. Thread: the worker's.
using TakeState = std::function<void(std::optional<StateToSave>)>;

/// The work of one seat. It outlives the network thread, which calls trainer().
class Worker {
  public:
    virtual ~Worker() = default;

    /// What the peer is in its swarm: Role::kTrainer, or Role::kAggregator, which holds no state.
    virtual Role role() const = 0;
    /// Gets the peer's commands.
    virtual Trainer& trainer() = 0;
    /// From now on it computes in this share of the time. Requires 0 < share ≤ 1.
    virtual void limit(double share) = 0;
    /// What computes, such as "4 CPUs"; for the log and the status page.
    virtual std::string device() const = 0;
    /// What it holds in memory, beside the `kept_averages` that the peer keeps; one line for the
    /// log.
    virtual std::string memory_line(std::uint32_t kept_averages) const = 0;
    /// Gives a copy of the state to `take`, once the present micro-batch is over. Only a trainer's.
    virtual void copy_state(TakeState take) = 0;
};

/// What a seat gives to its worker. The references outlive it.
struct WorkerParts {
    PeerKey peer;                     ///< the seat's key
    const kernels::Workers& workers;  ///< threads, shared with the network thread
    unsigned cpus = 1;                ///< that the job may keep busy
    std::optional<unsigned> gpu{};    ///< number of the GPU that the job was given
    /// Folder that outlives the job and is shared by the project's jobs on this machine; empty:
    /// none.
    std::filesystem::path shared_folder{};
    EventSink sink;  ///< takes the answers to the peer's commands
    /// Called once when the worker fails, within the handler of the exception:
    /// std::current_exception() has it. Thread: any.
    std::function<void(const std::string& sentence)> failed;
};

/// Makes the worker of a seat, once. Its errors are those of Seat's constructor.
using MakeWorker = std::function<std::unique_ptr<Worker>(const WorkerParts& parts)>;

}  // namespace dedloc::seat
