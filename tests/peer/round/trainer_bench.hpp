// A member that trains and reduces everything itself, driven by hand-made messages and events. The
// coordinator is another peer, played by hand.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "peer/round/member.hpp"

namespace dedloc::round {

/// A trainer at step 0 of a run with or without overlap.
struct TrainerBench {
    static constexpr std::uint32_t kElements = 16;

    explicit TrainerBench(bool overlaps)
        : config(made_config(overlaps)),
          voter(config, key),
          member(config, key.public_key(), voter, workers) {
        reach(0);
    }
    PeerConfig made_config(bool overlaps) const {
        PeerConfig made;
        made.backbone = backbone;
        made.listening_port = 1;
        made.rules.elements = kElements;
        made.rules.target_batch = Samples{50};
        made.rules.last_step = StepIndex{100};
        made.rules.overlaps = overlaps;
        return made;
    }
    /// The trainer's state has this digest, which names it in records.
    static Digest digest_at(std::uint64_t step) { return {{static_cast<std::byte>(step)}}; }

    // --- the trainer -----------------------------------------------------------
    void reach(std::uint64_t step) {
        member.on_state({.step = StepIndex{step}, .digest = digest_at(step)}, out);
    }
    void progress(std::uint64_t samples) {
        member.on_progress({.step = member.step(), .samples = Samples{samples}}, out);
    }
    void hand_over(std::uint64_t samples) {
        const auto sum = std::make_shared<FloatVector>(kElements, 1.0F);
        member.on_frozen({.step = member.step(),
                          .contribution = {.samples = Samples{samples},
                                           .loss_sum = static_cast<double>(samples),
                                           .sum = samples > 0 ? sum : nullptr}},
                         out);
    }

    // --- the coordinator -------------------------------------------------------
    void call() { member.on_call(voter.head().step, {.term = term}, out); }
    void cancel() { member.on_cancel(voter.head().step, out); }
    /// A plan with the member's last Join, and after it the member's average; or one without it.
    wire::Plan plan(const std::optional<wire::Join>& join) {
        wire::Plan plan{.term = term,
                        .attempt = ++attempt,
                        .elements = kElements,
                        .chunk_elements = kElements,
                        .scalars = {},
                        .members = {},
                        .ranges = {{.member = PeerIndex{0}, .first_chunk = 0, .last_chunk = 1}},
                        .reducers = {},
                        .relays = {},
                        .expected = {}};
        if (join) {
            plan.members = {{.peer = key.public_key(),
                             .samples = join->samples,
                             .loss_sum = join->loss_sum,
                             .contribution_id = join->contribution_id,
                             .receives = true,
                             .exponent = join->exponent}};
        } else {
            plan.members = {{.peer = backbone, .samples = Samples{9}, .contribution_id = 4}};
        }
        return plan;
    }
    /// The round of the head is decided with this plan, and with the average that the member has.
    void decide(const wire::Plan& plan) {
        member.on_plan({}, voter.head().step, plan, out);
        Digest average;
        for (const wire::Ready& ready : said<wire::Ready>()) average = ready.average;
        const Digest state = digest_at(voter.head().step.value());
        member.on_decision(record_of(plan, average, state, voter.head()), {}, out);
        member.check_invariants();
    }
    /// Called, frozen with so many samples, decided and applied.
    void pass_round(std::uint64_t samples) {
        call();
        hand_over(samples);
        decide(plan(joined()));
    }
    /// The average of this round arrives, which was decided without the member.
    void fetch_average(std::uint64_t step) {
        CommitRecord record;
        record.step = StepIndex{step};
        record.previous_state = digest_at(step);
        REQUIRE(member.on_average(record, std::make_shared<FloatVector>(kElements), out));
    }
    /// The newest Join since the last call of this function.
    std::optional<wire::Join> joined() {
        const auto joins = said<wire::Join>();
        return joins.empty() ? std::nullopt : std::optional{joins.back()};
    }

    template <class Body>
    std::vector<Body> said() {
        std::vector<Body> all;
        std::erase_if(out.messages, [&](const OutgoingMessage& message) {
            const auto* body = std::get_if<Body>(&message.body);
            if (body != nullptr) all.push_back(*body);
            return body != nullptr;
        });
        return all;
    }
    /// All actions of one kind since the last call for it.
    template <class Kind>
    std::vector<Kind> acted() {
        std::vector<Kind> all;
        std::erase_if(out.actions, [&](const Action& action) {
            const auto* one = std::get_if<Kind>(&action);
            if (one != nullptr) all.push_back(*one);
            return one != nullptr;
        });
        return all;
    }

    const KeyPair key = KeyPair::generate();
    const PeerKey backbone = KeyPair::generate().public_key();
    const PeerConfig config;
    const Term term{.number = 1, .coordinator = backbone};
    Outbox out;
    membership::Voter voter;
    const kernels::ThisThread workers{};
    Member member;
    std::uint32_t attempt = 0;
};

}  // namespace dedloc::round
