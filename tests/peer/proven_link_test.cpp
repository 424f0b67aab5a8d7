// What the core takes from a link whose other end has proven who it is.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <variant>

#include "kernels/workers.hpp"
#include "peer/peer.hpp"
#include "peer/wire/message.hpp"
#include "tests/peer/wire_samples.hpp"

namespace dedloc {
namespace {

using tests::test_key;

constexpr LinkId kLink{7};
const kernels::ThisThread kAlone;
constexpr TimePoint kStart{std::chrono::seconds{1}};

PeerConfig config() {
    PeerConfig config;
    config.project = test_key(9).public_key();
    config.backbone = test_key(9).public_key();
    config.rules.elements = 8;
    config.rules.target_batch = Samples{4};
    config.rules.last_step = StepIndex{3};
    config.scalars_of = [](StepIndex) { return UpdateScalars{}; };
    return config;
}

struct Answer {
    bool closes = false;
    std::size_t frames = 0;
    std::string notes;
};

Answer answer_of(const Actions& actions) {
    Answer answer;
    for (const Action& action : actions) {
        if (const auto* note = std::get_if<action::Note>(&action)) answer.notes += note->line;
        if (std::holds_alternative<action::Close>(action)) answer.closes = true;
        if (std::holds_alternative<action::Send>(action)) ++answer.frames;
    }
    return answer;
}

/// What a peer answers to a challenge by test_key(speaker), on a link that proves `proven`.
Answer challenged(const std::optional<PeerKey>& proven, std::uint8_t speaker) {
    Peer peer(config(), test_key(1), kAlone);
    Actions actions;
    peer.handle(kStart,
                event::LinkOpened{
                    .link = kLink, .remote = {"192.0.2.1", 80}, .dialled = false, .proven = proven},
                actions);
    actions.clear();
    const SharedBytes frame = wire::encode({.run = {},
                                            .generation = 0,
                                            .step = {},
                                            .sequence = 1,
                                            .sender = test_key(speaker).public_key(),
                                            .body = wire::Challenge{}},
                                           test_key(speaker));
    peer.handle(kStart, event::FrameReceived{kLink, frame}, actions);
    return answer_of(actions);
}

TEST_CASE("only who has proven a link speaks on it", "[membership]") {
    const Answer own = challenged(test_key(2).public_key(), 2);
    CHECK_FALSE(own.closes);
    CHECK(own.frames == 1);
    const Answer foreign = challenged(test_key(2).public_key(), 3);
    CHECK(foreign.closes);
    CHECK(foreign.frames == 0);
    CHECK(foreign.notes.find("another peer than it has proven to be") != std::string::npos);
    const Answer unproven = challenged({}, 3);
    CHECK_FALSE(unproven.closes);
    CHECK(unproven.frames == 1);
}

TEST_CASE("why links fail is noted for each reason and not for each link", "[membership]") {
    Peer peer(config(), test_key(1), kAlone);
    std::size_t lines = 0;
    for (std::uint16_t port = 1; port <= 2'000; ++port) {
        Actions actions;
        peer.handle(kStart, event::DialFailed{{"192.0.2.1", port}, "nobody listens there"},
                    actions);
        const std::string notes = answer_of(actions).notes;
        if (notes.empty()) continue;
        ++lines;
        CHECK(notes.find("nobody listens there") != std::string::npos);
    }
    CHECK(lines == 10);
    Actions actions;
    peer.handle(kStart, event::DialFailed{{"192.0.2.1", 80}, "its ticket has expired"}, actions);
    CHECK(answer_of(actions).notes == "no link with 192.0.2.1:80: its ticket has expired");
    actions.clear();
    peer.handle(kStart, event::DialFailed{{"192.0.2.1", 81}}, actions);
    CHECK(answer_of(actions).notes.empty());
}

TEST_CASE("a peer does not dial itself again once that is proven", "[membership]") {
    const Endpoint remote{"192.0.2.1", 80};
    for (const bool is_self : {false, true}) {
        Peer peer(config(), test_key(1), kAlone);
        Actions actions;
        peer.handle(kStart, event::DialFailed{remote, "it is this peer itself", is_self}, actions);
        CHECK(answer_of(actions).notes.empty() == is_self);
        actions.clear();
        peer.handle(kStart + std::chrono::minutes{5}, event::EndpointsFound{{remote}}, actions);
        const bool dials = std::ranges::any_of(actions, [](const Action& action) {
            return std::holds_alternative<action::Dial>(action);
        });
        CHECK(dials != is_self);
    }
}

}  // namespace
}  // namespace dedloc
