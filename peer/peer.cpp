#include "peer/peer.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/membership/links.hpp"
#include "peer/round/coordinator.hpp"
#include "peer/round/member.hpp"
#include "peer/round/outbox.hpp"
#include "peer/state/transfer.hpp"

namespace dedloc {
namespace {

/// Between heartbeats that only report more samples.
constexpr Duration kShortestHeartbeat = std::chrono::milliseconds{100};

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};

}  // namespace

class Peer::Core {
  public:
    Core(PeerConfig config, const KeyPair& key)
        : config_(std::move(config)),
          self_(key.public_key()),
          links_(config_, key),
          member_(config_, self_),
          donor_(config_),
          newcomer_(config_, links_, Random{config_.random_seed}.split(1)) {
        DEDLOC_CHECK(config_.rules.elements >= 1, "a model has parameters");
        if (self_ == config_.coordinator) {
            DEDLOC_CHECK(config_.scalars_of != nullptr, "a coordinator knows the schedule");
            coordinator_.emplace(config_, self_, links_, member_);
        }
    }

    void handle(TimePoint now, const Event& event, Actions& actions) {
        DEDLOC_CHECK(now >= now_, "time does not go backwards");
        now_ = now;
        out_.actions = std::move(actions);
        std::visit([this](const auto& e) { on(e); }, event);
        follow_up();
        actions = std::exchange(out_.actions, {});
    }

    TimePoint next_deadline() const {
        TimePoint next =
            std::min({links_.next_deadline(), donor_.next_deadline(), newcomer_.next_deadline()});
        if (!is_away_) next = std::min(next, next_heartbeat_);
        if (coordinator_) next = std::min(next, coordinator_->next_deadline());
        return next;
    }

    void check_invariants() const {
        links_.check_invariants();
        if (coordinator_) coordinator_->check_invariants();
    }

  private:
    // --- events --------------------------------------------------------------

    void on(const event::Tick&) {}
    void on(const event::EndpointsFound& e) {
        if (!is_away_) links_.found(now_, e.endpoints, out_.actions);
    }
    void on(const event::LinkOpened& e) {
        if (is_away_) {
            out_.act(action::Close{e.link});
        } else {
            links_.opened(now_, e, out_.actions);
        }
    }
    void on(const event::LinkClosed& e) {
        if (const auto lost = links_.closed(now_, e)) peer_lost(*lost);
    }
    void on(const event::DialFailed& e) { links_.dial_failed(now_, e.remote); }
    void on(const event::FrameReceived& e) {
        const auto message = links_.receive(now_, e, out_.actions);
        if (message) deliver(*message, e.frame);
    }

    void on(const event::Progressed& e) {
        member_.progressed(e);
        is_heartbeat_due_ = true;
    }
    void on(const event::ContributionFrozen& e) { member_.frozen(e, out_); }
    void on(const event::StateReached& e) {
        newcomer_.settled();
        member_.state_reached(e, out_);
        send_heartbeat();
        if (coordinator_) coordinator_->reported(self_, e.step, e.digest, out_);
    }
    void on(const event::StateRefused&) {
        out_.note("the state that was fetched has another digest: trying another donor");
        newcomer_.settled();
    }
    void on(const event::SnapshotTaken& e) { donor_.snapshot_taken(now_, e, out_); }

    void on(const event::LeaveRequested&) {
        if (is_away_) return;
        is_away_ = true;
        links_.broadcast(member_.step(), wire::Leave{}, out_.actions);
        links_.leave_all(out_.actions);
        newcomer_.reset();
        donor_.reset();
        member_.outdated(out_);
    }
    void on(const event::ReturnRequested&) { is_away_ = false; }

    // --- messages ------------------------------------------------------------

    void deliver(const wire::Message& m, const SharedBytes& frame) {
        const bool is_coordinator = m.sender == config_.coordinator;
        std::visit(Overloaded{
                       [&](const wire::Heartbeat& b) { heartbeat(m.sender, m.step, b); },
                       [&](const wire::Call& b) {
                           if (is_coordinator) member_.called(m.step, b, out_);
                       },
                       [&](const wire::Join& b) {
                           if (coordinator_) coordinator_->joined(m.sender, m.step, b, out_);
                       },
                       [&](const wire::Plan& b) {
                           if (is_coordinator) planned(m.step, b);
                       },
                       [&](const wire::Cancel& b) {
                           if (is_coordinator) member_.cancelled(m.step, b, out_);
                       },
                       [&](const wire::Chunk& b) { member_.chunk(m.sender, m.step, b, out_); },
                       [&](const wire::Ready& b) { ready(m.sender, m.step, b); },
                       [&](const wire::Commit& b) {
                           if (is_coordinator) committed(b.record, frame);
                       },
                       [&](const wire::StateQuery&) { donor_.queried(m.sender, member_, out_); },
                       [&](const wire::StateOffer& b) {
                           newcomer_.offered(now_, m.sender, m.step, b, out_);
                       },
                       [&](const wire::StateRequest& b) {
                           donor_.requested(now_, m.sender, m.step, b, out_);
                       },
                       [&](const wire::StateChunk& b) {
                           newcomer_.received(now_, m.sender, m.step, b, out_);
                       },
                       [&](const wire::Leave&) { peer_left(m.sender); },
                       [&](const wire::Finished& b) {
                           if (is_coordinator) finished(m.step, b.digest);
                       },
                       [&](const wire::Refusal& b) {
                           if (is_coordinator) out_.act(action::Refused{b.reason});
                       },
                       [](const auto&) {},  // the handshake ends in Links
                   },
                   m.body);
    }

    void heartbeat(const PeerKey& from, StepIndex step, const wire::Heartbeat& b) {
        if (!b.has_state) return;
        if (coordinator_) coordinator_->reported(from, step, b.digest, out_);
        if (from == config_.coordinator) newcomer_.told(step, b.digest);
    }

    void planned(StepIndex step, const wire::Plan& plan) {
        for (const wire::PlanMember& m : plan.members) {
            if (m.peer != self_ && links_.find(m.peer) == nullptr) {
                links_.reach(now_, m.endpoint, out_.actions);
            }
        }
        member_.planned(step, plan, out_);
    }

    void ready(const PeerKey& from, StepIndex step, const wire::Ready& b) {
        if (!coordinator_) return;
        const auto record = coordinator_->ready(now_, from, step, b, out_);
        if (!record) return;
        // Ours first: the ledger has the commit before anybody acts on it.
        const SharedBytes frame = links_.seal(record->step, wire::Commit{*record});
        member_.committed(*record, frame, out_);
        for (const CommitLine& line : record->members) {
            if (line.peer != self_) links_.send_sealed(line.peer, frame, out_.actions);
        }
    }

    void committed(const CommitRecord& record, const SharedBytes& frame) {
        // From here on the coordinator's last heartbeat is about a state that is no more.
        links_.outdate(config_.coordinator);
        member_.committed(record, frame, out_);
    }

    void finished(StepIndex step, const Digest& digest) {
        if (is_finished_) return;
        is_finished_ = true;
        member_.finish(out_);
        out_.act(action::Finished{.step = step, .digest = digest});
    }

    void peer_left(const PeerKey& peer) {
        links_.drop(peer, out_.actions);
        peer_lost(peer);
    }

    void peer_lost(const PeerKey& peer) {
        donor_.lost(peer);
        newcomer_.lost(peer);
        if (coordinator_) coordinator_->lost(peer, out_);
        if (peer == config_.coordinator) member_.coordinator_lost(out_);
    }

    // --- after every event ---------------------------------------------------

    void follow_up() {
        links_.tick(now_, out_.actions);
        donor_.tick(now_);
        newcomer_.tick(now_, out_);
        if (coordinator_) coordinator_->advance(now_, out_);
        post();
        if (is_away_) return;
        catch_up();
        greet_newcomers();
        post();
        const bool may_report = is_heartbeat_due_ && now_ >= last_heartbeat_ + kShortestHeartbeat;
        if (now_ >= next_heartbeat_ || may_report) send_heartbeat();
        if (is_heartbeat_due_) {
            next_heartbeat_ = std::min(next_heartbeat_, last_heartbeat_ + kShortestHeartbeat);
        }
    }

    /// Posts the letters; those to oneself are delivered at once and may bring new ones.
    void post() {
        while (!out_.letters.empty()) {
            const auto letters = std::exchange(out_.letters, {});
            for (const round::Letter& letter : letters) {
                if (letter.to == self_) {
                    deliver(wire::Message{.run = config_.run,
                                          .step = letter.step,
                                          .sender = self_,
                                          .body = letter.body},
                            nullptr);
                } else if (!links_.send(letter.to, letter.step, letter.body, out_.actions)) {
                    park(letter);
                }
            }
            if (coordinator_ && out_.letters.empty()) coordinator_->advance(now_, out_);
        }
    }

    /// A slice for a member that the plan names but that we are only now dialling waits for the
    /// link. Bounded by what one round sends.
    void park(const round::Letter& letter) {
        if (std::holds_alternative<wire::Chunk>(letter.body) && member_.is_in_round()) {
            parked_.push_back(letter);
        }
    }

    /// A member whose state is not the coordinator's fetches it.
    void catch_up() {
        if (coordinator_ || is_finished_ || member_.phase() == round::Member::Phase::kApplying) {
            return;
        }
        const membership::Known* head = links_.find(config_.coordinator);
        if (head == nullptr || !head->heartbeat.has_state) return;
        const bool is_current = member_.has_state() && member_.step() == head->step &&
                                member_.digest() == head->heartbeat.digest;
        if (is_current) return;
        member_.outdated(out_);
        newcomer_.begin(now_, out_);
    }

    void greet_newcomers() {
        if (!member_.is_in_round()) parked_.clear();
        for (const PeerKey& peer : links_.take_newcomers()) {
            const auto is_for_it = [&](const round::Letter& l) { return l.to == peer; };
            std::copy_if(parked_.begin(), parked_.end(), std::back_inserter(out_.letters),
                         is_for_it);
            std::erase_if(parked_, is_for_it);
            out_.send(peer, member_.step(), heartbeat_body());
            if (coordinator_ && coordinator_->is_finished()) {
                out_.send(peer, member_.step(), wire::Finished{member_.digest()});
            }
        }
    }

    wire::Heartbeat heartbeat_body() const {
        return {.has_state = member_.has_state(),
                .digest = member_.digest(),
                .samples = member_.samples(),
                .samples_per_second = member_.samples_per_second(),
                .upload_bytes_per_second = config_.upload_bytes_per_second};
    }

    void send_heartbeat() {
        is_heartbeat_due_ = false;
        last_heartbeat_ = now_;
        next_heartbeat_ = now_ + config_.rules.heartbeat;
        if (is_away_) return;
        links_.broadcast(member_.step(), heartbeat_body(), out_.actions);
        if (coordinator_) report_swarm();
    }

    void report_swarm() {
        action::SwarmSeen seen{.step = member_.step(), .samples = member_.samples(), .seats = {}};
        for (const auto& [peer, known] : links_.known()) {
            if (known.step == seen.step) seen.samples += known.heartbeat.samples;
            seen.seats.push_back({.peer = peer,
                                  .role = known.role,
                                  .result_name = known.result_name,
                                  .endpoint = known.endpoint,
                                  .has_state = known.heartbeat.has_state,
                                  .step = known.step,
                                  .digest = known.heartbeat.digest,
                                  .samples = known.heartbeat.samples,
                                  .samples_per_second = known.heartbeat.samples_per_second});
        }
        out_.act(std::move(seen));
    }

    const PeerConfig config_;
    const PeerKey self_;
    membership::Links links_;
    round::Member member_;
    std::optional<round::Coordinator> coordinator_;
    state::Donor donor_;
    state::Newcomer newcomer_;
    round::Outbox out_;
    std::vector<round::Letter> parked_;
    TimePoint now_ = TimePoint::min();
    TimePoint last_heartbeat_ = TimePoint::min();
    TimePoint next_heartbeat_ = TimePoint::min();
    bool is_heartbeat_due_ = false;
    bool is_away_ = false;
    bool is_finished_ = false;
};

Peer::Peer(PeerConfig config, const KeyPair& key)
    : core_(std::make_unique<Core>(std::move(config), key)) {}
Peer::~Peer() = default;
void Peer::handle(TimePoint now, const Event& event, Actions& actions) {
    core_->handle(now, event, actions);
}
TimePoint Peer::next_deadline() const {
    return core_->next_deadline();
}
void Peer::check_invariants() const {
    core_->check_invariants();
}

}  // namespace dedloc
