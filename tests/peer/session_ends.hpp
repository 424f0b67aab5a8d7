// Two ends of a link in one process: what the tests of handshakes and codecs share.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "peer/net/handshake.hpp"
#include "tests/peer/wire_samples.hpp"

namespace dedloc::net {

inline constexpr std::uint8_t kProject = 9;
/// Half an hour into every test_ticket.
inline constexpr wire::UtcSeconds kNow{std::chrono::seconds{1'001'800}};

/// Of test_key(n), with a test_ticket of the project.
inline SessionOptions session_of(std::uint8_t n) {
    return {.project = tests::test_key(kProject).public_key(),
            .run = {},
            .key = tests::test_key(n),
            .ticket = wire::sign(tests::test_ticket(n), tests::test_key(kProject))};
}

/// A message on its way, and who sends it.
struct Letter {
    Side from;
    Buffer bytes;
};

/// Plays a handshake message by message; somebody in the middle may change what is sent.
class Conversation {
  public:
    Conversation(const SessionOptions& dialler_options, const SessionOptions& listener_options,
                 std::optional<PeerKey> expected = {}, LinkVersions dialler_versions = {},
                 LinkVersions listener_versions = {})
        : dialler(dialler_options, Side::kDialler, expected, dialler_versions),
          listener(listener_options, Side::kListener, {}, listener_versions) {}

    /// Until nobody has anything to say. `meddle` may change or drop (empty) each letter. A
    /// message of another length than is waited for is cut or never complete, as on a stream.
    template <class Meddle>
    void play(const Meddle& meddle) {
        std::optional<Letter> letter{{Side::kDialler, dialler.begin()}};
        while (letter && !letter->bytes.empty()) {
            letters.push_back(*letter);
            meddle(letters.size() - 1, *letter);
            Handshake& to = letter->from == Side::kDialler ? listener : dialler;
            if (to.wants() == 0 || letter->bytes.size() < to.wants()) return;
            const auto message = std::span{letter->bytes}.first(to.wants());
            const Side from = letter->from == Side::kDialler ? Side::kListener : Side::kDialler;
            letter = Letter{from, to.take(message, now, revoked)};
        }
    }
    void play() {
        play([](std::size_t, Letter&) {});
    }

    Handshake dialler;
    Handshake listener;
    wire::UtcSeconds now = kNow;
    wire::Revocations revoked;
    std::vector<Letter> letters;  ///< as they were sent
};

}  // namespace dedloc::net
