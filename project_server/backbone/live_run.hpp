// Publishes what happens to the run on the control plane (project_server/control), and keeps the
// picture that new subscribers get.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "peer/events.hpp"
#include "peer/formats/run_file.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/control/messages.hpp"
#include "project_server/control/sockets.hpp"

namespace dedloc::backbone {

/// The events of one run. Publishing costs microseconds and never waits for a subscriber.
class LiveRun {
  public:
    /// A run whose last pause is `pause` and whose last mixture is `mixture` (null: none), and
    /// without a history.
    LiveRun(const formats::RunFile& run, const std::optional<SignedPause>& pause,
            const SharedMixture& mixture = nullptr);
    LiveRun(const LiveRun&) = delete;
    LiveRun& operator=(const LiveRun&) = delete;

    /// A record of the ledger, in order: at first the old ones, then each new one.
    void take(const LedgerRecord& record);
    /// Listens at this path: from now on events are published. Errors: IoError.
    void open(const std::string& path);

    // Thread: the network thread.
    void settled(const action::Settled& settled);
    void swarm_seen(const action::SwarmSeen& swarm);
    void pause_changed(const action::PauseChanged& changed);
    void mixture_changed(const action::MixtureChanged& changed);
    void finished();
    void suspected(const control::Suspicion& suspicion);

    /// The picture now. Thread: any.
    control::Snapshot picture() const;
    /// The last pause. Thread: any.
    std::optional<SignedPause> pause() const;
    /// The last change of the mixture; null lists: none. Thread: any.
    action::MixtureChanged mixture() const;
    /// Waits until the mixture has this version, or a higher one; false after `limit`. Thread: any
    /// but the network thread.
    bool await_mixture(std::uint64_t version, std::chrono::milliseconds limit) const;
    /// Waits until the run is paused, or is not, or is finished; returns its state then, or after
    /// `limit`. Thread: any but the network thread.
    control::RunState await_pause(bool is_paused, std::chrono::milliseconds limit) const;

  private:
    void happen(control::Happening what);
    void happen_locked(control::Happening what);
    control::RunState state() const;
    void take_commit(const LedgerCommit& commit);

    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    control::Snapshot picture_;              ///< guarded by mutex_
    std::optional<control::Socket> socket_;  ///< guarded by mutex_
    std::optional<SignedPause> pause_;       ///< guarded by mutex_
    action::MixtureChanged mixture_;         ///< guarded by mutex_
    bool is_finished_ = false;               ///< guarded by mutex_
    std::optional<LedgerSettled> settled_;   ///< the last one taken before open()
};

}  // namespace dedloc::backbone
