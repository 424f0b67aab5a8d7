// What a Peer is made of, and how events and messages find their way through it. Private to
// peer.cpp: the contract is peer.hpp's.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "peer/membership/election.hpp"
#include "peer/membership/links.hpp"
#include "peer/membership/voter.hpp"
#include "peer/outbox.hpp"
#include "peer/peer.hpp"
#include "peer/progress/link_rate.hpp"
#include "peer/round/coordinator.hpp"
#include "peer/round/member.hpp"
#include "peer/round/settlement.hpp"
#include "peer/state/catch_up.hpp"
#include "peer/state/donor.hpp"

namespace dedloc {

class Peer::Core {
  public:
    Core(PeerConfig config, const KeyPair& key, const kernels::Workers& workers);

    void handle(TimePoint now, const Event& event, Actions& actions);
    TimePoint next_deadline() const;
    bool work_ahead() { return member_.work_ahead(); }
    SharedFloats residual() const { return member_.residual(); }
    void check_invariants() const;

  private:
    // Events (core.cpp).
    void on(const event::Tick&) {}
    void on(const event::EndpointsFound& event);
    void on(const event::LinkOpened& event);
    void on(const event::LinkClosed& event);
    void on(const event::DialFailed& event);
    void on(const event::FrameWritten& event);
    void on(const event::FrameReceived& event);
    void on(const event::Progressed& event);
    void on(const event::ContributionFrozen& event);
    void on(const event::StateReached& event);
    void on(const event::StateRefused& event);
    void on(const event::SnapshotTaken& event);
    void on(const event::GenerationSigned& event);
    void on(const event::VotersWanted& event);
    void on(const event::HistoryRead& event);
    void on(const event::LeaveRequested& event);
    void on(const event::ReturnRequested& event);

    // After every event.
    void follow_up();
    void advance_parts();
    void post();
    void deliver(const OutgoingMessage& message);
    void settle_votes();
    void want_generation();
    void hold_without_coordinator();
    void welcome_newcomers();
    void catch_up();
    void pump();
    void pump_to(const PeerKey& peer);
    void pump_released();
    void measure();
    void bandwidth_measured();
    void leave_when_done();
    void send_due_heartbeats();
    enum class Audience : std::uint8_t { kWatched, kSmallSwarm, kAll };
    void send_heartbeat(Audience audience);
    void report_progress();
    void report_swarm();

    // Messages (core_messages.cpp, core_history.cpp). Most are of our generation.
    void deliver(const wire::Message& message);
    void take(const wire::Message& m, const wire::Heartbeat& body);
    void take(const wire::Message& m, const wire::Generation& body);
    void take(const wire::Message& m, const wire::Leave& body);
    void take(const wire::Message& m, const wire::Refusal& body);
    void take(const wire::Message& m, const wire::Elect& body);
    void take(const wire::Message& m, const wire::Promise& body);
    void take(const wire::Message& m, const wire::Call& body);
    void take(const wire::Message& m, const wire::Join& body);
    void take(const wire::Message& m, const wire::Plan& body);
    void take(const wire::Message& m, const wire::Cancel& body);
    void take(const wire::Message& m, const wire::Chunk& body);
    void take(const wire::Message& m, const wire::Reduced& body);
    void take(const wire::Message& m, const wire::Stalled& body);
    void take(const wire::Message& m, const wire::Ready& body);
    void take(const wire::Message& m, const wire::Propose& body);
    void take(const wire::Message& m, const wire::Accept& body);
    void take(const wire::Message& m, const wire::Commit& body);
    void take(const wire::Message& m, const wire::StateVotes& body);
    void take(const wire::Message& m, const wire::CommitQuery& body);
    void take(const wire::Message& m, const wire::StateQuery& body);
    void take(const wire::Message& m, const wire::StateOffer& body);
    void take(const wire::Message& m, const wire::RoundOffer& body);
    void take(const wire::Message& m, const wire::LeafRequest& body);
    void take(const wire::Message& m, const wire::Leaf& body);
    void take(const wire::Message& m, const wire::Relay& body);
    template <class Handshake>
    void take(const wire::Message&, const Handshake&) {}  // ends in Links

    void pass_on(const wire::Plan& plan);
    bool follows(const PeerKey& sender, const Term& term);
    void tell_if_behind(const wire::Message& m, const wire::Heartbeat& body);
    void tell_decision(const PeerKey& peer, StepIndex step);
    void tell_outsiders(StepIndex step);
    bool was_addressed(const PeerKey& peer) const;

    // The head of the history (core_history.cpp).
    bool keeps_history() const { return config_.role == Role::kBackbone; }
    void certify_own_state();
    void vote_for_state(const Digest& state);
    void certify_as_coordinator();
    void count_state_votes(const StateCertificate& voted);
    void take_certificate(const StateCertificate& certificate);
    void send_certificate(const PeerKey& to);
    bool is_proven(const StateCertificate& certificate);
    void offer_uncertified_state();
    void compare_with_certificate();
    void adopt(const StateCertificate& certificate);
    void adopt_when_overdue();
    void note_ahead(const PeerKey& voter);
    void ask_for_history();
    bool may_appoint() const;
    /// `is_live`: it was decided just now.
    void decide(const Decision& decision, bool is_live);
    void apply_fetched();
    void begin_generation(const SignedGeneration& generation);
    void head_changed(bool is_live);
    void finish_when_over();
    void finish(StepIndex step, const Digest& state);
    void peer_lost(const PeerKey& peer);
    void reach_reducers(const wire::Plan& plan);

    const Head& head() const { return voter_.head(); }
    state::Own own() const;
    bool is_current() const { return member_.has_state() && member_.step() == head().step; }
    bool is_certified() const;
    const CommitRecord* last_record() const {
        return last_decision_ ? &last_decision_->record : nullptr;
    }
    /// Includes the record, for a peer that lacks the plan.
    static wire::Commit full_commit(const Decision& decision) {
        return {.digest = digest_of(decision.record),
                .certificate = decision.certificate,
                .attempt = 0,
                .average = decision.record.average,
                .previous_state = decision.record.previous_state,
                .record = decision.record};
    }
    static wire::StateVotes state_votes_of(const StateCertificate& certificate) {
        return {
            .record = certificate.record, .state = certificate.state, .votes = certificate.votes};
    }
    wire::Heartbeat heartbeat_body() const;
    std::vector<state::DonorCandidate> donors() const;

    const PeerConfig config_;
    const PeerKey self_;
    membership::Links links_;
    membership::Voter voter_;
    membership::Election election_;
    round::Member member_;
    round::Coordinator coordinator_;
    round::Settlement settlement_;
    state::Donor donor_;
    state::CatchUp catch_up_;
    progress::LinkRate upload_;
    progress::LinkRate download_;
    Outbox out_;

    std::optional<Decision> last_decision_;
    TimePoint decided_at_ = TimePoint::min();
    std::set<PeerKey> addressed_;  ///< whom we have sent its Commit; empty: another one has
    SharedBytes received_;         ///< the frame at hand, if its sender has sent it to us itself
    std::map<PeerKey, StepIndex> told_;  ///< up to which step each peer has been told decisions
    bool has_bulk_ = false;              ///< something may be sent that could not before
    TimePoint now_ = TimePoint::min();
    TimePoint last_heartbeat_ = TimePoint::min();
    TimePoint next_heartbeat_ = TimePoint::min();
    TimePoint next_progress_ = kNever;
    TimePoint leave_at_ = kNever;
    std::map<StepIndex, StateCertificate> certificates_;  ///< the newest of this generation
    std::vector<StateCertificate> proven_;                ///< not taken yet
    std::map<PeerKey, StateCertificate> state_votes_;     ///< the last one of each voter
    TimePoint overdue_at_ = kNever;            ///< the Commit that leads to the newest certificate
    TimePoint uncertified_since_ = kNever;     ///< the state of the head
    std::map<PeerKey, StepIndex> ahead_;       ///< voters that say so, of a keeper of history
    std::optional<SignedGeneration> pending_;  ///< begins once the history before it is here
    TimePoint next_query_ = TimePoint::min();  ///< for history
    std::size_t queried_commits_ = 0;          ///< that have come since the last query
    std::map<PeerKey, TimePoint> history_sent_;     ///< to keepers that are behind
    std::vector<PeerKey> wanted_voters_;            ///< by the project; none: those of the head
    std::uint64_t wanted_generation_ = 0;           ///< at least: also with the same voters
    std::uint64_t last_wanted_ = 0;                 ///< generation that was asked for
    TimePoint pause_until_ = TimePoint::min();      ///< the answer, or that none comes
    TimePoint next_generation_ = TimePoint::min();  ///< to be asked for again
    TimePoint stuck_since_ = kNever;                ///< the state of the head does not come
    std::uint64_t stuck_at_ = 0;                    ///< CatchUp::progress() then
    bool is_bulk_event_ = false;                    ///< nothing but data has moved
    struct Standing {
        bool has_state = false;
        bool may_vote = false;
        Term term;  ///< of a coordinator who lives
        bool operator==(const Standing&) const = default;
    };
    Standing standing() const;
    Standing told_standing_;
    bool was_leading_ = false;       ///< when the last event was over
    bool is_heartbeat_due_ = false;  ///< something has changed that everybody wants to know
    bool is_progress_due_ = false;
    bool is_away_ = false;
    bool is_finished_ = false;
};

}  // namespace dedloc
