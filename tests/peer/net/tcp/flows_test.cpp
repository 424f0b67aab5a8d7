// Links over several TCP connections: how they come to have them, who is refused, and that the link
// keeps its promises. A probe of the tests says that loss limits a flow.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "peer/net/session/flow_handshake.hpp"
#include "peer/net/session/frame_codec.hpp"
#include "tests/peer/net/tcp/bare_socket.hpp"
#include "tests/peer/net/tcp/descriptors_of.hpp"
#include "tests/peer/net/tcp/proven_ends.hpp"

namespace dedloc::net {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Says that loss limits every flow.
std::optional<FlowSample> lossy(int) {
    const auto now =
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch());
    return FlowSample{.has_more = true,
                      .busy = now,
                      .sent_again = static_cast<std::uint64_t>(now.count()),
                      .round_trip = 200ms,
                      .shortest_round_trip = 200ms};
}

TransportOptions flow_options(std::uint8_t n, bool listens, bool is_lossy) {
    TransportOptions options = options_of(n, listens);
    options.check_interval = 20ms;
    if (is_lossy) options.probe = lossy;
    return options;
}

/// Waits until both ends have so many connections of a listener; false after the timeout.
bool reaches(End& listener, std::size_t connections) {
    const auto deadline = Clock::now() + kTimeout;
    while (Clock::now() < deadline) {
        const auto ends = descriptors_of(listener.transport.listening_port(), true);
        if (ends.size() == 2 * connections) return true;
        (void)listener.inbox.next<event::DialFailed>(5ms);  // it never comes
    }
    return false;
}

/// Sends frames of many sizes both ways, and checks that each arrives in order and is written.
void exchange(ProvenPair& pair) {
    constexpr std::array<std::size_t, 6> kSizes{0, 10, 5'000, 100'000, 400, 30'000};
    constexpr std::size_t kFrames = 120;
    for (std::size_t k = 0; k < kFrames; ++k) {
        const std::size_t size = kSizes[k % kSizes.size()];
        pair.here.transport.send(pair.here_link, frame_of(size, k));
        pair.there.transport.send(pair.there_link, frame_of(size, kFrames + k));
    }
    for (std::size_t k = 0; k < kFrames; ++k) {
        const std::size_t size = kSizes[k % kSizes.size()];
        const auto there = pair.there.inbox.next<event::FrameReceived>();
        const auto here = pair.here.inbox.next<event::FrameReceived>();
        REQUIRE(there);
        REQUIRE(here);
        REQUIRE(*there->frame == *frame_of(size, k));
        REQUIRE(*here->frame == *frame_of(size, kFrames + k));
        pair.there.transport.taken(there->link);
        pair.here.transport.taken(here->link);
    }
    for (std::size_t k = 0; k < kFrames; ++k) {
        REQUIRE(pair.here.inbox.next<event::FrameWritten>());
        REQUIRE(pair.there.inbox.next<event::FrameWritten>());
    }
}

TEST_CASE("a link that loss limits gets four connections and keeps the order of frames", "[net]") {
    const bool encrypts = GENERATE(true, false);
    TransportOptions listening = flow_options(1, true, false);
    TransportOptions dialling = flow_options(2, false, true);
    listening.session->encrypts = encrypts;
    dialling.session->encrypts = encrypts;
    ProvenPair pair(listening, dialling);
    exchange(pair);  // also while connections are attached
    REQUIRE(reaches(pair.there, kMaxFlows));
    exchange(pair);
    exchange(pair);
    CHECK(reaches(pair.there, kMaxFlows));
    CHECK(pair.here.inbox.waiting<event::LinkClosed>() == 0);
    CHECK(pair.here.inbox.waiting<event::LinkOpened>() == 0);
    CHECK(pair.there.inbox.waiting<event::LinkOpened>() == 0);
}

TEST_CASE("the end that has accepted a link asks for more connections", "[net]") {
    ProvenPair pair(flow_options(1, true, true), flow_options(2, false, false));
    REQUIRE(reaches(pair.there, kMaxFlows));
    exchange(pair);
}

TEST_CASE("a link that loss does not limit keeps its one connection", "[net]") {
    ProvenPair pair(flow_options(1, true, false), flow_options(2, false, false));
    exchange(pair);
    CHECK(descriptors_of(pair.there.transport.listening_port(), true).size() == 2);
}

TEST_CASE("a peer that wants no more connections opens and accepts none", "[net]") {
    const bool is_dialler = GENERATE(true, false);
    TransportOptions listening = flow_options(1, true, true);
    TransportOptions dialling = flow_options(2, false, true);
    (is_dialler ? dialling : listening).max_flows = 1;
    ProvenPair pair(listening, dialling);
    exchange(pair);
    exchange(pair);
    CHECK(reaches(pair.there, 1));
    CHECK(pair.here.inbox.waiting<event::LinkClosed>() == 0);
    CHECK(pair.here.inbox.waiting<event::DialFailed>() == 0);
}

TEST_CASE("a polite close delivers what was sent before it over several connections", "[net]") {
    ProvenPair pair(flow_options(1, true, false), flow_options(2, false, true));
    REQUIRE(reaches(pair.there, kMaxFlows));
    const bool is_back = GENERATE(false, true);
    const auto [from, link, to] = is_back ? pair.way_back() : pair.way_there();
    for (std::uint64_t k = 0; k < 40; ++k) from.transport.send(link, frame_of(200'000, k));
    from.transport.send(link, frame_of(10, 40));
    from.transport.close(link);
    for (std::uint64_t k = 0; k <= 40; ++k) {
        const auto frame = to.inbox.next<event::FrameReceived>();
        REQUIRE(frame);
        REQUIRE(*frame->frame == *frame_of(k < 40 ? 200'000 : 10, k));
        to.transport.taken(frame->link);
    }
    const auto closed = to.inbox.next<event::LinkClosed>();
    REQUIRE(closed);
    CHECK(closed->why.empty());
    CHECK(from.inbox.next<event::LinkClosed>());
    CHECK(reaches(pair.there, 0));
}

/// A connection whose frames a test reads and writes itself.
struct Flow {
    std::unique_ptr<BareSocket> socket;
    FrameCodec codec;

    void send(const FrameHeader& header, const SharedBytes& body = {}) const {
        codec.encoder->add({header, body ? Frame(body) : Frame()});
        while (!codec.encoder->is_empty()) {
            const auto piece = codec.encoder->next()[0];
            socket->write(piece);
            (void)codec.encoder->written(piece.size());
        }
    }
    /// Sends the data frame with this number.
    void send_data(std::uint32_t number, const SharedBytes& body) const {
        const auto size = static_cast<std::uint32_t>(body->size());
        send({kFrameMagic, FrameKind::kData, size, number}, body);
    }
    /// The next frame that is no ping; nothing if the connection ends first or is silent.
    std::optional<std::pair<FrameHeader, SharedBytes>> next(int wait_ms = 10'000) const {
        std::optional<std::pair<FrameHeader, SharedBytes>> found;
        while (!found) {
            if (!socket->has_more(wait_ms)) return {};
            const auto place = codec.decoder->next()[0];
            const auto bytes = socket->read(place.size());
            if (!bytes) return {};
            std::ranges::copy(*bytes, place.begin());
            const auto deliver = [&](const FrameHeader& header, const SharedBytes& body) {
                if (header.kind != FrameKind::kPing) found.emplace(header, body);
            };
            if (!codec.decoder->read(place.size(), deliver)) return {};
        }
        return found;
    }
};

/// A member that attaches connections to its link by hand.
class FlowMember {
  public:
    explicit FlowMember(const End& listener) : port_(listener.transport.listening_port()) {
        first_.socket = std::make_unique<BareSocket>(port_);
        const formats::UtcSeconds now =
            std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
        Buffer message = handshake_.begin();
        while (!handshake_.is_proven()) {
            first_.socket->write(message);
            const auto answer = first_.socket->read(handshake_.wants());
            REQUIRE(answer);
            message = handshake_.take(*answer, now, {});
        }
        first_.socket->write(message);
        first_.codec = make_sealed_codec(handshake_.proven().keys(), 1 << 20);
    }

    const Flow& first() const { return first_; }
    const FlowSecret& secret() const { return handshake_.proven().flows; }

    /// Runs the handshake of one more flow; returns it with the outcome.
    std::unique_ptr<FlowHandshake> try_to_attach(Flow& flow) {
        auto attachment = std::make_unique<FlowHandshake>(secret());
        flow.socket = std::make_unique<BareSocket>(port_);
        Buffer message = attachment->begin();
        sent_.clear();
        while (attachment->wants() > 0) {
            sent_.push_back(message);
            flow.socket->write(message);
            const auto answer = flow.socket->read(attachment->wants());
            if (!answer) return attachment;
            message = attachment->take(*answer);
        }
        return attachment;
    }
    Flow attach() {
        Flow flow;
        const auto attachment = try_to_attach(flow);
        REQUIRE(attachment->is_proven());
        flow.codec = make_sealed_codec(attachment->keys(handshake_.proven().cipher), 1 << 20);
        return flow;
    }
    /// What the last attachment has sent.
    const std::vector<Buffer>& sent() const { return sent_; }

  private:
    const std::uint16_t port_;
    const SessionOptions session_ = *options_of(2, false).session;
    Handshake handshake_{session_, Side::kDialler};
    Flow first_;
    std::vector<Buffer> sent_;
};

/// A listener with one link to a member.
struct Linked {
    explicit Linked(const TransportOptions& options = flow_options(1, true, false))
        : listener(options), member(listener) {
        const auto opened = listener.inbox.next<event::LinkOpened>();
        REQUIRE(opened);
        link = opened->link;
    }
    /// The link still carries frames, and there is no other.
    void check_alive() {
        member.first().send_data(next++, frame_of(10, 1));
        CHECK(listener.inbox.next<event::FrameReceived>());
        CHECK(listener.inbox.waiting<event::LinkOpened>() == 0);
        CHECK(listener.inbox.waiting<event::LinkClosed>() == 0);
    }

    End listener;
    FlowMember member;
    LinkId link;
    std::uint32_t next = 0;  ///< number of the member's next data frame
};

TEST_CASE("frames of several connections are delivered in the order of their numbers", "[net]") {
    Linked linked;
    const Flow second = linked.member.attach();
    const Flow third = linked.member.attach();
    third.send_data(2, frame_of(5'000, 2));
    second.send_data(1, frame_of(5'000, 1));
    linked.member.first().send_data(3, frame_of(10, 3));  // a control frame does not overtake them
    CHECK_FALSE(linked.listener.inbox.next<event::FrameReceived>(100ms));
    linked.member.first().send_data(0, frame_of(10, 0));
    for (std::uint64_t k = 0; k < 4; ++k) {
        const auto frame = linked.listener.inbox.next<event::FrameReceived>();
        REQUIRE(frame);
        CHECK(*frame->frame == *frame_of(k % 3 == 0 ? 10 : 5'000, k));
    }
    std::uint32_t confirmed = 0;
    while (confirmed < 2) {
        const auto receipt = linked.member.first().next();
        REQUIRE(receipt);
        REQUIRE(receipt->first.kind == FrameKind::kReceipt);
        confirmed += receipt->first.detail;
    }
}

TEST_CASE("what flies over all connections of a link is bounded", "[net]") {
    TransportOptions options = flow_options(1, true, false);
    options.limits.flying_bytes = 100'000;
    Linked linked(options);
    const Flow second = linked.member.attach();
    linked.member.first().send_data(linked.next++, frame_of(1, 1));
    REQUIRE(linked.listener.inbox.next<event::FrameReceived>());
    constexpr std::uint32_t kFrames = 20;
    for (std::uint32_t k = 0; k < kFrames; ++k) {
        linked.listener.transport.send(linked.link, frame_of(50'000, k));
    }
    const std::array<const Flow*, 2> flows{&linked.member.first(), &second};
    std::vector<bool> has_come(kFrames);
    std::uint32_t received = 0;
    std::uint32_t confirmed = 0;
    while (received < kFrames) {
        // Two frames fly, whichever connections they take.
        const std::uint32_t max = std::min(kFrames, confirmed + 2);
        const auto deadline = Clock::now() + kTimeout;
        while (received < max && Clock::now() < deadline) {
            for (const Flow* flow : flows) {
                const auto frame = flow->next(5);
                if (!frame || frame->first.kind != FrameKind::kData) continue;
                REQUIRE(*frame->second == *frame_of(50'000, frame->first.detail));
                REQUIRE_FALSE(has_come[frame->first.detail]);
                has_come[frame->first.detail] = true;
                ++received;
            }
        }
        REQUIRE(received == max);
        for (const Flow* flow : flows) CHECK_FALSE(flow->next(20));
        linked.member.first().send({kFrameMagic, FrameKind::kReceipt, 0, 1});
        ++confirmed;
    }
}

TEST_CASE("a link ends if more waits for a missing frame than may", "[net]") {
    TransportOptions options = flow_options(1, true, false);
    options.limits.flying_bytes = 100'000;
    options.limits.frame_bytes = 60'000;
    Linked linked(options);
    const Flow second = linked.member.attach();
    for (std::uint32_t k = 1; k <= 5; ++k) second.send_data(k, frame_of(50'000, k));
    CHECK_FALSE(linked.listener.inbox.next<event::LinkClosed>(100ms));
    second.send_data(6, frame_of(50'000, 6));
    CHECK(linked.listener.inbox.next<event::LinkClosed>());
    CHECK(linked.listener.inbox.waiting<event::FrameReceived>() == 0);
}

TEST_CASE("a link ends with any of its connections", "[net]") {
    Linked linked;
    Flow second = linked.member.attach();
    const Flow third = linked.member.attach();
    second.send_data(linked.next++, frame_of(10, 1));
    REQUIRE(linked.listener.inbox.next<event::FrameReceived>());
    second.socket.reset();
    const auto closed = linked.listener.inbox.next<event::LinkClosed>();
    REQUIRE(closed);
    CHECK(closed->link == linked.link);
    CHECK(third.socket->is_hung_up());
    CHECK(linked.member.first().socket->is_hung_up());
}

TEST_CASE("only data and goodbyes may come over a further connection", "[net]") {
    const FrameHeader header = GENERATE(FrameHeader{kFrameMagic, FrameKind::kPing, 0, 1'500},
                                        FrameHeader{kFrameMagic, FrameKind::kReceipt, 0, 1},
                                        FrameHeader{kFrameMagic, FrameKind::kWiden, 0, 0});
    Linked linked;
    const Flow second = linked.member.attach();
    second.send(header);
    CHECK(linked.listener.inbox.next<event::LinkClosed>());
}

TEST_CASE("a link has no more connections than it may have", "[net]") {
    Linked linked;
    std::vector<Flow> flows;
    for (std::size_t k = 1; k < kMaxFlows; ++k) flows.push_back(linked.member.attach());
    Flow fifth;
    const auto refused = linked.member.try_to_attach(fifth);
    CHECK(refused->refusal() == LinkRefusal::kFlowsTaken);
    CHECK(fifth.socket->is_hung_up());
    linked.check_alive();
}

TEST_CASE("further connections leave three quarters of the places to links", "[net]") {
    TransportOptions options = flow_options(1, true, false);
    options.max_links = 8;
    options.max_links_of_one = 8;
    Linked linked(options);
    std::vector<Flow> flows;
    for (int k = 0; k < 2; ++k) flows.push_back(linked.member.attach());
    Flow next;
    CHECK(linked.member.try_to_attach(next)->refusal() == LinkRefusal::kFull);
    linked.check_alive();
    // These five and the link's three connections are all eight.
    std::vector<std::unique_ptr<FlowMember>> others;
    for (int k = 0; k < 5; ++k) {
        others.push_back(std::make_unique<FlowMember>(linked.listener));
        REQUIRE(linked.listener.inbox.next<event::LinkOpened>());
    }
    End late(options_of(3, false));
    late.transport.dial(linked.listener.endpoint());
    CHECK(late.inbox.next<event::DialFailed>());
    flows[0].socket.reset();  // ends its link, with its two other connections
    REQUIRE(linked.listener.inbox.next<event::LinkClosed>());
    late.transport.dial(linked.listener.endpoint());
    CHECK(late.inbox.next<event::LinkOpened>());
}

TEST_CASE("a stranger cannot attach a connection to another peer's link", "[net]") {
    Linked linked;
    FlowSecret secret = linked.member.secret();
    SECTION("it does not know the token") {
        secret.token.bytes[0] ^= std::byte{1};
    }
    SECTION("it has seen the token") {
        secret.key.bytes[0] ^= std::byte{1};
    }
    const BareSocket socket(linked.listener.transport.listening_port());
    FlowHandshake stranger(secret);
    socket.write(stranger.begin());
    const auto answer = socket.read(FlowHandshake::kFlowBytes);
    REQUIRE(answer);
    CHECK(stranger.take(*answer).empty());
    if (!stranger.is_told()) socket.write(*answer);  // its best guess
    CHECK(socket.is_hung_up());
    linked.check_alive();
    const Flow second = linked.member.attach();
    second.send_data(linked.next++, frame_of(10, 1));
    CHECK(linked.listener.inbox.next<event::FrameReceived>());
}

TEST_CASE("a recorded attachment attaches nothing when it is replayed", "[net]") {
    Linked linked;
    const Flow second = linked.member.attach();
    const auto recorded = linked.member.sent();
    REQUIRE(recorded.size() == 2);
    const BareSocket replay(linked.listener.transport.listening_port());
    replay.write(recorded[0]);
    REQUIRE(replay.read(FlowHandshake::kFlowBytes));
    replay.write(recorded[1]);
    CHECK(replay.is_hung_up());
    linked.check_alive();
    second.send_data(linked.next++, frame_of(10, 1));
    CHECK(linked.listener.inbox.next<event::FrameReceived>());
}

TEST_CASE("half an attachment ends after the handshake's deadline", "[net]") {
    TransportOptions options = flow_options(1, true, false);
    options.handshakes.deadline = 300ms;
    Linked linked(options);
    const BareSocket socket(linked.listener.transport.listening_port());
    FlowHandshake slow(linked.member.secret());
    socket.write(slow.begin());
    REQUIRE(socket.read(FlowHandshake::kFlowBytes));
    CHECK(socket.is_hung_up());
    linked.check_alive();
}

TEST_CASE("no connection can be attached to a link that is over", "[net]") {
    Linked linked;
    linked.listener.transport.close(linked.link);
    Flow second;
    const auto attachment = linked.member.try_to_attach(second);
    CHECK(attachment->refusal() == LinkRefusal::kNoSuchLink);
}

}  // namespace
}  // namespace dedloc::net
