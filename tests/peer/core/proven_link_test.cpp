// What the core takes from a link whose other end has proven who it is.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <variant>

#include "kernels/workers.hpp"
#include "peer/peer.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/peer/wire/samples.hpp"

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

wire::Message said_by(std::uint8_t speaker, wire::Body body) {
    return {.run = {},
            .generation = 0,
            .step = {},
            .sequence = 1,
            .sender = test_key(speaker).public_key(),
            .body = std::move(body)};
}

/// What a peer answers to a frame on a new link that proves `proven`.
Answer told(const std::optional<PeerKey>& proven, const SharedBytes& frame) {
    Peer peer(config(), test_key(1), kAlone);
    Actions actions;
    peer.handle(kStart,
                event::LinkOpened{
                    .link = kLink, .remote = {"192.0.2.1", 80}, .dialled = false, .proven = proven},
                actions);
    actions.clear();
    peer.handle(kStart, event::FrameReceived{kLink, frame}, actions);
    return answer_of(actions);
}

/// … to a challenge by test_key(speaker), signed.
Answer challenged(const std::optional<PeerKey>& proven, std::uint8_t speaker) {
    const KeyPair key = test_key(speaker);
    return told(proven, wire::frame_of(said_by(speaker, wire::Challenge{}), &key));
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

TEST_CASE("frames need no signature where the link says who speaks", "[membership]") {
    const SharedBytes challenge = wire::frame_of(said_by(2, wire::Challenge{}), nullptr);
    const Answer proven = told(test_key(2).public_key(), challenge);
    CHECK_FALSE(proven.closes);
    CHECK(proven.frames == 1);
    const Answer unproven = told({}, challenge);
    CHECK(unproven.closes);
    CHECK(unproven.frames == 0);
    CHECK(unproven.notes.find("without a signature") != std::string::npos);
    // The link says who sends it, not who has made it.
    const Answer foreign = told(test_key(3).public_key(), challenge);
    CHECK(foreign.closes);
    CHECK(foreign.notes.find("another peer than it has proven to be") != std::string::npos);
}

TEST_CASE("what may be passed on is signed on every link", "[membership]") {
    wire::Commit commit;
    commit.certificate.votes.push_back({.voter = test_key(2).public_key(), .signature = {}});
    const wire::Message message = said_by(2, commit);
    for (const bool is_proven : {false, true}) {
        std::optional<PeerKey> proven;
        if (is_proven) proven = test_key(2).public_key();
        const Answer bare = told(proven, wire::frame_of(message, nullptr));
        CHECK(bare.closes);
        CHECK(bare.notes.find("without a signature") != std::string::npos);
        const KeyPair key = test_key(2);
        const Answer whole = told(proven, wire::frame_of(message, &key));
        CHECK(whole.notes.find("did not introduce itself") != std::string::npos);
    }
}

TEST_CASE("what a peer says to several is signed for those whose links prove nothing",
          "[membership]") {
    Peer peer(config(), test_key(1), kAlone);
    Actions actions;
    peer.handle(kStart, event::Tick{}, actions);
    const auto tell = [&](const Event& event) {
        actions.clear();
        peer.handle(kStart, event, actions);
    };
    // Test keys 2 and 3 introduce themselves, one on a link of each kind.
    for (const std::uint8_t n : {std::uint8_t{2}, std::uint8_t{3}}) {
        event::LinkOpened opened{.link = LinkId{n}, .remote = {"192.0.2.1", n}};
        if (n == 3) opened.proven = test_key(n).public_key();
        tell(opened);
        REQUIRE(actions.size() == 1);
        const auto& send = std::get<action::Send>(actions.front());
        const auto challenge = wire::decode_unverified(*send.frame.whole()).value();
        wire::Hello hello;
        hello.oldest_protocol = hello.newest_protocol = wire::kNewestProtocol;
        hello.nonce = std::get<wire::Challenge>(challenge.body).nonce;
        const KeyPair key = test_key(n);
        tell(event::FrameReceived{LinkId{n}, wire::frame_of(said_by(n, hello), &key)});
    }
    actions.clear();
    peer.handle(kStart + std::chrono::seconds{1}, event::Tick{}, actions);
    std::size_t heard = 0;
    for (const Action& action : actions) {
        const auto* send = std::get_if<action::Send>(&action);
        if (send == nullptr) continue;
        const bool is_unproven = send->link == LinkId{2};
        const bool is_signed =
            wire::decode(*send->frame.whole(), wire::LinkKind::kUnproven).has_value();
        CHECK(is_signed == is_unproven);
        CHECK(wire::decode(*send->frame.whole(), wire::LinkKind::kProven).has_value());
        ++heard;
    }
    CHECK(heard == 2);
}

TEST_CASE("a peer that speaks no version of ours is told so and let go", "[membership]") {
    const auto greeted = [](std::uint16_t oldest, std::uint16_t newest) {
        Peer peer(config(), test_key(1), kAlone);
        Actions actions;
        peer.handle(kStart,
                    event::LinkOpened{.link = kLink,
                                      .remote = {"192.0.2.1", 80},
                                      .dialled = false,
                                      .proven = test_key(2).public_key()},
                    actions);
        const Buffer sent = *std::get<action::Send>(actions.front()).frame.whole();
        const auto challenge = wire::decode_unverified(sent).value();
        actions.clear();
        wire::Hello hello;
        hello.oldest_protocol = oldest;
        hello.newest_protocol = newest;
        hello.nonce = std::get<wire::Challenge>(challenge.body).nonce;
        const SharedBytes frame = wire::frame_of(said_by(2, hello), nullptr);
        peer.handle(kStart, event::FrameReceived{kLink, frame}, actions);
        return answer_of(actions);
    };
    constexpr std::uint16_t kOldest = wire::kOldestProtocol;
    constexpr std::uint16_t kNewest = wire::kNewestProtocol;
    CHECK_FALSE(greeted(kOldest, kNewest).closes);
    CHECK_FALSE(greeted(1, kOldest).closes);
    CHECK_FALSE(greeted(kNewest, 0xffff).closes);
    for (const auto& [oldest, newest] : {std::pair<std::uint16_t, std::uint16_t>{1, kOldest - 1},
                                         {kOldest - 1, kOldest - 1},
                                         {kNewest + 1, kNewest + 2}}) {
        const Answer answer = greeted(oldest, newest);
        INFO(oldest << " to " << newest);
        CHECK(answer.closes);
        CHECK(answer.frames == 1);  // the refusal
    }
}

TEST_CASE("who sends numbers of another codec than the run's is none of it", "[membership]") {
    Peer peer(config(), test_key(1), kAlone);
    Actions actions;
    const auto tell = [&](const Event& event) {
        actions.clear();
        peer.handle(kStart, event, actions);
        return answer_of(actions);
    };
    (void)tell(event::LinkOpened{.link = kLink,
                                 .remote = {"192.0.2.1", 80},
                                 .dialled = false,
                                 .proven = test_key(2).public_key()});
    const auto challenge =
        wire::decode_unverified(*std::get<action::Send>(actions.front()).frame.whole()).value();
    const auto say = [&](wire::Body body) {
        return tell(
            event::FrameReceived{kLink, wire::frame_of(said_by(2, std::move(body)), nullptr)});
    };
    wire::Hello hello;
    hello.oldest_protocol = hello.newest_protocol = wire::kNewestProtocol;
    hello.nonce = std::get<wire::Challenge>(challenge.body).nonce;
    CHECK_FALSE(say(hello).closes);
    wire::Chunk chunk;
    chunk.chunk_elements = 1;
    chunk.elements = FloatVector(1);
    CHECK_FALSE(say(chunk).closes);
    chunk.elements = wire::Halves{.bits = std::vector<std::uint16_t>(1), .exponent = 127};
    const Answer answer = say(chunk);
    CHECK(answer.closes);
    CHECK(answer.notes.find("its chunks are of another codec than the run's") != std::string::npos);
}

TEST_CASE("why links fail is noted for each reason and not for each link", "[membership]") {
    Peer peer(config(), test_key(1), kAlone);
    std::size_t lines = 0;
    for (std::uint16_t port = 1; port <= 2'000; ++port) {
        Actions actions;
        peer.handle(kStart, event::DialFailed{{"192.0.2.1", port}, "the connection was refused"},
                    actions);
        const std::string notes = answer_of(actions).notes;
        if (notes.empty()) continue;
        ++lines;
        CHECK(notes.find("the connection was refused") != std::string::npos);
    }
    CHECK(lines == 8);
    constexpr TimePoint kLater = kStart + std::chrono::minutes{1};
    Actions actions;
    peer.handle(kLater, event::DialFailed{{"192.0.2.1", 9}, "the connection was refused"}, actions);
    CHECK_FALSE(answer_of(actions).notes.empty());
    actions.clear();
    peer.handle(kLater, event::DialFailed{{"192.0.2.1", 80}, "its ticket has expired"}, actions);
    // A volunteer's log names no addresses.
    CHECK(answer_of(actions).notes == "no link with a peer: its ticket has expired");
    actions.clear();
    peer.handle(kLater, event::DialFailed{{"192.0.2.1", 81}}, actions);
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
