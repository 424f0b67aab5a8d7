// What the network and training threads have to tell main about a seat, behind one lock.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "boinc_app/slot_files.hpp"
#include "peer/events.hpp"

namespace dedloc {

/// How a seat stands.
struct SeatNews {
    StepIndex step;                      ///< updates the swarm has made, as far as we know
    Samples samples;                     ///< of ours in commits
    bool is_finished = false;            ///< the run has its last step
    std::optional<std::string> refusal;  ///< the swarm will not have us
    std::optional<std::string> failure;  ///< one of our threads cannot go on
    std::chrono::steady_clock::time_point last_sign;  ///< when the swarm last did something with us
};

/// Takes the core's actions that are for the host of the peer. Thread: any.
class SeatEvents {
  public:
    /// `journal` must outlive it and is written only here.
    SeatEvents(const PeerKey& peer, ReceiptJournal& journal);

    /// Our line is on disk before this returns, so before the update is applied. What cannot be
    /// written becomes a failure.
    void committed(const action::Committed& commit);
    void finished(const action::Finished& finished);
    void refused(const action::Refused& refused);
    /// The swarm gave us something to do.
    void seen();
    void failed(const std::string& sentence);

    SeatNews news() const;
    /// Returns at once when the news are an end, else after `limit` at the latest.
    SeatNews wait(std::chrono::milliseconds limit) const;

  private:
    bool is_over() const { return news_.is_finished || news_.refusal || news_.failure; }

    const PeerKey peer_;
    ReceiptJournal& journal_;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    SeatNews news_;
};

}  // namespace dedloc
