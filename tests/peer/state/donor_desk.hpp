// A donor alone, and the messages that it is sent and sends.
#pragma once

#include <catch2/catch.hpp>
#include <optional>
#include <vector>

#include "tests/peer/state/transfer_world.hpp"

namespace dedloc::test {

inline constexpr std::uint64_t kElements = 65'536;
inline const PeerKey kAsker{{std::byte{101}}};
inline const PeerKey kOther{{std::byte{102}}};

/// A donor at a step of a history, and the messages that it sends.
struct Desk {
    explicit Desk(std::uint32_t kept_averages = 2) : history(kElements, 1) {
        rules.elements = kElements;
        rules.kept_averages = kept_averages;
        donor.begin(0);
        for (std::uint64_t s = 0; s < 5; ++s) keep(StepIndex{s});
    }

    void keep(StepIndex step) {
        donor.keep(history.record(step), History::certificate(), history.average(step));
        own = {.has_state = true,
               .generation = 0,
               .step = step.next(),
               .state = history.state_digest(step.next())};
        if (certifies) certify(step.next());
    }
    /// The donor receives the certificate of this state.
    void certify(StepIndex step) {
        out = {};
        donor.certified(now, history.proof(step), own, out);
        donor.check_invariants();
    }
    void query(const PeerKey& from, StepIndex step, bool has_state = false,
               std::uint64_t generation = 0) {
        out = {};
        donor.queried(now, from, generation, step, {.has_state = has_state}, own, out);
        donor.check_invariants();
    }
    bool is_taking() const {
        return out.actions.size() == 1 &&
               std::holds_alternative<action::TakeSnapshot>(out.actions[0]);
    }
    void taken(const event::SnapshotTaken& snapshot) {
        out = {};
        donor.snapshot_taken(now, snapshot, own, out);
        donor.check_invariants();
    }
    void advance() {
        out = {};
        donor.advance(now, own, out);
        donor.check_invariants();
    }
    /// The peers that are offered a state, in this order.
    std::vector<PeerKey> offered() const {
        std::vector<PeerKey> peers;
        for (const OutgoingMessage& message : out.messages) {
            if (std::holds_alternative<wire::StateOffer>(message.body)) {
                peers.push_back(message.to.front());
            }
        }
        return peers;
    }
    /// A peer queries a state, and the trainer takes the snapshot.
    void snapshot(const PeerKey& from) {
        query(from, own.step);
        REQUIRE(is_taking());
        taken(history.snapshot(own.step));
    }
    std::optional<wire::Leaf> leaf(const Digest& root, std::uint32_t index) {
        donor.requested(now, kAsker, {.root = root, .leaf = index});
        return donor.next(now, kAsker);
    }
    template <class Body>
    const Body* said(std::size_t index = 0) const {
        return index < out.messages.size() ? std::get_if<Body>(&out.messages[index].body) : nullptr;
    }

    RoundRules rules;
    History history;
    const kernels::ThisThread workers;
    state::Donor donor{rules, workers};
    state::Own own;
    TimePoint now{};
    Outbox out;
    bool certifies = true;  ///< keep() also certifies the state
};

}  // namespace dedloc::test
