// Values that messages, records and events share.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"

namespace dedloc {

/// Where a peer listens. `host` is a numeric IPv4 or IPv6 address.
struct Endpoint {
    std::string host;
    std::uint16_t port = 0;
    auto operator<=>(const Endpoint&) const = default;
    std::string text() const {
        const bool is_v6 = host.find(':') != std::string::npos;
        return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
    }
};

enum class Role : std::uint8_t { kTrainer, kAggregator, kBackbone };

/// The numbers of one optimizer step that depend on more than the gradient. The coordinator
/// computes them once and sends their bits, so that no peer's libm has a say in the result: pow and
/// exp differ between libms. Each field holds the bits of a binary32 number (std::bit_cast<float>).
struct UpdateScalars {
    std::uint32_t learning_rate = 0;
    std::uint32_t bias_correction = 0;  ///< √(1 − β₂ᵗ) / (1 − β₁ᵗ), LAMB variant A
    bool operator==(const UpdateScalars&) const = default;
};

/// A line of a commit: what one member brought into the round.
struct CommitLine {
    PeerKey peer;
    Samples samples;
    double loss_sum = 0;
    bool operator==(const CommitLine&) const = default;
};

/// The signed record that ends the round on state `step`: from now on state `step + 1` exists.
struct CommitRecord {
    StepIndex step;
    std::uint32_t attempt = 0;
    std::vector<CommitLine> members;  ///< in member order, the order of every sum
    Digest average;                   ///< digest of the averaged gradient
    Digest previous_state;            ///< digest of the state that all members started from
    UpdateScalars scalars;
    bool operator==(const CommitRecord&) const = default;
};

}  // namespace dedloc
