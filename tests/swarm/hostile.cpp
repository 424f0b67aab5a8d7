#include "tests/swarm/hostile.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLinkTimeout = 10s;
constexpr std::size_t kFrameLimit = std::size_t{8} << 20;

void await(int descriptor, short what, std::chrono::milliseconds limit) {
    pollfd wait{descriptor, what, 0};
    poll(&wait, 1, static_cast<int>(limit.count()));
}

std::optional<std::size_t> outcome_of(ssize_t count) {
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOTCONN) return 0;
    return std::nullopt;
}

}  // namespace

// --- strangers ---------------------------------------------------------------

StrangerSocket::StrangerSocket(std::uint16_t port)
    : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    DEDLOC_CHECK(descriptor_ >= 0, "a socket cannot be created");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

StrangerSocket::StrangerSocket(StrangerSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

StrangerSocket::~StrangerSocket() {
    if (descriptor_ >= 0) close(descriptor_);
}

std::optional<std::size_t> StrangerSocket::write(std::span<const std::byte> bytes) const {
    return outcome_of(::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

std::optional<std::size_t> StrangerSocket::read(std::span<std::byte> place) const {
    const ssize_t count = ::recv(descriptor_, place.data(), place.size(), 0);
    if (count == 0 && !place.empty()) return std::nullopt;
    return outcome_of(count);
}

void StrangerSocket::await_input(std::chrono::milliseconds limit) const {
    await(descriptor_, POLLIN, limit);
}

void StrangerSocket::await_space(std::chrono::milliseconds limit) const {
    await(descriptor_, POLLOUT, limit);
}

// --- insiders ----------------------------------------------------------------

InsiderLink::InsiderLink(const net::SessionOptions& session, std::uint16_t port)
    : session_(session), socket_(port) {
    is_open_ = shake_hands();
    if (is_open_) introduce_ourselves();
}

bool InsiderLink::shake_hands() {
    net::Handshake handshake(session_, net::Side::kDialler);
    is_open_ = true;
    write_all(handshake.begin());
    while (handshake.wants() > 0) {
        Buffer message(handshake.wants());
        if (!read_exactly(message)) return false;
        const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
        write_all(handshake.take(message, now, {}));
    }
    if (!handshake.is_proven() || !is_open_) return false;
    const net::Proven& proven = handshake.proven();
    codec_ = proven.encrypts ? net::make_sealed_codec(proven.keys(), kFrameLimit)
                             : net::make_plain_codec(kFrameLimit);
    return true;
}

/// Waits until pump() has answered the other end's challenge.
void InsiderLink::introduce_ourselves() {
    const auto end = Clock::now() + kLinkTimeout;
    while (is_open_ && !is_introduced_ && Clock::now() < end) {
        socket_.await_input(100ms);
        pump();
    }
    is_open_ = is_open_ && is_introduced_;
}

bool InsiderLink::read_exactly(std::span<std::byte> place) {
    const auto end = Clock::now() + kLinkTimeout;
    while (!place.empty()) {
        if (Clock::now() >= end) return false;
        const auto count = socket_.read(place);
        if (!count) return false;
        place = place.subspan(*count);
        if (*count == 0) socket_.await_input(100ms);
    }
    return true;
}

void InsiderLink::write_all(std::span<const std::byte> bytes) {
    const auto end = Clock::now() + kLinkTimeout;
    while (!bytes.empty() && is_open_) {
        const auto count = socket_.write(bytes);
        is_open_ = count.has_value() && Clock::now() < end;
        if (!is_open_) return;
        bytes = bytes.subspan(*count);
        if (*count == 0) socket_.await_space(100ms);
    }
}

SharedBytes InsiderLink::frame(wire::Body body) {
    return frame_of(session_.key, std::move(body));
}

SharedBytes InsiderLink::frame_of(const KeyPair& sender, wire::Body body) {
    return wire::encode({.run = session_.run,
                         .generation = 0,
                         .step = step_,
                         .sequence = ++sequence_,
                         .sender = sender.public_key(),
                         .body = std::move(body)},
                        sender, wire::LinkKind::kProven)
        .whole();
}

void InsiderLink::send(SharedBytes frame, std::size_t max_bytes) {
    write_frame(net::FrameKind::kData, std::move(frame), max_bytes);
}

void InsiderLink::show(const formats::SignedTicket& ticket) {
    auto bytes = std::make_shared<const Buffer>(formats::encode(ticket));
    write_frame(net::FrameKind::kTicket, std::move(bytes), wire::kMaxFrameBytes);
}

void InsiderLink::write_frame(net::FrameKind kind, SharedBytes body, std::size_t max_bytes) {
    if (!is_open_) return;
    const auto size = static_cast<std::uint32_t>(body->size());
    const std::uint32_t detail = kind == net::FrameKind::kData ? data_frames_++ : 0;
    codec_.encoder->add(
        {.header = {.magic = net::kFrameMagic, .kind = kind, .length = size, .detail = detail},
         .body = std::move(body)});
    while (is_open_ && max_bytes > 0 && !codec_.encoder->is_empty()) {
        std::size_t written = 0;
        for (const auto piece : codec_.encoder->next()) {
            const auto part = piece.first(std::min(max_bytes, piece.size()));
            write_all(part);
            max_bytes -= part.size();
            written += piece.size();
        }
        codec_.encoder->written(written);
    }
}

void InsiderLink::pump() {
    while (is_open_) {
        const auto places = codec_.decoder->next();
        const auto count = socket_.read(places[0]);
        if (!count) is_open_ = false;
        if (!count || *count == 0) return;
        const auto deliver = [&](const net::FrameHeader& header, const SharedBytes& body) {
            if (header.kind == net::FrameKind::kData) take(body);
            if (header.kind == net::FrameKind::kGoodbye) is_open_ = false;
        };
        if (!codec_.decoder->read(*count, deliver)) is_open_ = false;
    }
}

void InsiderLink::take(const SharedBytes& frame) {
    const auto message = wire::decode(frame, wire::LinkKind::kProven);
    if (!message) return;
    if (const auto* heartbeat = std::get_if<wire::Heartbeat>(&message->body)) {
        step_ = message->step;
        heartbeat_ = *heartbeat;
    }
    if (const auto* call = std::get_if<wire::Call>(&message->body)) call_ = *call;
    const auto* challenge = std::get_if<wire::Challenge>(&message->body);
    if (challenge == nullptr || is_introduced_) return;
    is_introduced_ = true;
    send(this->frame(wire::Hello{.oldest_protocol = wire::kOldestProtocol,
                                 .newest_protocol = wire::kNewestProtocol,
                                 .session = 1,
                                 .role = Role::kTrainer,
                                 .receives = true,
                                 .listening_port = 0,
                                 .result_name = "hostile",
                                 .nonce = challenge->nonce}));
}

}  // namespace dedloc::test
