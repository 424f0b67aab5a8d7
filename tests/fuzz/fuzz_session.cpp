// What a stranger says on a link: handshakes at both ends, tickets that the project did sign, an
// honest handshake that is changed on its way, the frames that follow, plain and sealed, and
// connections that are attached to the link.
#include <algorithm>
#include <cstring>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/base/check.hpp"
#include "peer/net/session/flow_handshake.hpp"
#include "peer/net/session/frame_codec.hpp"
#include "peer/net/session/frame_order.hpp"
#include "peer/net/session/link_ticket.hpp"
#include "tests/fuzz/fixed_randomness.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/peer/net/session/session_ends.hpp"

namespace dedloc::fuzz {
namespace {

using net::FrameCodec;
using net::FrameDecoder;
using net::Handshake;
using net::Side;

constexpr std::size_t kLimit = wire::kMaxFrameBytes;

const net::SessionOptions& options_of(std::uint8_t n) {
    static const net::SessionOptions one = net::session_of(1);
    static const net::SessionOptions two = net::session_of(2);
    return n == 1 ? one : two;
}

void talk_to(Side side, std::span<const std::byte> said) {
    Handshake handshake(options_of(1), side);
    (void)handshake.begin();
    ByteReader in(said);
    while (handshake.wants() > 0) {
        const auto message = in.take(handshake.wants());
        if (!message) return;
        (void)handshake.take(*message, net::kNow, {});
    }
    if (handshake.is_proven()) {
        DEDLOC_CHECK(handshake.proven().peer == tests::test_ticket(2), "only members are linked");
    } else {
        DEDLOC_CHECK(!handshake.sentence().empty(), "a refused stranger is told why");
    }
}

/// Triples of message, place and change.
void meddle(std::span<const std::byte> edits) {
    net::Conversation talk(options_of(1), options_of(2));
    bool is_changed = false;
    talk.play([&](std::size_t number, net::HandshakeMessage& message) {
        ByteReader in(edits);
        while (const auto edit = in.read<std::array<std::uint8_t, 3>>()) {
            const auto [which, at, change] = *edit;
            if (which != number) continue;
            message.bytes[at % message.bytes.size()] ^= std::byte{change};
        }
        is_changed = is_changed || message.bytes != talk.messages[number].bytes;
    });
    DEDLOC_CHECK(talk.listener.is_proven() == !is_changed, "only unchanged handshakes link");
}

/// A ticket that says anything, but is the project's.
void show_ticket(std::span<const std::byte> bytes) {
    const auto ticket =
        formats::decode_ticket(bytes.first(std::min(bytes.size(), wire::kTicketBytes)));
    if (!ticket) return;
    net::SessionOptions stranger = options_of(2);
    stranger.ticket = formats::sign(ticket->ticket, tests::test_key(net::kProject));
    net::Conversation talk(stranger, options_of(1));
    talk.play();
    if (talk.listener.is_proven()) {
        const formats::Ticket& shown = talk.listener.proven().peer;
        DEDLOC_CHECK(shown == ticket->ticket && shown.peer == stranger.key.public_key(),
                     "a ticket is of the key that is proven");
        DEDLOC_CHECK(shown.run == stranger.run && net::kNow < shown.expires, "and is good now");
    } else {
        DEDLOC_CHECK(talk.dialler.is_told(), "a refused stranger is told why");
    }
}

/// A link's other end shows a ticket: as it is, and as the project would have signed it.
void renew(std::span<const std::byte> bytes) {
    const net::SessionOptions& session = options_of(1);
    const formats::Ticket proven = tests::test_ticket(2);
    auto ticket = formats::decode_ticket(bytes);
    for (const bool is_signed : {false, true}) {
        if (ticket && is_signed)
            ticket = formats::sign(ticket->ticket, tests::test_key(net::kProject));
        const Buffer shown = ticket ? formats::encode(*ticket) : Buffer(bytes.begin(), bytes.end());
        net::LinkTicket known(proven);
        const net::LinkRefusal refusal = known.renew(shown, session, net::kNow, {});
        const formats::Ticket& last = known.last();
        DEDLOC_CHECK(last.peer == proven.peer && last.run == session.run, "it is of the same peer");
        if (last == proven) continue;
        DEDLOC_CHECK(refusal == net::LinkRefusal::kNone, "a refused ticket renews nothing");
        DEDLOC_CHECK(last.expires > proven.expires, "only a later ticket renews");
        DEDLOC_CHECK(formats::is_signed_by(session.project, *ticket), "and one of the project");
    }
}

/// Reads of all sizes, as the bytes themselves say.
void read_stream(FrameDecoder& decoder, std::span<const std::byte> stream) {
    std::size_t number = 0;
    while (!stream.empty()) {
        const auto places = decoder.next();
        const std::size_t room = places[0].size() + places[1].size();
        DEDLOC_CHECK(room > 0, "a decoder that has not failed accepts bytes");
        const std::size_t wish = 1 + (number++ * 37) % 400;
        const std::size_t count = std::min({room, stream.size(), wish});
        const std::size_t first = std::min(count, places[0].size());
        std::memcpy(places[0].data(), stream.data(), first);
        if (count > first) std::memcpy(places[1].data(), stream.data() + first, count - first);
        stream = stream.subspan(count);
        bool is_over = false;
        const auto deliver = [&](const net::FrameHeader& header, const SharedBytes& body) {
            DEDLOC_CHECK(!is_over, "nothing follows a goodbye");
            is_over = header.kind == net::FrameKind::kGoodbye;
            DEDLOC_CHECK((body != nullptr) == net::has_body(header.kind),
                         "bodies come with frames");
            if (!body) return;
            DEDLOC_CHECK(body->size() == header.length && body->size() <= kLimit,
                         "frames keep their length and the limit", body->size());
            if (header.kind == net::FrameKind::kTicket) renew(*body);
        };
        if (!decoder.read(count, deliver) || is_over) return;
    }
}

FrameCodec sealed_codec(net::Cipher cipher, bool is_first) {
    const std::array<std::byte, 32> one{std::byte{1}};
    const std::array<std::byte, 32> two{std::byte{2}};
    return net::make_sealed_codec(
        {.cipher = cipher, .send = is_first ? one : two, .receive = is_first ? two : one}, kLimit);
}

/// Headers that say anything, each sealed by an end that has the keys, with as many bytes as
/// follow.
void seal_anything(net::Cipher cipher, std::span<const std::byte> bytes) {
    const FrameCodec liar = sealed_codec(cipher, true);
    const FrameCodec reader = sealed_codec(cipher, false);
    ByteWriter stream;
    ByteReader in(bytes);
    while (const auto header = in.read<net::FrameHeader>()) {
        const auto size = in.read<std::uint32_t>();
        if (!size) break;
        const auto body = in.take(std::min<std::size_t>(*size, in.remaining()));
        liar.encoder->add({*header, std::make_shared<const Buffer>(body->begin(), body->end())});
        while (!liar.encoder->is_empty()) {
            const auto piece = liar.encoder->next()[0];
            stream.append(piece);
            (void)liar.encoder->written(piece.size());
        }
    }
    read_stream(*reader.decoder, std::move(stream).finish());
}

/// Both ends of the attachment of a flow: what a stranger says to each, and, if the last byte is
/// even, to a listener that has no such link.
void attach(std::span<const std::byte> said) {
    net::FlowSecret secret;
    secret.key.bytes[0] = std::byte{1};
    const bool has_link = said.empty() || std::to_integer<unsigned>(said.back()) % 2 == 1;
    net::FlowHandshake listener([&](const net::FlowToken& token) {
        const bool is_it = has_link && token == secret.token;
        return is_it ? net::NamedLink{net::LinkRefusal::kNone, secret} : net::NamedLink{};
    });
    net::FlowHandshake dialler(secret);
    (void)dialler.begin();
    for (net::FlowHandshake* end : {&listener, &dialler}) {
        ByteReader in(said);
        while (end->wants() > 0) {
            const auto message = in.take(end->wants());
            if (!message) break;
            const Buffer answer = end->take(*message);
            DEDLOC_CHECK(answer.size() <= net::FlowHandshake::kFlowBytes, "answers are short");
        }
        DEDLOC_CHECK(!end->is_proven(), "a stranger attaches nothing");
        if (end->is_refused()) {
            DEDLOC_CHECK(!end->sentence().empty(), "a refused stranger is told why");
        }
    }
}

/// Numbers of data frames, each with a size: what is delivered is in order, and what waits keeps
/// the limit.
void order(std::span<const std::byte> bytes) {
    constexpr std::size_t kMax = 10'000;
    net::ReceivedFrames received(kMax);
    std::uint32_t next = 0;
    std::size_t waiting = 0;
    ByteReader in(bytes);
    while (const auto entry = in.read<std::array<std::uint16_t, 2>>()) {
        const std::uint32_t number = (*entry)[0];
        const auto frame = std::make_shared<const Buffer>((*entry)[1] % 2'000);
        if (!received.take(number, frame)) continue;
        DEDLOC_CHECK(number >= next, "a frame is taken once");
        waiting += frame->size();
        for (; const auto delivered = received.next(); ++next) waiting -= delivered->size();
        DEDLOC_CHECK(waiting <= kMax, "what waits keeps the limit", waiting);
    }
}

}  // namespace

void fuzz_session(std::span<const std::byte> input) {
    if (input.empty()) return;
    FixedRandomness::begin(0);
    const auto rest = input.subspan(1);
    constexpr unsigned kCases = 9;
    const auto choice = std::to_integer<unsigned>(input[0]);
    const bool has_aes = choice / kCases % 2 == 1;
    const net::Cipher cipher = has_aes ? net::Cipher::kAes256Gcm : net::Cipher::kXChaCha20;
    switch (choice % kCases) {
        case 0:
            return talk_to(Side::kListener, rest);
        case 1:
            return talk_to(Side::kDialler, rest);
        case 2:
            return meddle(rest);
        case 3:
            return show_ticket(rest);
        case 4:
            return read_stream(*net::make_plain_codec(kLimit).decoder, rest);
        case 5:
            return read_stream(*sealed_codec(cipher, false).decoder, rest);
        case 6:
            return seal_anything(cipher, rest);
        case 7:
            return attach(rest);
        default:
            return order(rest);
    }
}

}  // namespace dedloc::fuzz
