// Two ends of a link in one process, shared by the tests of handshakes and codecs.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "peer/net/session/handshake.hpp"
#include "tests/peer/wire/samples.hpp"

namespace dedloc::net {

inline constexpr std::uint8_t kProject = 9;
/// Half an hour after every test_ticket begins.
inline constexpr formats::UtcSeconds kNow{std::chrono::seconds{1'001'800}};

/// The session of test_key(n), with a test_ticket of the project; the same on every processor.
inline SessionOptions session_of(std::uint8_t n, bool has_aes = false) {
    return {.project = tests::test_key(kProject).public_key(),
            .run = {},
            .key = tests::test_key(n),
            .ticket = formats::sign(tests::test_ticket(n), tests::test_key(kProject)),
            .has_aes = has_aes};
}

/// A message in transit and its sender.
struct HandshakeMessage {
    Side from;
    Buffer bytes;
};

/// Runs a handshake message by message; a man in the middle may modify messages.
class Conversation {
  public:
    Conversation(const SessionOptions& dialler_options, const SessionOptions& listener_options,
                 std::optional<PeerKey> expected = {}, LinkVersions dialler_versions = {},
                 LinkVersions listener_versions = {})
        : dialler(dialler_options, Side::kDialler, expected, dialler_versions),
          listener(listener_options, Side::kListener, {}, listener_versions) {}

    /// Runs until neither end sends anything. `meddle` may modify or drop (empty) each message. As
    /// on a stream, a longer message than expected is cut and a shorter one is never complete.
    template <class Meddle>
    void play(const Meddle& meddle) {
        std::optional<HandshakeMessage> message{{Side::kDialler, dialler.begin()}};
        while (message && !message->bytes.empty()) {
            messages.push_back(*message);
            meddle(messages.size() - 1, *message);
            Handshake& to = message->from == Side::kDialler ? listener : dialler;
            if (to.wants() == 0 || message->bytes.size() < to.wants()) return;
            const auto bytes = std::span{message->bytes}.first(to.wants());
            const Side from = message->from == Side::kDialler ? Side::kListener : Side::kDialler;
            message = HandshakeMessage{from, to.take(bytes, now, revoked, admit)};
        }
    }
    void play() {
        play([](std::size_t, HandshakeMessage&) {});
    }

    Handshake dialler;
    Handshake listener;
    formats::UtcSeconds now = kNow;
    formats::Revocations revoked;
    Admit admit;
    std::vector<HandshakeMessage> messages;  ///< as they were sent
};

}  // namespace dedloc::net
