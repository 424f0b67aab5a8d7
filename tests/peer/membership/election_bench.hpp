// One peer among the voters of a generation, with hand-made messages of its neighbours.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "peer/membership/election.hpp"
#include "tests/peer/core/spoken.hpp"
#include "tests/peer/wire/samples.hpp"

namespace dedloc::membership {

using namespace std::chrono_literals;
using tests::OtherEnd;
using tests::test_key;

/// `count` voters, ascending by key.
inline std::vector<KeyPair> voter_keys(std::size_t count) {
    std::vector<KeyPair> keys;
    for (std::size_t k = 1; k <= count; ++k) keys.push_back(test_key(static_cast<std::uint8_t>(k)));
    std::ranges::sort(keys, {}, &KeyPair::public_key);
    return keys;
}

struct ElectionBenchOptions {
    PeerKey backbone{};  ///< not a voter
    std::uint16_t port = 4'000;
    bool remembers = true;
};

/// One peer among the voters of a generation.
struct ElectionBench {
    ElectionBench(const std::vector<KeyPair>& voters, const KeyPair& its_key,
                  const ElectionBenchOptions& options = {})
        : config(config_for(voters, options)),
          key(its_key),
          links(config, key),
          voter(config, key),
          election(config, key.public_key(), links, voter, Random{7}) {}

    static PeerConfig config_for(const std::vector<KeyPair>& voters,
                                 const ElectionBenchOptions& options) {
        PeerConfig config;
        const KeyPair project = test_key(99);
        config.project = project.public_key();
        config.backbone = options.backbone;
        config.listening_port = options.port;
        config.rules.elements = 1;
        config.rules.last_step = StepIndex{100};
        SignedGeneration generation{
            .record = {.generation = 1, .step = StepIndex{3}, .state = {}, .voters = {}},
            .signature = {}};
        for (const KeyPair& pair : voters) generation.record.voters.push_back(pair.public_key());
        generation.signature = project.sign(digest_of(RunId{}, generation.record).bytes);
        config.generation = generation;
        if (options.remembers) config.voter = first_memory(0, false);
        return config;
    }

    /// Links to the peer with this key.
    OtherEnd& introduce(const KeyPair& other) {
        const LinkId link{++last_link};
        actions.clear();
        links.opened(now, {.link = link, .remote = {"10.0.0.1", 9}, .proven = other.public_key()},
                     actions);
        ends.push_back(std::make_unique<OtherEnd>(OtherEnd{.key = other, .link = link}));
        const wire::Hello hello = tests::answer_to_challenge(actions, link);
        (void)links.receive(now, ends.back()->says(0, {}, hello), actions);
        REQUIRE(links.find(other.public_key()) != nullptr);
        return *ends.back();
    }
    /// A heartbeat as the core handles it.
    void hear(OtherEnd& end, const Term& term = {}, bool may_vote = true) {
        wire::Heartbeat heartbeat;
        heartbeat.may_vote = may_vote;
        heartbeat.term = term;
        const auto frame = end.says(head().generation, head().step, heartbeat);
        (void)links.receive(now, frame, actions);
        if (term.coordinator == end.peer()) election.on_coordinator(term, out);
    }
    void close(const OtherEnd& end) {
        (void)links.closed(now, {.link = end.link}, actions);
        election.count_again();
    }
    void advance(Duration time = {}, bool may_lead = true) {
        now += time;
        election.advance(now, may_lead, out);
    }
    /// Advances until the peer stands or leads, or this time has passed.
    bool stands_within(Duration time) {
        const TimePoint end = now + time;
        while (now < end) {
            advance();
            if (!said<wire::Elect>().empty()) return true;
            now += 50ms;
        }
        return false;
    }
    template <class Body>
    std::vector<Body> said() const {
        std::vector<Body> all;
        for (const OutgoingMessage& message : out.messages) {
            if (const auto* body = std::get_if<Body>(&message.body)) all.push_back(*body);
        }
        return all;
    }
    const Head& head() const { return voter.head(); }
    CommitRecord record(std::uint64_t variant) const {
        CommitRecord record{.generation = head().generation,
                            .step = head().step,
                            .previous_record = head().record,
                            .previous_state = {},
                            .members = {},
                            .average = {},
                            .scalars = {}};
        record.members.push_back(
            {.peer = test_key(50).public_key(), .samples = Samples{variant}, .reduced = 1});
        return record;
    }
    wire::Promise promise(const Term& term) const {
        return {.term = term, .granted = true, .promised = term};
    }
    bool leads() const { return election.is_leading(); }

    const PeerConfig config;
    const KeyPair key;
    Links links;
    Voter voter;
    Election election;
    TimePoint now{1h};
    Outbox out;
    Actions actions;
    std::uint64_t last_link = 0;
    std::vector<std::unique_ptr<OtherEnd>> ends;
};

/// The first of three voters; the two others are linked and able to vote.
struct Trio {
    explicit Trio(std::size_t self = 0) : keys(voter_keys(3)), bench(keys, keys[self]) {
        for (std::size_t k = 0; k < 3; ++k) {
            if (k != self) bench.introduce(keys[k]);
        }
        one = bench.ends[0].get();
        two = bench.ends[1].get();
        hear();
    }
    void hear() {
        bench.hear(*one);
        bench.hear(*two);
    }
    /// Lets it stand, and drops its messages.
    Term stand() {
        REQUIRE(bench.stands_within(10s));
        const Term term = bench.said<wire::Elect>().front().term;
        bench.out = {};
        return term;
    }
    Term lead() {
        const Term term = stand();
        bench.election.on_promise(one->peer(), bench.head().step, bench.promise(term), bench.out);
        REQUIRE(bench.leads());
        bench.out = {};
        return term;
    }

    std::vector<KeyPair> keys;
    ElectionBench bench;
    OtherEnd* one = nullptr;
    OtherEnd* two = nullptr;
};

inline Term term_of(std::uint64_t number, const KeyPair& key) {
    return {.number = number, .coordinator = key.public_key()};
}

}  // namespace dedloc::membership
