// A peer beside the backbone that votes alone, for tests of the core.
#pragma once

#include <utility>
#include <vector>

#include "tests/peer/core/hand_fed.hpp"

namespace dedloc::tests {

inline constexpr std::uint64_t kElements = 8;
inline const KeyPair kProject = test_key(90);
inline const KeyPair kBackbone = test_key(80);
inline const KeyPair kSelf = test_key(1);
inline const KeyPair kOther = test_key(2);
inline const KeyPair kThird = test_key(3);

inline PeerConfig config_of(Role role) {
    PeerConfig config;
    config.project = kProject.public_key();
    config.backbone = kBackbone.public_key();
    config.role = role;
    config.receives = role != Role::kAggregator;
    config.listening_port = 4'000;
    config.rules.elements = kElements;
    config.rules.target_batch = Samples{100};
    config.rules.last_step = StepIndex{1'000};
    config.scalars_of = [](StepIndex) { return UpdateScalars{}; };
    return config;
}

inline const EndOptions kBackboneEnd{.role = Role::kBackbone, .port = 4'001};

/// A peer of generation 0 beside the backbone that votes in it.
struct Beside {
    explicit Beside(Role role, PeerConfig config) : peer(std::move(config), kSelf) {
        if (role != Role::kAggregator) {
            peer.tell(event::StateReached{.step = {}, .digest = history.state()});
        }
        backbone = &peer.introduce(kBackbone, kBackboneEnd);
        peer.forget();
    }
    explicit Beside(Role role) : Beside(role, config_of(role)) {}

    std::vector<Decision> decide(std::size_t count) {
        std::vector<Decision> decisions;
        for (std::size_t k = 0; k < count; ++k) decisions.push_back(history.decide());
        return decisions;
    }
    void hear_commit(const Decision& decision) {
        peer.hear(*backbone, decision.record.step, wire::full_commit(decision));
    }

    WrittenHistory history{kBackbone};
    HandFed peer;
    OtherEnd* backbone = nullptr;
};

}  // namespace dedloc::tests
