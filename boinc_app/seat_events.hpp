// What the network and training threads have to tell main about a seat, behind one lock.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "boinc_app/slot_files.hpp"
#include "peer/events.hpp"
#include "peer/net/reactor.hpp"

namespace dedloc {

/// How a seat stands.
struct SeatNews {
    StepIndex step;                      ///< updates the swarm has made, as far as we know
    Samples samples;                     ///< of ours in commits
    bool is_finished = false;            ///< the run has its last step
    std::optional<std::string> refusal;  ///< the swarm will not have us
    std::optional<std::string> failure;  ///< one of our threads cannot go on
    std::chrono::steady_clock::time_point last_heard;  ///< when anybody last sent us anything
};

/// The host of the peer. Thread: any; the calls of net::Host come from the network thread.
class SeatEvents final : public net::Host {
  public:
    /// `journal` must outlive it and is used only here.
    SeatEvents(const PeerKey& peer, ReceiptJournal& journal);

    /// A seat that is started again waits for a new view before it votes, so it keeps no votes.
    void voted(const action::Voted&) override {}
    /// Our line is on disk before this returns, so before the update is applied. Errors: IoError.
    void committed(const action::Committed& commit) override;
    /// Lines of steps that are void now go from the journal. Errors: IoError.
    void generation_begun(const action::GenerationBegun& begun) override;
    // Backbones only.
    void generation_wanted(const action::GenerationWanted&) override {}
    void read_history(const action::ReadHistory&) override {}
    void settled(const action::Settled&) override {}
    void swarm_seen(const action::SwarmSeen&) override {}
    void finished(const action::Finished& finished) override;
    void refused(const action::Refused& refused) override;
    void left(const action::Left& left) override;
    void note(const action::Note& note) override;
    void failed(const std::string& sentence) override;
    /// Somebody sent us something.
    void heard();

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
