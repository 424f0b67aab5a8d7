// Handshakes between two ends, with attackers that read and modify messages.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "tests/peer/net/session/session_ends.hpp"

namespace dedloc::net {
namespace {

using tests::test_key;
using tests::test_ticket;
using namespace std::chrono_literals;

SessionOptions with_ticket(std::uint8_t n, const formats::Ticket& ticket,
                           std::uint8_t signer = kProject) {
    SessionOptions options = session_of(n);
    options.ticket = formats::sign(ticket, test_key(signer));
    return options;
}

/// Checks that one end has refused for this reason and the other end knows it.
void check_refusal(const Handshake& refusing, const Handshake& refused, LinkRefusal why) {
    CHECK(refusing.is_refused());
    CHECK_FALSE(refusing.is_told());
    CHECK(refusing.refusal() == why);
    CHECK(refused.is_refused());
    CHECK(refused.is_told());
    CHECK(refused.refusal() == why);
    CHECK(refusing.sentence() == describe(why));
    CHECK(refused.sentence() == describe_told(why));
}

TEST_CASE("two honest ends learn each other's tickets and share secret keys", "[net]") {
    const SessionOptions one = session_of(1);
    const SessionOptions two = session_of(2);
    std::set<std::array<std::byte, 32>> keys;
    for (int i = 0; i < 3; ++i) {
        Conversation talk(one, two);
        talk.play();
        REQUIRE(talk.dialler.is_proven());
        REQUIRE(talk.listener.is_proven());
        CHECK(talk.messages.size() == 5);
        const Proven& there = talk.dialler.proven();
        const Proven& here = talk.listener.proven();
        CHECK(there.peer == test_ticket(2));
        CHECK(here.peer == test_ticket(1));
        CHECK(there.version == LinkVersions{}.newest);
        CHECK(there.send.bytes == here.receive.bytes);
        CHECK(there.receive.bytes == here.send.bytes);
        keys.insert({there.send.bytes, there.receive.bytes});
    }
    CHECK(keys.size() == 6);
}

TEST_CASE("frames are sealed with AES-256-GCM if both ends have it", "[net]") {
    const bool dialler_has_aes = GENERATE(false, true);
    const bool listener_has_aes = GENERATE(false, true);
    const SessionOptions one = session_of(1, dialler_has_aes);
    const SessionOptions two = session_of(2, listener_has_aes);
    Conversation talk(one, two);
    talk.play();
    REQUIRE(talk.dialler.is_proven());
    REQUIRE(talk.listener.is_proven());
    const Cipher expected =
        dialler_has_aes && listener_has_aes ? Cipher::kAes256Gcm : Cipher::kXChaCha20;
    CHECK(talk.dialler.proven().cipher == expected);
    CHECK(talk.listener.proven().cipher == expected);
}

TEST_CASE("only the peer with the expected key is accepted", "[net]") {
    const SessionOptions one = session_of(1);
    const SessionOptions two = session_of(2);
    Conversation right(one, two, test_key(2).public_key());
    right.play();
    CHECK(right.listener.is_proven());
    Conversation wrong(one, two, test_key(3).public_key());
    wrong.play();
    check_refusal(wrong.dialler, wrong.listener, LinkRefusal::kOtherPeer);
}

TEST_CASE("a dialler with a bad ticket is refused with the reason", "[net]") {
    const SessionOptions good = session_of(1);
    const auto refusal = [&](const SessionOptions& bad) {
        Conversation talk(bad, good);
        talk.play();
        check_refusal(talk.listener, talk.dialler, talk.listener.refusal());
        // The dialler has not learned the listener's key.
        CHECK(talk.messages.size() == 4);
        return talk.listener.refusal();
    };
    SessionOptions without = session_of(2);
    without.ticket.reset();
    CHECK(refusal(without) == LinkRefusal::kNoTicket);
    CHECK(refusal(with_ticket(2, test_ticket(2), 8)) == LinkRefusal::kOtherProject);
    formats::Ticket ticket = test_ticket(2);
    ticket.run.bytes[0] = std::byte{1};
    CHECK(refusal(with_ticket(2, ticket)) == LinkRefusal::kOtherRun);
    ticket = test_ticket(2);
    ticket.expires = kNow;
    CHECK(refusal(with_ticket(2, ticket)) == LinkRefusal::kExpired);
    ticket = test_ticket(2);
    ticket.issued = kNow + 601s;
    CHECK(refusal(with_ticket(2, ticket)) == LinkRefusal::kNotYetValid);
    CHECK(refusal(with_ticket(2, test_ticket(3))) == LinkRefusal::kBadSignature);
}

TEST_CASE("tickets of the project and of the run's ticket key are accepted", "[net]") {
    constexpr std::uint8_t kTicketKey = 8;
    const auto refusal = [](const SessionOptions& dialler, const SessionOptions& listener) {
        Conversation talk(dialler, listener);
        talk.play();
        CHECK(talk.dialler.is_proven() == talk.listener.is_proven());
        return talk.listener.refusal();
    };
    const auto knowing = [](SessionOptions options) {
        options.ticket_key = test_key(kTicketKey).public_key();
        return options;
    };
    const SessionOptions seat = knowing(with_ticket(2, test_ticket(2), kTicketKey));
    const SessionOptions voter = knowing(session_of(1));
    CHECK(refusal(seat, voter) == LinkRefusal::kNone);
    CHECK(refusal(voter, seat) == LinkRefusal::kNone);
    CHECK(refusal(seat, knowing(with_ticket(3, test_ticket(3), kTicketKey))) == LinkRefusal::kNone);
    CHECK(refusal(knowing(with_ticket(2, test_ticket(2), 7)), voter) == LinkRefusal::kOtherProject);
    // Without a ticket key in the run file, only tickets signed with the project key are valid.
    CHECK(refusal(seat, session_of(1)) == LinkRefusal::kOtherProject);
}

TEST_CASE("a listener with a bad ticket is refused with the reason", "[net]") {
    const SessionOptions good = session_of(1);
    const auto refusal = [&](const SessionOptions& bad) {
        Conversation talk(good, bad);
        talk.play();
        check_refusal(talk.dialler, talk.listener, talk.dialler.refusal());
        return talk.dialler.refusal();
    };
    SessionOptions without = session_of(2);
    without.ticket.reset();
    CHECK(refusal(without) == LinkRefusal::kNoTicket);
    CHECK(refusal(with_ticket(2, test_ticket(2), 8)) == LinkRefusal::kOtherProject);
    formats::Ticket ticket = test_ticket(2);
    ticket.expires = kNow;
    CHECK(refusal(with_ticket(2, ticket)) == LinkRefusal::kExpired);
    CHECK(refusal(with_ticket(2, test_ticket(3))) == LinkRefusal::kBadSignature);
}

TEST_CASE("clocks may differ by ten minutes, and a ticket is valid until its last second",
          "[net]") {
    const SessionOptions one = session_of(1);
    const SessionOptions two = session_of(2);
    const auto is_linked_at = [&](formats::UtcSeconds now) {
        Conversation talk(one, two);
        talk.now = now;
        talk.play();
        return talk.listener.is_proven();
    };
    const formats::Ticket ticket = test_ticket(1);
    CHECK_FALSE(is_linked_at(ticket.issued - 601s));
    CHECK(is_linked_at(ticket.issued - 600s));
    CHECK(is_linked_at(ticket.expires - 1s));
    CHECK_FALSE(is_linked_at(ticket.expires));
}

TEST_CASE("revoked users, hosts and keys are refused", "[net]") {
    const SessionOptions one = session_of(1);
    const SessionOptions two = session_of(2);
    const std::vector<formats::Revocations> all{
        {.users = {101}, .hosts = {}, .peers = {}},
        {.users = {}, .hosts = {201}, .peers = {}},
        {.users = {}, .hosts = {}, .peers = {test_key(1).public_key()}}};
    for (const formats::Revocations& revoked : all) {
        Conversation talk(one, two);
        talk.revoked = revoked;
        talk.play();
        check_refusal(talk.listener, talk.dialler, LinkRefusal::kRevoked);
    }
    Conversation other(one, two);
    other.revoked = {.users = {201, 7}, .hosts = {101}, .peers = {test_key(5).public_key()}};
    other.play();
    CHECK(other.listener.is_proven());
}

TEST_CASE("a listener refuses those who have proven their key and may open no link", "[net]") {
    std::optional<PeerKey> asked;
    const Admit refuse = [&](const PeerKey& opener) {
        asked = opener;
        return LinkRefusal::kFull;
    };
    const SessionOptions dialling = session_of(2);
    const SessionOptions listening = session_of(1);
    Conversation full{dialling, listening};
    full.admit = refuse;
    full.play();
    REQUIRE(full.dialler.is_refused());
    CHECK(full.dialler.sentence() == "it refused us: it has as many links as it may have");
    CHECK(full.listener.refusal() == LinkRefusal::kFull);
    CHECK(asked == test_key(2).public_key());
    // Another fault comes first.
    asked.reset();
    Conversation late{dialling, listening};
    late.admit = refuse;
    late.now += std::chrono::hours{24 * 365};
    late.play();
    CHECK(late.listener.refusal() == LinkRefusal::kExpired);
    CHECK_FALSE(asked);
}

TEST_CASE("the highest common version is used; without one both ends refuse", "[net]") {
    const SessionOptions one = session_of(1);
    const SessionOptions two = session_of(2);
    Conversation talk(one, two, {}, {.oldest = 1, .newest = 5}, {.oldest = 2, .newest = 3});
    talk.play();
    REQUIRE(talk.listener.is_proven());
    CHECK(talk.listener.proven().version == 3);
    CHECK(talk.dialler.proven().version == 3);
    Conversation current(one, two, {}, {.oldest = 1, .newest = 1});
    current.play();
    CHECK(current.dialler.sentence() == "it speaks other versions of links");
    CHECK(current.listener.sentence() == "it speaks other versions of links");
    Conversation apart(one, two, {}, {.oldest = 1, .newest = 2}, {.oldest = 3, .newest = 4});
    apart.play();
    CHECK(apart.dialler.refusal() == LinkRefusal::kOtherVersion);
    CHECK(apart.listener.refusal() == LinkRefusal::kOtherVersion);
    // Tickets of version 2 are shorter: version 2 must be refused before a ticket is read.
    Conversation older(one, two, {}, {.oldest = 2, .newest = 2});
    older.play();
    CHECK(older.listener.refusal() == LinkRefusal::kOtherVersion);
    CHECK_FALSE(older.dialler.is_proven());
}

TEST_CASE("a downgrade of the version or of the encryption is detected", "[net]") {
    const SessionOptions one = session_of(1);
    const SessionOptions two = session_of(2);
    const LinkVersions versions{.oldest = 1, .newest = 3};
    Conversation older(one, two, {}, versions, versions);
    older.play([](std::size_t number, HandshakeMessage& message) {
        if (number <= 1) message.bytes[6] = std::byte{1};  // `newest` in both Hellos
    });
    CHECK(older.listener.refusal() == LinkRefusal::kChanged);
    CHECK_FALSE(older.dialler.is_proven());
    SessionOptions plain = session_of(2);
    plain.encrypts = false;
    Conversation opened(one, plain);
    opened.play([](std::size_t number, HandshakeMessage& message) {
        if (number == 0) message.bytes[8] = std::byte{0};
        if (number == 1) message.bytes[8] = std::byte{1};
    });
    CHECK_FALSE(opened.dialler.is_proven());
    CHECK_FALSE(opened.listener.is_proven());
    Conversation honest(one, plain);
    honest.play();
    CHECK(honest.dialler.refusal() == LinkRefusal::kOtherEncryption);
    CHECK(honest.listener.refusal() == LinkRefusal::kOtherEncryption);
}

TEST_CASE("a handshake with a modified or truncated message fails", "[net]") {
    const SessionOptions one = session_of(1);
    const SessionOptions two = session_of(2);
    const std::size_t sizes[] = {Handshake::kHelloBytes, Handshake::kHelloBytes,
                                 Handshake::kSealedBytes, Handshake::kSealedBytes,
                                 Handshake::kSealedBytes};
    for (std::size_t number = 0; number < std::size(sizes); ++number) {
        for (std::size_t at = 0; at < sizes[number]; ++at) {
            CAPTURE(number, at);
            Conversation flipped(one, two);
            flipped.play([&](std::size_t n, HandshakeMessage& message) {
                if (n == number) message.bytes[at] ^= std::byte{0x10};
            });
            // Before the last message the dialler's handshake is complete.
            const bool is_last = number + 1 == std::size(sizes);
            REQUIRE_FALSE(flipped.listener.is_proven());
            REQUIRE(flipped.dialler.is_proven() == is_last);
            Conversation cut(one, two);
            cut.play([&](std::size_t n, HandshakeMessage& message) {
                if (n == number) message.bytes.resize(at);
            });
            REQUIRE_FALSE(cut.listener.is_proven());
            REQUIRE(cut.dialler.is_proven() == is_last);
        }
    }
}

/// Two handshakes with a man in the middle that has no ticket and forwards messages.
TEST_CASE("a man in the middle with its own ephemeral keys can read and link nothing", "[net]") {
    const SessionOptions one = session_of(1);
    const SessionOptions two = session_of(2);
    SessionOptions middle = session_of(3);
    middle.ticket.reset();
    Handshake victim(one, Side::kDialler);
    Handshake to_victim(middle, Side::kListener);
    const Buffer answer = to_victim.take(victim.begin(), kNow, {});
    const Buffer proof = victim.take(answer, kNow, {});
    Handshake target(two, Side::kListener);
    Handshake to_target(middle, Side::kDialler);
    const Buffer own_proof = to_target.take(target.take(to_target.begin(), kNow, {}), kNow, {});
    CHECK_FALSE(own_proof.empty());
    CHECK(target.take(proof, kNow, {}).empty());
    CHECK(target.refusal() == LinkRefusal::kChanged);
}

/// A member of the run that uses another member's ticket.
TEST_CASE("a member cannot use another member's proof as its own", "[net]") {
    const SessionOptions one = session_of(1);
    const SessionOptions two = session_of(2);
    SessionOptions thief = session_of(3);
    thief.ticket = two.ticket;  // it knows this ticket but not its key
    Conversation as_dialler(thief, one);
    as_dialler.play();
    CHECK(as_dialler.listener.refusal() == LinkRefusal::kBadSignature);
    Conversation as_listener(one, thief);
    as_listener.play();
    CHECK(as_listener.dialler.refusal() == LinkRefusal::kBadSignature);
}

TEST_CASE("a replayed handshake fails", "[net]") {
    const SessionOptions one = session_of(1);
    const SessionOptions two = session_of(2);
    Conversation recorded(one, two);
    recorded.play();
    REQUIRE(recorded.listener.is_proven());
    Handshake listener(two, Side::kListener);
    (void)listener.take(recorded.messages[0].bytes, kNow, {});
    (void)listener.take(recorded.messages[2].bytes, kNow, {});
    CHECK(listener.refusal() == LinkRefusal::kChanged);
    Handshake dialler(one, Side::kDialler);
    (void)dialler.begin();
    (void)dialler.take(recorded.messages[1].bytes, kNow, {});
    (void)dialler.take(recorded.messages[3].bytes, kNow, {});
    CHECK(dialler.refusal() == LinkRefusal::kChanged);
}

TEST_CASE("a handshake with reflected messages fails", "[net]") {
    const SessionOptions one = session_of(1);
    Handshake dialler(one, Side::kDialler);
    CHECK(dialler.take(dialler.begin(), kNow, {}).empty());
    CHECK(dialler.refusal() == LinkRefusal::kChanged);
    // The dialler's proof is reflected in place of the listener's.
    const SessionOptions two = session_of(2);
    Conversation talk(one, two);
    talk.play([&](std::size_t number, HandshakeMessage& message) {
        if (number == 3) message.bytes = talk.messages[2].bytes;
    });
    CHECK(talk.dialler.refusal() == LinkRefusal::kChanged);
    CHECK_FALSE(talk.listener.is_proven());
}

TEST_CASE("a peer that dials itself detects it", "[net]") {
    const SessionOptions one = session_of(1);
    Conversation talk(one, one);
    talk.play();
    check_refusal(talk.dialler, talk.listener, LinkRefusal::kMyself);
}

TEST_CASE("a handshake with messages in another order fails", "[net]") {
    const SessionOptions one = session_of(1);
    const SessionOptions two = session_of(2);
    Conversation talk(one, two);
    talk.play([&](std::size_t number, HandshakeMessage& message) {
        if (number == 4)
            message.bytes = talk.messages[2].bytes;  // the proof instead of the verdict
    });
    CHECK(talk.listener.refusal() == LinkRefusal::kChanged);
}

TEST_CASE("a low-order ephemeral key is refused", "[net]") {
    const SessionOptions one = session_of(1);
    const SessionOptions two = session_of(2);
    for (const std::size_t guilty : {0U, 1U}) {
        Conversation talk(one, two);
        talk.play([&](std::size_t number, HandshakeMessage& message) {
            if (number != guilty) return;
            std::fill(message.bytes.begin() + 12, message.bytes.end(), std::byte{});
        });
        CHECK_FALSE(talk.dialler.is_proven());
        CHECK_FALSE(talk.listener.is_proven());
    }
}

TEST_CASE("every reason has a sentence for each end, and unknown codes have their own", "[net]") {
    std::set<std::string> sentences;
    for (std::uint8_t code = 1; code <= static_cast<std::uint8_t>(kLastLinkRefusal); ++code) {
        const auto refusal = static_cast<LinkRefusal>(code);
        CHECK(refusal_of(code) == refusal);
        sentences.insert(describe(refusal));
        sentences.insert(describe_told(refusal));
    }
    CHECK(sentences.size() == 2 * static_cast<std::size_t>(kLastLinkRefusal));
    CHECK(refusal_of(0) == LinkRefusal::kUnknown);
    CHECK(refusal_of(255) == LinkRefusal::kUnknown);
}

}  // namespace
}  // namespace dedloc::net
