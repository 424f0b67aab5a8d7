// Attaching one more flow to a link: its ends, strangers, and messages that were changed on the way
// or recorded.
#include "peer/net/session/flow_handshake.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/peer/net/session/session_ends.hpp"

namespace dedloc::net {
namespace {

FlowSecret secret_of(std::uint8_t n) {
    FlowSecret secret;
    secret.token.bytes[0] = std::byte{n};
    secret.key.bytes[0] = std::byte{n};
    return secret;
}

/// Both ends of one handshake.
struct Attachment {
    explicit Attachment(const FlowSecret& secret = secret_of(1))
        : dialler(secret), listener([this](const FlowToken& token) {
              ++lookups;
              if (token != link.token) return NamedLink{};
              const bool is_late = refuses_late && lookups > 1;
              return NamedLink{is_late ? LinkRefusal::kFlowsTaken : refusal, link};
          }) {}

    /// Runs until neither end sends anything; `meddle` may change each message.
    template <class Meddle>
    void play(const Meddle& meddle) {
        Buffer message = dialler.begin();
        for (bool to_listener = true; !message.empty(); to_listener = !to_listener) {
            messages.push_back(message);
            meddle(messages.size() - 1, message);
            FlowHandshake& to = to_listener ? listener : dialler;
            if (to.wants() != message.size()) return;
            message = to.take(message);
        }
    }
    void play() {
        play([](std::size_t, Buffer&) {});
    }

    FlowSecret link = secret_of(1);  ///< what the listener has
    LinkRefusal refusal = LinkRefusal::kNone;
    bool refuses_late = false;
    int lookups = 0;
    FlowHandshake dialler;
    FlowHandshake listener;
    std::vector<Buffer> messages;
};

Buffer buffer_of(std::span<const std::byte> bytes) {
    return {bytes.begin(), bytes.end()};
}

TEST_CASE("both ends of a link get the keys of a new flow, which no other flow has", "[net]") {
    Attachment first;
    Attachment second;
    first.play();
    second.play();
    REQUIRE(first.dialler.is_proven());
    REQUIRE(first.listener.is_proven());
    REQUIRE(second.dialler.is_proven());
    const auto here = first.dialler.keys(Cipher::kAes256Gcm);
    const auto there = first.listener.keys(Cipher::kAes256Gcm);
    CHECK(buffer_of(here.send) == buffer_of(there.receive));
    CHECK(buffer_of(here.receive) == buffer_of(there.send));
    CHECK(buffer_of(here.send) != buffer_of(here.receive));
    CHECK(buffer_of(here.send) != buffer_of(second.dialler.keys(Cipher::kAes256Gcm).send));
    CHECK(first.listener.token() == secret_of(1).token);
}

TEST_CASE("the two ends of a link's handshake share its flow secret, other links do not", "[net]") {
    const SessionOptions one = session_of(1);
    const SessionOptions two = session_of(2);
    Conversation talk(one, two);
    Conversation other(one, two);
    talk.play();
    other.play();
    const FlowSecret& here = talk.dialler.proven().flows;
    const FlowSecret& there = talk.listener.proven().flows;
    CHECK(here.token == there.token);
    CHECK(here.key.bytes == there.key.bytes);
    CHECK(here.token != other.dialler.proven().flows.token);
    CHECK(here.key.bytes != other.dialler.proven().flows.key.bytes);
    CHECK(here.key.bytes != talk.dialler.proven().send.bytes);
    CHECK(here.key.bytes != talk.dialler.proven().receive.bytes);
    CHECK_FALSE(std::ranges::equal(here.token.bytes, std::span{here.key.bytes}.first(16)));
}

TEST_CASE("a flow of a link that the listener does not have is refused with a reason", "[net]") {
    Attachment stranger(secret_of(2));
    stranger.play();
    CHECK(stranger.listener.refusal() == LinkRefusal::kNoSuchLink);
    CHECK(stranger.listener.sentence() == "it named a link that this peer does not have");
    REQUIRE(stranger.dialler.is_refused());
    CHECK(stranger.dialler.sentence() == "it refused us: it does not have the link that we named");
}

TEST_CASE("a flow too many is refused with a reason, also if it is one only at the end", "[net]") {
    const bool is_late = GENERATE(false, true);
    Attachment crowded;
    crowded.refuses_late = is_late;
    if (!is_late) crowded.refusal = LinkRefusal::kFlowsTaken;
    crowded.play();
    CHECK(crowded.messages.size() == (is_late ? 4 : 2));
    CHECK(crowded.listener.sentence() == "its link has as many connections as it may have");
    REQUIRE(crowded.dialler.is_refused());
    CHECK(crowded.dialler.sentence() ==
          "it refused us: our link has as many connections as it may have");
}

TEST_CASE("a token without the link's secret attaches nothing", "[net]") {
    FlowSecret stolen = secret_of(1);
    stolen.key.bytes[7] = std::byte{1};
    Attachment stranger(stolen);
    stranger.play();
    CHECK_FALSE(stranger.listener.is_proven());
    CHECK(stranger.dialler.refusal() == LinkRefusal::kChanged);
    // A stranger that ignores the answer's proof cannot confirm it either.
    Attachment blind(stolen);
    const Buffer answer = blind.listener.take(blind.dialler.begin());
    Buffer confirm = answer;
    CHECK(blind.listener.take(confirm).empty());
    CHECK(blind.listener.refusal() == LinkRefusal::kChanged);
}

TEST_CASE("a changed byte in any message of an attachment is noticed", "[net]") {
    for (std::size_t number = 0; number < 4; ++number) {
        const std::size_t size =
            number == 0 ? FlowHandshake::kAttachBytes : FlowHandshake::kFlowBytes;
        for (std::size_t at = 0; at < size; ++at) {
            Attachment talk;
            talk.play([&](std::size_t which, Buffer& message) {
                if (which == number) message[at] ^= std::byte{1};
            });
            CHECK_FALSE(talk.dialler.is_proven());
            // The Welcome is the listener's last word.
            CHECK(talk.listener.is_proven() == (number == 3));
        }
    }
}

TEST_CASE("a recorded attachment cannot be replayed", "[net]") {
    Attachment recorded;
    recorded.play();
    REQUIRE(recorded.listener.is_proven());
    Attachment replay;
    const Buffer answer = replay.listener.take(recorded.messages[0]);
    CHECK(answer != recorded.messages[1]);
    CHECK(replay.listener.take(recorded.messages[2]).empty());
    CHECK(replay.listener.refusal() == LinkRefusal::kChanged);
    // Nor can the listener's part be played to the dialler.
    CHECK_FALSE(replay.dialler.begin().empty());
    CHECK(replay.dialler.take(recorded.messages[1]).empty());
    CHECK(replay.dialler.refusal() == LinkRefusal::kChanged);
}

TEST_CASE("a Hello is no Attach, and an Attach no Hello", "[net]") {
    const SessionOptions one = session_of(1);
    Handshake dialler(one, Side::kDialler);
    const Buffer hello = dialler.begin();
    CHECK_FALSE(FlowHandshake::is_attach(hello));
    Attachment flow;
    CHECK(flow.listener.take(hello).size() == FlowHandshake::kFlowBytes);
    CHECK(flow.listener.refusal() == LinkRefusal::kNotALink);
    const Buffer attach = flow.dialler.begin();
    CHECK(FlowHandshake::is_attach(attach));
    Handshake listener(one, Side::kListener);
    (void)listener.take(attach, kNow, {});
    CHECK(listener.refusal() == LinkRefusal::kNotALink);
}

}  // namespace
}  // namespace dedloc::net
