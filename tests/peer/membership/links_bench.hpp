// Links of one peer, with frames of its neighbours by hand.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "peer/membership/links.hpp"
#include "tests/peer/core/spoken.hpp"
#include "tests/peer/wire/samples.hpp"

namespace dedloc::membership {

using namespace std::chrono_literals;

using tests::OtherEnd;
using tests::test_key;

inline constexpr std::uint16_t kPort = 4'000;

inline Endpoint endpoint_of(std::size_t k) {
    return {"10.0." + std::to_string(k / 200) + "." + std::to_string(1 + k % 200), kPort};
}

/// One peer and its links.
struct LinksBench {
    LinksBench() : links(config, test_key(1)) {}

    static PeerConfig make_config() {
        PeerConfig config;
        config.rules.elements = 1;
        config.rules.max_samples_per_second = 90;
        return config;
    }
    /// test_key(n) dials us from its host, and listens there.
    OtherEnd introduce(std::uint8_t n, event::LinkOpened opened = {},
                       std::uint16_t listening = kPort, std::uint64_t session = 0) {
        opened.proven = test_key(n).public_key();
        OtherEnd end = open(n, opened);
        wire::Hello hello = tests::answer_to_challenge(actions, end.link);
        hello.listening_port = listening;
        hello.session = session == 0 ? n : session;
        actions.clear();
        CHECK_FALSE(links.receive(now, end.says(0, {}, hello), actions));
        CHECK(links.find(end.peer()) != nullptr);
        return end;
    }
    /// A link with test_key(n) or its host, whose handshake has not begun.
    OtherEnd open(std::uint8_t n, event::LinkOpened opened = {}) {
        opened.link = LinkId{++last_link};
        if (opened.remote.host.empty()) {
            opened.remote = {endpoint_of(n).host, opened.dialled ? kPort : std::uint16_t{50'000}};
        }
        actions.clear();
        links.opened(now, opened, actions);
        return {.key = test_key(n), .link = opened.link};
    }
    /// Whether the message reaches the caller.
    bool hears(OtherEnd& end, wire::Body body) { return hears(end.says(0, {}, std::move(body))); }
    bool hears(const event::FrameReceived& frame) {
        return links.receive(now, frame, actions).has_value();
    }
    /// The peer says whether it knows a live coordinator.
    void beat(OtherEnd& end, bool is_led) {
        wire::Heartbeat heartbeat;
        if (is_led) heartbeat.term = {.number = 1, .coordinator = test_key(2).public_key()};
        CHECK(hears(end, heartbeat));
    }
    /// Links that are closed by then; their LinkClosed does not follow.
    std::vector<LinkId> closed_at(TimePoint time) {
        now = time;
        actions.clear();
        links.advance(now, actions);
        return closes();
    }
    std::vector<LinkId> closes() const {
        std::vector<LinkId> closed;
        for (const auto& close : tests::all_of<action::Close>(actions))
            closed.push_back(close.link);
        std::ranges::sort(closed);
        return closed;
    }
    /// The link that a message to this peer takes; 0: it is not known.
    LinkId way_to(const PeerKey& peer) {
        Actions sent;
        if (!links.send(peer, {}, wire::Heartbeat{}, sent)) return {};
        return tests::all_of<action::Send>(sent).at(0).link;
    }
    /// Receivers of a heartbeat.
    std::vector<LinkId> told(bool is_news) {
        actions.clear();
        links.broadcast_heartbeat({}, wire::Heartbeat{}, is_news, actions);
        std::vector<LinkId> links_told;
        for (const auto& send : tests::all_of<action::Send>(actions))
            links_told.push_back(send.link);
        std::ranges::sort(links_told);
        return links_told;
    }
    void close(const OtherEnd& end) { CHECK(links.closed(now, {.link = end.link}, actions)); }
    void watch(const std::vector<OtherEnd>& voters) {
        std::vector<PeerKey> keys;
        for (const OtherEnd& end : voters) keys.push_back(end.peer());
        std::ranges::sort(keys);
        links.watch(keys, 3, true);
    }
    /// Advances to that time and returns all dials; each of them fails.
    std::vector<std::pair<Duration, Endpoint>> dialled_until(TimePoint end) {
        const TimePoint start = now;
        std::vector<std::pair<Duration, Endpoint>> dialled;
        while (now <= end) {
            actions.clear();
            links.advance(now, actions);
            for (const action::Dial& dial : tests::all_of<action::Dial>(actions)) {
                dialled.emplace_back(now - start, dial.remote);
                links.dial_failed(now, {.remote = dial.remote}, actions);
            }
            REQUIRE(links.next_deadline() > now);
            now = std::min(links.next_deadline(), std::max(end, now) + 1ns);
        }
        return dialled;
    }
    std::size_t dials(const std::vector<Endpoint>& endpoints) {
        actions.clear();
        links.found(now, endpoints, actions);
        return tests::all_of<action::Dial>(actions).size();
    }

    const PeerConfig config = make_config();
    Links links;
    TimePoint now{1h};
    Actions actions;
    std::uint64_t last_link = 0;
};

inline std::vector<Endpoint> endpoints(std::size_t first, std::size_t count) {
    std::vector<Endpoint> all;
    for (std::size_t k = first; k < first + count; ++k) all.push_back(endpoint_of(k));
    return all;
}

}  // namespace dedloc::membership
