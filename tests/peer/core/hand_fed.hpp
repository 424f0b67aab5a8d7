// One real peer that a test feeds by hand: it plays the trainer, the host and all other peers.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/workers.hpp"
#include "peer/membership/quorum.hpp"
#include "peer/peer.hpp"
#include "tests/peer/core/spoken.hpp"
#include "tests/peer/wire/samples.hpp"

namespace dedloc::tests {

/// A history that is written down in advance, as the keys of its voters can prove it.
class WrittenHistory {
  public:
    /// Generation 0, whose only voter is this backbone.
    explicit WrittenHistory(const KeyPair& backbone)
        : voters_{backbone}, head_(genesis({}, backbone.public_key())) {}

    static Digest state_at(StepIndex step, std::uint64_t generation = 0) {
        Digest state;
        state.bytes[0] = static_cast<std::byte>(step.value() + 1);
        state.bytes[1] = static_cast<std::byte>(generation + 1);
        return state;
    }
    const Head& head() const { return head_; }
    Digest state() const { return state_at(head_.step, head_.generation); }

    /// The next round is decided; the first voter is its only member.
    Decision decide(std::uint64_t samples = 1) { return decide_with({voters_.front()}, samples); }
    /// The same with these members, with `samples` each.
    Decision decide_with(std::vector<KeyPair> members, std::uint64_t samples = 1) {
        std::ranges::sort(members, {}, &KeyPair::public_key);
        CommitRecord record{.generation = head_.generation,
                            .step = head_.step,
                            .previous_record = head_.record,
                            .previous_state = state(),
                            .members = {},
                            .average = {},
                            .scalars = {}};
        for (const KeyPair& member : members) {
            record.members.push_back(
                {.peer = member.public_key(), .samples = Samples{samples}, .reduced = 8});
        }
        const Decision decision{.record = record, .certificate = certify(record)};
        head_ = membership::head_after(head_, record);
        return decision;
    }
    /// A record that was decided elsewhere.
    void follow(const CommitRecord& record) { head_ = membership::head_after(head_, record); }
    Certificate certify(const CommitRecord& record) const {
        Certificate certificate{.term = term(), .votes = {}};
        for (const KeyPair& voter : voters_) {
            const auto bytes = vote_bytes({}, certificate.term, digest_of(record));
            certificate.votes.push_back({voter.public_key(), voter.sign(bytes)});
        }
        return certificate;
    }
    /// Signed by these, ascending by key.
    wire::StateVotes state_votes(const std::vector<KeyPair>& voters) const {
        const StateCertificate certificate{.generation = head_.generation,
                                           .step = head_.step,
                                           .record = head_.record,
                                           .state = state(),
                                           .votes = {}};
        wire::StateVotes votes{.record = head_.record, .state = state(), .votes = {}};
        for (const KeyPair& voter : voters) {
            votes.votes.push_back(
                {voter.public_key(), voter.sign(state_vote_bytes({}, certificate))});
        }
        return votes;
    }
    wire::StateVotes state_votes() const { return state_votes(voters_); }
    /// The project appoints these for the state of the head.
    SignedGeneration appoint(std::vector<KeyPair> voters, const KeyPair& project) {
        std::ranges::sort(voters, {}, &KeyPair::public_key);
        SignedGeneration generation{.record = {.generation = head_.generation + 1,
                                               .step = head_.step,
                                               .state = state(),
                                               .voters = {}},
                                    .signature = {}};
        for (const KeyPair& voter : voters) {
            generation.record.voters.push_back(voter.public_key());
        }
        // The state is of both generations.
        generation.record.state = state_at(head_.step, head_.generation + 1);
        generation.signature = project.sign(digest_of(RunId{}, generation.record).bytes);
        voters_ = std::move(voters);
        head_ = membership::head_after({}, generation.record);
        return generation;
    }
    Term term() const { return {.number = 3, .coordinator = voters_.front().public_key()}; }
    wire::Heartbeat heartbeat(const Term& term = {}) const {
        wire::Heartbeat heartbeat;
        heartbeat.has_state = true;
        heartbeat.state = state();
        heartbeat.record = head_.record;
        heartbeat.term = term;
        return heartbeat;
    }

  private:
    std::vector<KeyPair> voters_;
    Head head_;
};

struct EndOptions {
    Role role = Role::kTrainer;
    std::uint16_t port = 0;
    std::uint64_t user = 0;
    std::uint64_t max_samples_per_second = 0;
};

class HandFed {
  public:
    HandFed(PeerConfig config, const KeyPair& key)
        : key_(key), peer_(std::move(config), key, alone_) {
        tell(event::Tick{});
    }

    void tell(const Event& event) {
        Actions fresh;
        peer_.handle(now, event, fresh);
        peer_.check_invariants();
        // Frames leave at once.
        for (const Action& action : fresh) {
            if (const auto* send = std::get_if<action::Send>(&action))
                written_.push_back(send->link);
        }
        actions.insert(actions.end(), std::make_move_iterator(fresh.begin()),
                       std::make_move_iterator(fresh.end()));
        while (!written_.empty()) {
            const LinkId link = written_.back();
            written_.pop_back();
            tell(event::FrameWritten{link});
        }
    }
    OtherEnd& introduce(const KeyPair& other, const EndOptions& options = {}) {
        const LinkId link{++last_link_};
        const std::size_t before = actions.size();
        tell(event::LinkOpened{.link = link,
                               .remote = {"10.0.0." + std::to_string(last_link_), 50'000},
                               .dialled = false,
                               .proven = other.public_key(),
                               .user = options.user,
                               .max_samples_per_second = options.max_samples_per_second});
        ends_.push_back(std::make_unique<End>(End{.end = {.key = other, .link = link}}));
        OtherEnd& end = ends_.back()->end;
        const Actions fresh(actions.begin() + static_cast<std::ptrdiff_t>(before), actions.end());
        wire::Hello hello = answer_to_challenge(fresh, link);
        hello.role = options.role;
        hello.receives = options.role != Role::kAggregator;
        hello.session = last_link_;
        hello.listening_port = options.port;
        tell(end.says(0, {}, hello));
        return end;
    }
    void hear(OtherEnd& end, StepIndex step, wire::Body body, std::uint64_t generation = 0) {
        if (const auto* heartbeat = std::get_if<wire::Heartbeat>(&body)) {
            for (const auto& known : ends_) {
                if (&known->end == &end) known->heartbeat = {*heartbeat, {generation, step}};
            }
        }
        tell(end.says(generation, step, std::move(body)));
    }
    void close(const OtherEnd& end) {
        tell(event::LinkClosed{.link = end.link});
        std::erase_if(ends_, [&](const auto& known) { return &known->end == &end; });
    }
    /// Every peer repeats its last heartbeat once a second.
    void pass(Duration time) {
        const TimePoint end = now + time;
        while (now < end) {
            const TimePoint next = std::min(end, beat_at_);
            while (peer_.next_deadline() < next) {
                now = std::max(now, peer_.next_deadline());
                tell(event::Tick{});
            }
            now = next;
            tell(event::Tick{});
            if (now < beat_at_) continue;
            beat_at_ = now + std::chrono::seconds{1};
            for (const auto& known : ends_) {
                if (!known->heartbeat) continue;
                const auto& [heartbeat, place] = *known->heartbeat;
                tell(known->end.says(place.first, place.second, heartbeat));
            }
        }
    }
    /// What it has sent since forget(), to all peers, in order.
    template <class Body>
    std::vector<Body> said() const {
        std::vector<Body> all;
        for (const Spoken& one : spoken(actions)) {
            if (const auto* body = std::get_if<Body>(&one.message.body)) all.push_back(*body);
        }
        return all;
    }
    template <class Body>
    std::vector<Body> said_to(const OtherEnd& end) const {
        std::vector<Body> all;
        for (const Spoken& one : spoken(actions)) {
            const auto* body = std::get_if<Body>(&one.message.body);
            if (body != nullptr && one.link == end.link) all.push_back(*body);
        }
        return all;
    }
    template <class Kind>
    std::vector<Kind> acted() const {
        return all_of<Kind>(actions);
    }
    bool has_note(const std::string& part) const {
        return std::ranges::any_of(acted<action::Note>(), [&](const action::Note& note) {
            return note.line.find(part) != std::string::npos;
        });
    }
    void forget() { actions.clear(); }
    /// Its head, as its own heartbeats tell it. Requires a linked peer.
    std::pair<std::uint64_t, StepIndex> place() {
        const std::size_t before = actions.size();
        pass(std::chrono::milliseconds{1'100});
        const Actions fresh(actions.begin() + static_cast<std::ptrdiff_t>(before), actions.end());
        std::optional<std::pair<std::uint64_t, StepIndex>> place;
        for (const Spoken& one : spoken(fresh)) {
            if (!std::holds_alternative<wire::Heartbeat>(one.message.body)) continue;
            place = {one.message.generation, one.message.step};
        }
        REQUIRE(place);
        return *place;
    }
    StepIndex step() { return place().second; }
    /// The last heartbeat that it has said.
    wire::Heartbeat heartbeat() {
        pass(std::chrono::milliseconds{1'100});
        return said<wire::Heartbeat>().back();
    }
    PeerKey self() const { return key_.public_key(); }

    TimePoint now{std::chrono::hours{1}};
    Actions actions;  ///< since forget()

  private:
    struct End {
        OtherEnd end;
        std::optional<std::pair<wire::Heartbeat, std::pair<std::uint64_t, StepIndex>>> heartbeat{};
    };
    const kernels::ThisThread alone_{};
    const KeyPair key_;
    Peer peer_;
    std::vector<std::unique_ptr<End>> ends_;
    std::vector<LinkId> written_;
    std::uint64_t last_link_ = 0;
    TimePoint beat_at_ = TimePoint{std::chrono::hours{1}} + std::chrono::seconds{1};
};

}  // namespace dedloc::tests
