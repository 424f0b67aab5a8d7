// A member that is driven by hand-made messages and events.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "peer/round/member.hpp"

namespace dedloc::round {

inline constexpr std::uint32_t kElements = 16;

/// A backbone without links that also computes. The other contributor only sends.
struct MemberBench {
    explicit MemberBench(Codec codec = Codec::kFp32, float number = 6.0F)
        : config(config_for(key, codec)),
          voter(config, key),
          member(config, key.public_key(), voter, workers) {
        begin(number);
    }
    /// Brings the member to the head's state with a frozen sum of this number.
    void begin(float number) {
        member.on_state({.step = step(), .digest = {}}, out);
        member.on_call(step(), {.term = term(1)}, out);
        auto sum = std::make_shared<FloatVector>(kElements, number);
        member.on_frozen(
            {.step = step(), .contribution = {.samples = Samples{2}, .loss_sum = 1, .sum = sum}},
            out);
        out.messages.clear();
        out.actions.clear();
    }
    StepIndex step() const { return voter.head().step; }
    static PeerConfig config_for(const KeyPair& key, Codec codec) {
        PeerConfig config;
        config.backbone = key.public_key();
        config.role = Role::kBackbone;
        config.listening_port = 1;
        config.rules.elements = kElements;
        config.rules.codec = codec;
        config.rules.last_step = StepIndex{100};
        config.voter = first_memory(0, true);
        return config;
    }
    Term term(std::uint64_t number) const {
        return {.number = number, .coordinator = key.public_key()};
    }
    /// Its answer to a call.
    wire::Join join() {
        member.on_call(step(), {.term = term(1)}, out);
        return std::get<wire::Join>(out.messages.back().body);
    }
    std::uint32_t contribution_id() { return join().contribution_id; }
    std::uint8_t exponent() { return join().exponent; }
    wire::Plan plan(std::uint64_t term_number, bool with_other) {
        wire::Plan plan{.term = term(term_number),
                        .attempt = 1,
                        .elements = kElements,
                        .chunk_elements = kElements,
                        .scalars = {},
                        .members = {{.peer = key.public_key(),
                                     .samples = Samples{2},
                                     .loss_sum = 1,
                                     .contribution_id = contribution_id(),
                                     .receives = true,
                                     .exponent = exponent()}},
                        .ranges = {},
                        .reducers = {},
                        .relays = {},
                        .expected = {}};
        if (with_other) {
            plan.members.push_back({.peer = other, .samples = Samples{1}, .contribution_id = 9});
            if (other < key.public_key()) std::swap(plan.members[0], plan.members[1]);
        }
        const bool is_first = plan.members[0].peer == key.public_key();
        plan.ranges = {
            {.member = PeerIndex{is_first ? 0U : 1U}, .first_chunk = 0, .last_chunk = 1}};
        return plan;
    }
    void follow(const wire::Plan& plan) { member.on_plan(TimePoint{}, step(), plan, out); }
    void receive_from_other(float number = 9.0F) {
        member.on_chunk(TimePoint{}, other, step(),
                        {.kind = wire::ChunkKind::kScatter,
                         .sum_id = 9,
                         .chunk = 0,
                         .chunk_elements = kElements,
                         .elements = FloatVector(kElements, number)},
                        out);
    }
    /// All messages of one kind since the last call of this function; drops the others.
    template <class Body>
    std::vector<Body> said() {
        std::vector<Body> all;
        for (const OutgoingMessage& message : out.messages) {
            if (const auto* body = std::get_if<Body>(&message.body)) all.push_back(*body);
        }
        out.messages.clear();
        return all;
    }
    template <class Kind>
    std::size_t acted() const {
        return static_cast<std::size_t>(std::ranges::count_if(
            out.actions,
            [](const Action& action) { return std::holds_alternative<Kind>(action); }));
    }
    /// A record of this plan as a commit of its coordinator, without the record.
    wire::Commit commit_of(const wire::Plan& plan, const Digest& average) const {
        return {.digest = digest_of(record_of(plan, average, {}, voter.head())),
                .certificate = {.term = plan.term, .votes = {}},
                .attempt = plan.attempt,
                .average = average,
                .previous_state = {},
                .record = {}};
    }
    wire::Propose propose_of(const wire::Plan& plan, const Digest& average) const {
        return {.term = plan.term,
                .attempt = plan.attempt,
                .digest = digest_of(record_of(plan, average, {}, voter.head())),
                .average = average,
                .previous_state = {},
                .record = {}};
    }
    /// The digest in its newest Ready; nothing if it has sent none.
    std::optional<Digest> ready() {
        std::optional<Digest> average;
        for (const OutgoingMessage& message : out.messages) {
            if (const auto* told = std::get_if<wire::Ready>(&message.body)) average = told->average;
        }
        out.messages.clear();
        return average;
    }
    /// Decides the record of this plan. Returns the average that is applied, if any.
    SharedFloats decide(const wire::Plan& plan, const Digest& average) {
        out.actions.clear();
        member.on_decision(record_of(plan, average, {}, voter.head()), {}, out);
        for (const Action& action : out.actions) {
            if (const auto* apply = std::get_if<action::Apply>(&action)) return apply->average;
        }
        return nullptr;
    }

    const KeyPair key = KeyPair::generate();
    const PeerKey other = KeyPair::generate().public_key();
    const PeerConfig config;
    Outbox out;
    membership::Voter voter;
    const kernels::ThisThread workers{};
    Member member;
};

}  // namespace dedloc::round
