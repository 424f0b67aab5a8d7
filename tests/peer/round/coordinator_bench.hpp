// A coordinator whose members and fellow voters are played by hand.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "peer/membership/election.hpp"
#include "peer/round/coordinator.hpp"
#include "tests/peer/core/spoken.hpp"
#include "tests/peer/wire/samples.hpp"

namespace dedloc::round {

using namespace std::chrono_literals;
using tests::OtherEnd;
using tests::test_key;

/// What a member says of itself in its Hello and its heartbeats.
struct Trainer {
    std::uint16_t port = 4'000;  ///< 0: cannot be dialled, so it reduces nothing
    std::uint64_t max_samples_per_second = 1'000;
    std::uint64_t user = 0;
    Role role = Role::kTrainer;
};

/// The coordinator is test_key(1), and so many voters are test_key(1), test_key(2) …
class CoordinatorBench {
  public:
    static constexpr Bandwidth kBandwidth{12'500'000};

    explicit CoordinatorBench(std::uint8_t voters = 1, bool overlaps = false)
        : config(config_for(voters, overlaps)),
          key(test_key(1)),
          links(config, key),
          voter(config, key),
          election(config, key.public_key(), links, voter, Random{7}),
          member(config, key.public_key(), voter, workers),
          coordinator(config, key.public_key(), links, voter, election, member) {
        member.on_state({.step = step(), .digest = {}}, out);
        coordinator.on_head(now, true, nullptr);
        for (std::uint8_t n = 2; n <= voters; ++n) {
            hear(introduce(n), 0);
        }
        lead();
    }

    static PeerConfig config_for(std::uint8_t voters, bool overlaps) {
        PeerConfig config;
        config.rules.overlaps = overlaps;
        const KeyPair project = test_key(99);
        config.project = project.public_key();
        config.listening_port = 4'000;
        config.rules.elements = 1 << 20;
        config.rules.target_batch = Samples{96};
        config.rules.last_step = StepIndex{100};
        config.scalars_of = [](StepIndex) { return UpdateScalars{.learning_rate = 0x3a000000u}; };
        SignedGeneration generation{
            .record = {.generation = 1, .step = StepIndex{3}, .state = {}, .voters = {}},
            .signature = {}};
        for (std::uint8_t n = 1; n <= voters; ++n) {
            generation.record.voters.push_back(test_key(n).public_key());
        }
        std::ranges::sort(generation.record.voters);
        generation.signature = project.sign(digest_of(RunId{}, generation.record).bytes);
        config.generation = generation;
        config.backbone = test_key(1).public_key();
        config.voter = first_memory(0, false);
        return config;
    }

    // --- what the others do ----------------------------------------------------

    /// test_key(n), linked.
    OtherEnd& introduce(std::uint8_t n, const Trainer& trainer = {}) {
        return introduce(test_key(n), n, trainer);
    }
    /// The peer of this key, linked as number `n`.
    OtherEnd& introduce(const KeyPair& other, std::uint32_t n, const Trainer& trainer) {
        const LinkId link{n};
        Actions actions;
        links.opened(now,
                     {.link = link,
                      .remote = {"10.0.0." + std::to_string(n), 50'000},
                      .proven = other.public_key(),
                      .user = trainer.user,
                      .max_samples_per_second = trainer.max_samples_per_second},
                     actions);
        ends_[n] = std::make_unique<OtherEnd>(OtherEnd{.key = other, .link = link});
        wire::Hello hello = tests::answer_to_challenge(actions, link);
        hello.listening_port = trainer.port;
        hello.role = trainer.role;
        (void)links.receive(now, ends_[n]->says(0, {}, hello), actions);
        REQUIRE(links.find(ends_[n]->peer()) != nullptr);
        return *ends_[n];
    }
    /// A trainer that holds the state of the head and has computed these samples on it.
    PeerKey add(std::uint8_t n, std::uint64_t samples, const Trainer& trainer = {}) {
        OtherEnd& end = introduce(n, trainer);
        hear(end, samples);
        return end.peer();
    }
    /// It holds this state, has computed so many samples on it, and votes if it is a voter.
    void hear(OtherEnd& end, std::uint64_t samples, const Digest& state = {}) {
        wire::Heartbeat heartbeat;
        heartbeat.has_state = true;
        heartbeat.state = state;
        heartbeat.record = voter.head().record;
        heartbeat.samples = Samples{samples};
        heartbeat.may_vote = voter.is_voter(end.peer());
        Actions actions;
        (void)links.receive(now, end.says(1, step(), heartbeat), actions);
        coordinator.on_report(now, end.peer(), step(), heartbeat.samples, 0);
    }
    OtherEnd& end(std::uint8_t n) { return *ends_.at(n); }
    /// Its last link closes.
    void lose(std::uint8_t n) {
        Actions actions;
        const auto lost = links.closed(now, {.link = end(n).link}, actions);
        REQUIRE(lost);
        election.count_again();
        coordinator.on_link_lost(now, *lost, out);
    }
    void join(const PeerKey& peer, std::uint64_t samples) {
        wire::Join join;
        join.term = term();
        join.contribution_id = 1;
        join.samples = Samples{samples};
        join.upload = upload;
        join.download = kBandwidth;
        coordinator.on_join(now, peer, step(), join, out);
        advance();
    }
    void be_ready(const PeerKey& peer, const Digest& average = {}) {
        coordinator.on_ready(now, peer, step(),
                             {.term = term(), .attempt = attempt(), .average = average});
        advance();
    }
    void stall(const PeerKey& witness, const wire::Stalled& stalled) {
        wire::Stalled complaint = stalled;
        complaint.term = term();
        complaint.attempt = attempt();
        coordinator.on_complaint(now, witness, step(), complaint, out);
        advance();
    }
    std::optional<Decision> accept(std::uint8_t n, const Digest& record) {
        const auto bytes = vote_bytes(config.run, term(), record);
        return accept(test_key(n).public_key(), record, test_key(n).sign(bytes));
    }
    std::optional<Decision> accept(const PeerKey& peer, const Digest& record,
                                   const Signature& signature) {
        return coordinator.on_accept(peer, step(),
                                     {.term = term(), .digest = record, .signature = signature});
    }

    // --- time ------------------------------------------------------------------

    void advance(Duration time = {}) {
        now += time;
        election.advance(now, true, out);
        coordinator.advance(now, out);
        coordinator.check_invariants();
        for (const OutgoingMessage& message : out.messages) {
            if (const auto* plan = std::get_if<wire::Plan>(&message.body)) last_plan = *plan;
        }
    }
    /// Calls, has all join with so many samples each, and returns the plan.
    wire::Plan plan(std::uint64_t samples) {
        coordinator.on_report(now, self(), step(), Samples{96}, 0);
        advance(1s);
        const auto calls = sent<wire::Call>();
        REQUIRE(calls.size() == 1);
        for (const PeerKey& peer : calls.front().to) join(peer, samples);
        const auto plans = said<wire::Plan>();
        REQUIRE(plans.size() == 1);
        out = {};
        return plans.front();
    }

    // --- what it says ----------------------------------------------------------

    template <class Body>
    std::vector<OutgoingMessage> sent() const {
        std::vector<OutgoingMessage> all;
        for (const OutgoingMessage& message : out.messages) {
            if (std::holds_alternative<Body>(message.body)) all.push_back(message);
        }
        return all;
    }
    template <class Body>
    std::vector<Body> said() const {
        std::vector<Body> all;
        for (const OutgoingMessage& message : sent<Body>()) {
            all.push_back(std::get<Body>(message.body));
        }
        return all;
    }
    PeerKey self() const { return key.public_key(); }
    StepIndex step() const { return voter.head().step; }
    const Term& term() const { return election.term(); }
    std::uint32_t attempt() const { return last_plan.attempt; }

    PeerConfig config;
    const KeyPair key;
    membership::Links links;
    membership::Voter voter;
    const kernels::ThisThread workers{};
    membership::Election election;
    Member member;
    Coordinator coordinator;
    Bandwidth upload = kBandwidth;  ///< what all Joins claim
    TimePoint now{1h};
    Outbox out;  ///< since it was emptied
    wire::Plan last_plan;

  private:
    /// It stands, and the other voters promise.
    void lead() {
        advance(10s);
        for (const auto& [n, end] : ends_) {
            for (const wire::Elect& elect : said<wire::Elect>()) {
                election.on_promise(end->peer(), step(),
                                    {.term = elect.term, .granted = true, .promised = elect.term},
                                    out);
            }
        }
        REQUIRE(election.is_leading());
        coordinator.on_head(now, true, nullptr);
        advance();
        out = {};
    }

    std::map<std::uint32_t, std::unique_ptr<OtherEnd>> ends_;
};

inline std::vector<PeerKey> members_of(const wire::Plan& plan) {
    std::vector<PeerKey> members;
    for (const wire::PlanMember& member : plan.members) members.push_back(member.peer);
    return members;
}

/// The reducer of each chunk. Requires that every chunk has one.
inline std::vector<PeerKey> reducers_of(const wire::Plan& plan) {
    std::vector<PeerKey> reducers;
    for (const wire::ChunkRange& range : plan.ranges) {
        REQUIRE(range.first_chunk == reducers.size());
        REQUIRE(range.last_chunk > range.first_chunk);
        REQUIRE(range.member.value() < plan.members.size());
        reducers.resize(range.last_chunk, plan.members[range.member.value()].peer);
    }
    REQUIRE(reducers.size() == (plan.elements + plan.chunk_elements - 1) / plan.chunk_elements);
    return reducers;
}

using Keys = std::vector<PeerKey>;
using Numbers = std::vector<std::uint8_t>;  ///< the number of its test_key

inline PeerKey key_of(std::uint8_t n) {
    return test_key(n).public_key();
}

/// A round of the coordinator and the trainers 11, 12 and 13, which can be dialled.
struct Planned : CoordinatorBench {
    explicit Planned(std::uint8_t voters = 1) : CoordinatorBench(voters) {
        for (std::uint8_t n = 11; n <= 13; ++n) add(n, 0);
        first = plan(30);
    }
    std::uint32_t index_of(const PeerKey& peer) const {
        const Keys members = members_of(last_plan);
        return static_cast<std::uint32_t>(std::ranges::find(members, peer) - members.begin());
    }
    /// The amended plan; nothing if there is none.
    std::optional<wire::Plan> amended() const {
        const auto plans = said<wire::Plan>();
        REQUIRE(plans.size() <= 1);
        return plans.empty() ? std::nullopt : std::optional{plans.front()};
    }
    wire::Plan first;
};

}  // namespace dedloc::round
