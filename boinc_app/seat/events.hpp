// Events of a seat that the threads of network and worker pass to main, behind one lock.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "boinc_app/page/history.hpp"
#include "boinc_app/seat/saved_state.hpp"
#include "boinc_app/seat/slot_files.hpp"
#include "peer/events.hpp"
#include "peer/net/reactor.hpp"

namespace dedloc::seat {

/// What committed rounds have counted of a seat's work.
struct Work {
    Samples samples{};  ///< the whole job's
    Bytes averaged{};   ///< gradients of other members, since the process began
    /// Whether more was counted than in `other`.
    bool exceeds(const Work& other) const {
        return samples > other.samples || averaged > other.averaged;
    }
    bool operator==(const Work&) const = default;
};

/// The state of a seat.
struct News {
    StepIndex step;                      ///< updates of the swarm that we know of
    Work work;                           ///< ours, in committed rounds
    std::uint64_t generation = 0;        ///< the newest that we know of
    StepIndex first_step;                ///< where it began
    bool has_joined = false;             ///< a commit came since the last join
    bool is_paused = false;              ///< the project has paused the run
    std::string turn;                    ///< why this trainer is not in every round; empty: it is
    bool is_finished = false;            ///< the run has reached its last step
    std::optional<std::string> refusal;  ///< why the swarm has refused this peer
    std::optional<std::string> failure;  ///< why one of our threads has failed
    std::chrono::steady_clock::time_point last_heard;  ///< when the last frame of a peer arrived
};

/// The peer's host. Thread: any; the network thread calls perform().
class Events final : public net::Host {
  public:
    /// `codec` is the run's. `journal` must outlive it and is used only here.
    Events(const PeerKey& peer, Codec codec, ReceiptJournal& journal);

    /// The lines of the journal are on disk when this returns.
    void perform(const HostAction& action) override;
    /// Sets News::failure, unless it is set, and wakes wait().
    void failed(const std::string& sentence) override;
    /// A frame of a peer has arrived.
    void heard();
    /// This peer joins the swarm, or joins it again.
    void joining();
    /// Logs a line and keeps it for the volunteer.
    void tell(const std::string& line);

    /// The peer begins at this place, whose state was saved.
    void resumed(const StatePlace& place);
    /// The place of the state of this step. Nothing if the decision that led to it did not come
    /// here, or is not one of the last few.
    std::optional<StatePlace> place_of(StepIndex step) const;

    /// The state now.
    News news() const;
    /// What this process has seen so far.
    page::History history() const;
    /// Returns the state after `limit`, or at once when the run is finished or this peer was
    /// refused or has failed.
    News wait(std::chrono::milliseconds limit) const;

  private:
    /// Appends our line to the journal, before the update is applied.
    void on(const action::Committed& commit);
    /// Deletes the lines of void steps from the journal.
    void on(const action::GenerationBegun& begun);
    void on(const action::PauseChanged& changed);
    void on(const action::MixtureChanged&) {}  ///< a note says it
    void on(const action::TurnChanged& changed);
    // Finished and Refused set a field of News and wake wait().
    void on(const action::Finished& finished);
    void on(const action::Refused& refused);
    void on(const action::Left&);
    void on(const action::Note& note);
    /// The others concern backbones and voters. A restarted seat waits for a new generation before
    /// it votes, so it need not remember votes.
    void on(const auto&) {}
    /// Changes the journal. A disk that is full now is one line in the log: the project counts the
    /// samples by its own ledger.
    template <class Change>
    void journal(Change change);
    bool is_over() const { return news_.is_finished || news_.refusal || news_.failure; }

    const PeerKey peer_;
    const Codec codec_;
    ReceiptJournal& journal_;
    bool is_journal_late_ = false;  ///< its last change failed. Thread: the network's
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    News news_;
    page::History history_;
    std::optional<SignedGeneration> generation_;  ///< the newest
    std::deque<Decision> decisions_;              ///< the last few of that generation
};

}  // namespace dedloc::seat
