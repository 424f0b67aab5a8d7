// What a Peer is made of, and how events and messages find their way through it. Private to
// peer.cpp: the contract is peer.hpp's.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "peer/core/generation_request.hpp"
#include "peer/core/missed_commits.hpp"
#include "peer/core/state_certificates.hpp"
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

/// The implementation of Peer.
class Peer::Core {
  public:
    Core(PeerConfig config, const KeyPair& key, const kernels::Workers& workers);

    // These five do what Peer says of them.
    void handle(TimePoint now, const Event& event, Actions& actions);
    TimePoint next_deadline() const;
    bool work_ahead() { return member_.work_ahead(); }
    std::uint64_t digested_bytes() const { return sizeof(float) * member_.digested(); }
    SharedFloats residual() const { return member_.residual(); }
    void check_invariants() const;

  private:
    // --- events (events.cpp): the handler of each does what event:: says ---
    /// Nothing but what has become due.
    void on(const event::Tick&) {}
    /// Dials peers of the directory as far as there is need.
    void on(const event::EndpointsFound& event);
    /// Begins the handshake of a link.
    void on(const event::LinkOpened& event);
    /// The peer of this link is lost, unless it has another link.
    void on(const event::LinkClosed& event);
    /// The endpoint is tried again later, with backoff.
    void on(const event::DialFailed& event);
    /// The link's window has space: more bulk follows.
    void on(const event::FrameWritten& event);
    /// Checks the frame and delivers its message.
    void on(const event::FrameReceived& event);
    /// More samples: told to the coordinator with the next heartbeat.
    void on(const event::Progressed& event);
    /// The contribution that a Call or the full batch has asked for.
    void on(const event::ContributionFrozen& event);
    /// The trainer holds the state of the head or one that was loaded: a voter signs it.
    void on(const event::StateReached& event);
    /// A fetched state was damaged: another donor is tried.
    void on(const event::StateRefused& event);
    /// A copy of the state, to donate or to compare with.
    void on(const event::SnapshotTaken& event);
    /// The host has signed the generation that was asked for (generations.cpp).
    void on(const event::GenerationSigned& event);
    /// The project appoints other voters (generations.cpp).
    void on(const event::VotersWanted& event);
    /// The project pauses the run or lets it go on (orders.cpp).
    void on(const event::PauseSigned& event);
    /// The project has revoked tickets (orders.cpp).
    void on(const event::RevocationsSigned& event);
    /// Takes the list, unless it is old or not signed by the project.
    void on(const event::MixtureSigned& event);
    /// Commits from the host's ledger, for a keeper that has missed them (history.cpp).
    void on(const event::HistoryRead& event);
    /// Finishes what may be sent within leave_limit, then is away.
    void on(const event::LeaveRequested& event);
    /// Back from being away.
    void on(const event::ReturnRequested& event);
    /// Tells the new port with the next heartbeat, which is due at once.
    void on(const event::ListeningPortChanged& event);
    /// No link with this peer any more: every part forgets what it expected of it.
    void peer_lost(const PeerKey& peer);
    void leave_when_done();

    // --- after every event (core.cpp) ---
    void follow_up();
    /// Every part does what has become due, in an order in which each sees what those before it
    /// have changed: links, data, head, coordinator, history.
    void advance_parts();
    /// Sends the messages in the outbox, in order.
    void post();
    void deliver(const OutgoingMessage& message);
    /// Has the voter's memory written before any frame that depends on it is sent.
    void settle_votes();
    void depose_coordinator();
    void hold_without_coordinator();
    void welcome_newcomers();
    void catch_up();

    // --- bulk (bulk.cpp) ---
    void pump();
    void pump_to(const PeerKey& peer);
    void pump_released();
    void measure();
    /// Whether the round that is decided now took no longer than its plan expected.
    bool is_in_time() const;
    void round_measured(progress::LinkRate::Outcome outcome);
    void bandwidth_measured();

    // --- heartbeats (heartbeats.cpp) ---
    void send_due_heartbeats();
    /// Receivers of a heartbeat.
    enum class Audience : std::uint8_t {
        kWatched,     ///< pairs that watch each other: the periodic heartbeat
        kSmallSwarm,  ///< news: every peer of a small swarm, voters of a large one
        kAll,         ///< a new state, which any peer may want
    };
    void send_heartbeat(Audience audience);
    void report_progress();
    void report_swarm();
    void tell_if_behind(const wire::Message& m, const wire::Heartbeat& body);

    // --- messages (messages.cpp, but where noted); `m` is the envelope of `body` ---
    /// Routes a message that belongs to our generation, or that counts in any.
    void deliver(const wire::Message& message);
    /// Progress, bandwidth and head of a peer (heartbeats.cpp). Claims move no head.
    void take(const wire::Message& m, const wire::Heartbeat& body);
    /// A generation that the project has signed (generations.cpp).
    void take(const wire::Message& m, const wire::Generation& body);
    /// The peer goes: as if its link had closed.
    void take(const wire::Message& m, const wire::Leave& body);
    /// The swarm does not admit this peer: only a voter's word counts.
    void take(const wire::Message& m, const wire::Refusal& body);
    /// A candidate asks for this voter's promise.
    void take(const wire::Message& m, const wire::Elect& body);
    /// A voter's answer to our candidacy.
    void take(const wire::Message& m, const wire::Promise& body);
    /// The coordinator says in which rounds this peer takes part.
    void take(const wire::Message& m, const wire::TurnChange& body);
    /// The coordinator begins a round: freeze the contribution and join.
    void take(const wire::Message& m, const wire::Call& body);
    /// A member joins the round that this peer coordinates.
    void take(const wire::Message& m, const wire::Join& body);
    /// Members and chunks of the round, or an amendment.
    void take(const wire::Message& m, const wire::Plan& body);
    /// The round is called off; contributions stay.
    void take(const wire::Message& m, const wire::Cancel& body);
    /// A change of a plan that this peer has.
    void take(const wire::Message& m, const wire::PlanChange& body);
    /// A peer that lacks the base of a PlanChange.
    void take(const wire::Message& m, const wire::PlanQuery& body);
    /// A reducer that has freed slices which it needs again.
    void take(const wire::Message& m, const wire::SliceQuery& body);
    /// A piece of a contribution (scatter) or of the average (gather).
    void take(const wire::Message& m, const wire::Chunk& body);
    /// A reducer has averaged all its chunks.
    void take(const wire::Message& m, const wire::Reduced& body);
    /// A member complains of peers that send nothing or pieces that cannot be averaged.
    void take(const wire::Message& m, const wire::Stalled& body);
    /// A member holds the whole average.
    void take(const wire::Message& m, const wire::Ready& body);
    /// The coordinator asks this voter to vote for a record.
    void take(const wire::Message& m, const wire::Propose& body);
    /// A voter's vote; with a majority the record is decided (decisions.cpp).
    void take(const wire::Message& m, const wire::Accept& body);
    /// A decision with its certificate (decisions.cpp).
    void take(const wire::Message& m, const wire::Commit& body);
    /// A voter's vote for a state, or a state certificate (certificates.cpp).
    void take(const wire::Message& m, const wire::StateVotes& body);
    /// A keeper asks for the commits that it has missed (history.cpp).
    void take(const wire::Message& m, const wire::CommitQuery& body);
    /// A peer that is behind asks what this one could give (these five: bulk.cpp).
    void take(const wire::Message& m, const wire::StateQuery& body);
    /// A donor offers a whole state.
    void take(const wire::Message& m, const wire::StateOffer& body);
    /// A donor offers the average of a decided round.
    void take(const wire::Message& m, const wire::RoundOffer& body);
    /// A peer asks for a leaf of what was offered to it.
    void take(const wire::Message& m, const wire::LeafRequest& body);
    /// A leaf that was asked for.
    void take(const wire::Message& m, const wire::Leaf& body);
    /// A Plan or Commit that the coordinator has signed, passed on by a relay.
    void take(const wire::Message& m, const wire::Relay& body);
    void take(const wire::Message& m, const wire::Pause& body);
    void take(const wire::Message& m, const wire::RevocationList& body);
    /// The same for the project's changes of the mixture; a sender of another list is refused.
    void take(const wire::Message& m, const wire::Mixture& body);
    /// Messages of the handshake end in Links.
    template <class Handshake>
    void take(const wire::Message&, const Handshake&) {}
    void pass_on(const wire::Plan& plan);
    bool follows(const PeerKey& sender, const Term& term);
    void reach_reducers(const wire::Plan& plan);

    // --- decisions (decisions.cpp) ---
    /// Moves the head. Requires a record that extends it, with its certificate. `is_live`: it was
    /// decided just now, not fetched.
    void decide(const Decision& decision, bool is_live);
    void settle_last_decision();
    void forget_if_stateless(const PeerKey& peer);
    void tell_decision(const PeerKey& peer, StepIndex step);
    void tell_outsiders(StepIndex step);
    bool was_addressed(const PeerKey& peer) const;
    void apply_fetched();
    void head_changed(bool is_live);
    void finish_when_over();
    void finish(StepIndex step, const Digest& state);

    // --- state certificates (certificates.cpp) ---
    void certify_own_state();
    void vote_for_state(const Digest& state);
    void certify_as_coordinator();
    void count_state_vote(const PeerKey& voter, const StateCertificate& voted);
    void take_certificate(const StateCertificate& certificate);
    void send_certificate(const PeerKey& to);
    bool is_forger(const PeerKey& sender) const;
    void forged(const PeerKey& sender);
    void send_vote(const PeerKey& to);
    bool is_proven(const StateCertificate& certificate);
    void offer_uncertified_state();
    void compare_with_certificate();
    void adopt(const StateCertificate& certificate);
    void adopt_when_overdue();

    // --- missed commits and generations (history.cpp, generations.cpp) ---
    /// A backbone keeps every commit, whether it votes or not.
    bool keeps_history() const { return config_.role == Role::kBackbone; }
    void note_ahead(const PeerKey& voter);
    void ask_for_history();
    bool knows_all_decisions() const;
    bool may_appoint() const;
    void want_generation();
    void begin_generation(const SignedGeneration& generation);

    // --- pauses and revocations (orders.cpp) ---
    std::uint64_t pause_count() const { return pause_ ? pause_->count : 0; }
    void set_paused(const SignedPause& pause);
    void tell_orders(const PeerKey& peer, const wire::Heartbeat& heartbeat);
    void tell_mixture(const PeerKey& peer);
    void take_mixture(SharedMixture mixture);
    void tell_revocations(const PeerKey& voter);

    // --- what other parts ask (core.cpp) ---
    const Head& head() const { return voter_.head(); }
    /// The state that this peer could give to others.
    state::Own own() const;
    /// The trainer holds a state of the head's step.
    bool is_current() const { return member_.has_state() && member_.step() == head().step; }
    /// As is_current(), and no certificate names another state.
    bool is_certified() const;
    const CommitRecord* last_record() const {
        return last_decision_ ? &last_decision_->record : nullptr;
    }
    static wire::StateVotes state_votes_of(const StateCertificate& certificate) {
        return {
            .record = certificate.record, .state = certificate.state, .votes = certificate.votes};
    }
    wire::Heartbeat heartbeat_body() const;
    std::vector<state::DonorCandidate> donors() const;
    /// What a change of makes a heartbeat due.
    struct Announcement {
        bool has_state = false;
        bool may_vote = false;
        Term term;  ///< the living coordinator's; empty without one
        std::uint64_t pause_count = 0;
        std::uint64_t mixture_version = 0;
        std::uint16_t listening_port = 0;
        bool operator==(const Announcement&) const = default;
    };
    Announcement announcement() const;

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
    TimePoint planned_at_{};  ///< when the last plan came
    progress::LinkRate upload_;
    progress::LinkRate download_;
    StateCertificates certificates_;
    MissedCommits missed_;
    GenerationRequest request_;
    Outbox out_;

    TimePoint now_ = TimePoint::min();  ///< the time of the event at hand
    bool is_bulk_event_ = false;        ///< the event at hand has moved data only
    SharedBytes received_;              ///< the frame at hand; null when a relay has passed it on
    bool has_bulk_ = false;             ///< bulk may be sendable that was not before
    bool was_telling_ = false;          ///< Coordinator::is_telling() after the last event

    std::optional<Decision> last_decision_;
    TimePoint decided_at_ = TimePoint::min();
    std::set<PeerKey> addressed_;  ///< peers that our last Commit was sent to; empty: unknown
    /// Certificates without a majority's votes that a linked peer has sent.
    std::map<PeerKey, unsigned> forgeries_;
    std::map<PeerKey, StepIndex> told_;  ///< the step up to which a peer was told decisions
    bool was_leading_ = false;           ///< at the end of the last event
    bool is_finished_ = false;           ///< action::Finished was given

    TimePoint last_heartbeat_ = TimePoint::min();
    TimePoint next_heartbeat_ = TimePoint::min();
    TimePoint next_progress_ = kNever;
    std::optional<SignedPause> pause_;  ///< the one with the highest count known
    /// When a peer was last told the list of changes of the mixture, which may be long.
    std::map<PeerKey, TimePoint> mixture_told_;
    Buffer revocations_;                  ///< the last event::RevocationsSigned; empty: none came
    std::set<PeerKey> told_revocations_;  ///< voters that have got these
    Announcement announced_;              ///< what the last heartbeat said
    bool is_heartbeat_due_ = false;       ///< there is news
    bool is_progress_due_ = false;        ///< there are more samples

    std::vector<StateCertificate> proven_;     ///< certificates of offers, not taken yet
    TimePoint overdue_at_ = kNever;            ///< until then the missing Commit may still come
    TimePoint uncertified_since_ = kNever;     ///< the head moved then, its state is not certified
    std::optional<SignedGeneration> pending_;  ///< begins once the history before it is here
    std::uint64_t stuck_at_ = 0;               ///< CatchUp::progress() at the last check

    TimePoint leave_at_ = kNever;  ///< at the latest, after LeaveRequested
    /// A Call that came since LeaveRequested, and its step: it counts if the peer stays after all.
    std::optional<std::pair<StepIndex, wire::Call>> held_call_;
    bool is_away_ = false;  ///< between Left and ReturnRequested
};

}  // namespace dedloc
