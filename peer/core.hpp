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
#include "peer/membership/quorum.hpp"
#include "peer/membership/renewal.hpp"
#include "peer/membership/voter.hpp"
#include "peer/peer.hpp"
#include "peer/progress/link_rate.hpp"
#include "peer/round/coordinator.hpp"
#include "peer/round/member.hpp"
#include "peer/round/outbox.hpp"
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
    void on(const event::LeaveRequested& event);
    void on(const event::ReturnRequested& event);

    // After every event.
    void follow_up();
    void look_around();
    void post();
    void deliver(const round::Letter& letter);
    void settle_votes();
    void renew();
    void greet_newcomers();
    void catch_up();
    void pump();
    void pump_to(const PeerKey& peer);
    void pump_released();
    void measure();
    void bandwidth_measured();
    void leave_when_done();
    void beat();
    enum class Audience : std::uint8_t { kWatched, kSmallSwarm, kAll };
    void send_heartbeat(Audience audience);
    void report_progress();
    void report_swarm();

    // Messages (core_messages.cpp). All but Heartbeat, Leave and Generation are of our generation.
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
    void take(const wire::Message& m, const wire::Finished& body);
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
    void compare_heads(const wire::Message& m, const wire::Heartbeat& body);
    void weigh(StepIndex step, const Digest& record);
    bool is_quorum(const std::set<PeerKey>& peers) const;  ///< of the view, the rest left out
    void tell_decision(const PeerKey& peer, StepIndex step);
    void tell_outsiders(StepIndex step);
    bool was_addressed(const PeerKey& peer) const;
    void decide(const Decision& decision);
    void apply_fetched();
    void begin_generation(const SignedGeneration& generation);
    void head_changed();
    void finish(StepIndex step, const Digest& state);
    void peer_lost(const PeerKey& peer);
    void reach_reducers(const wire::Plan& plan);

    const Head& head() const { return voter_.head(); }
    state::Own own() const;
    bool is_current() const { return member_.has_state() && member_.step() == head().step; }
    wire::Heartbeat heartbeat_body() const;
    std::vector<state::DonorCandidate> donors() const;

    const PeerConfig config_;
    const PeerKey self_;
    membership::Links links_;
    membership::Voter voter_;
    membership::Election election_;
    membership::Renewal renewal_;
    round::Member member_;
    round::Coordinator coordinator_;
    round::Settlement settlement_;
    state::Donor donor_;
    state::CatchUp catch_up_;
    progress::LinkRate upload_;
    progress::LinkRate download_;
    round::Outbox out_;

    std::optional<Decision> last_decision_;
    TimePoint decided_at_ = TimePoint::min();
    std::set<PeerKey> addressed_;  ///< whom we have sent its Commit; empty: another one has
    SharedBytes received_;         ///< the frame at hand, if its sender has sent it to us itself
    std::map<PeerKey, StepIndex> told_;  ///< up to which step who has been told decisions
    bool has_bulk_ = false;              ///< something may be sent that could not before
    TimePoint now_ = TimePoint::min();
    TimePoint last_heartbeat_ = TimePoint::min();
    TimePoint next_heartbeat_ = TimePoint::min();
    TimePoint next_progress_ = kNever;
    TimePoint leave_at_ = kNever;
    TimePoint behind_since_ = kNever;          ///< the coordinator is a step ahead of our head
    TimePoint doubt_since_ = kNever;           ///< which state is the swarm's
    TimePoint doubt_seen_ = TimePoint::min();  ///< the last time; nobody has any more: it is over
    bool is_bulk_event_ = false;               ///< nothing but data has moved
    struct Standing {
        bool has_state = false;
        bool may_vote = false;
        Term term;  ///< of a coordinator who lives
        bool operator==(const Standing&) const = default;
    };
    Standing standing() const;
    Standing told_standing_;
    bool is_heartbeat_due_ = false;  ///< something has changed that everybody wants to know
    bool is_progress_due_ = false;
    bool is_away_ = false;
    bool is_finished_ = false;
};

}  // namespace dedloc
