// Frames by hand, for tests that play the other ends of a peer's links.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "peer/events.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message_codec.hpp"

namespace dedloc::tests {

/// A message that an action sends, and over which link.
struct Spoken {
    LinkId link;
    wire::Message message;
};

/// All that is sent, in order.
inline std::vector<Spoken> spoken(const Actions& actions) {
    std::vector<Spoken> all;
    for (const Action& action : actions) {
        const auto* send = std::get_if<action::Send>(&action);
        if (send == nullptr) continue;
        auto message = wire::decode_unverified(*send->frame.whole());
        REQUIRE(message);
        all.push_back({send->link, std::move(message).value()});
    }
    return all;
}

template <class Kind>
std::vector<Kind> all_of(const Actions& actions) {
    std::vector<Kind> all;
    for (const Action& action : actions) {
        if (const auto* one = std::get_if<Kind>(&action)) all.push_back(*one);
    }
    return all;
}

/// What answers the challenge that was sent over this link.
inline wire::Hello answer_to_challenge(const Actions& actions, LinkId link) {
    wire::Hello hello;
    hello.oldest_protocol = wire::kOldestProtocol;
    hello.newest_protocol = wire::kNewestProtocol;
    std::optional<Digest> nonce;
    for (const Spoken& one : spoken(actions)) {
        const auto* challenge = std::get_if<wire::Challenge>(&one.message.body);
        if (challenge != nullptr && one.link == link) nonce = challenge->nonce;
    }
    REQUIRE(nonce);
    hello.nonce = *nonce;
    return hello;
}

/// Another peer at the other end of a link.
struct OtherEnd {
    KeyPair key;
    LinkId link;
    std::uint64_t sequence = 0;

    PeerKey peer() const { return key.public_key(); }
    /// Signed, so that it can be said on any link.
    event::FrameReceived says(std::uint64_t generation, StepIndex step, wire::Body body) {
        const wire::Message message{.run = {},
                                    .generation = generation,
                                    .step = step,
                                    .sequence = ++sequence,
                                    .sender = key.public_key(),
                                    .body = std::move(body)};
        return {link, wire::frame_of(message, &key)};
    }
};

}  // namespace dedloc::tests
