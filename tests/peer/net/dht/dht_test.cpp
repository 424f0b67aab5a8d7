#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/net/dht/dht_directory.hpp"
#include "peer/net/dht/dht_seed.hpp"
#include "peer/net/endpoint_text.hpp"
#include "peer/platform/networks.hpp"
#include "tests/peer/net/tcp/inbox.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::net {
namespace {

using namespace std::chrono_literals;

const Endpoint kAnyLoopback{"127.0.0.1", 0};

RunId run_named(std::string_view name) {
    return RunId{blake2b(bytes_of(name)).bytes};
}

/// A directory and its events. The announced TCP ports are only numbers here: no peer dials them.
struct Searcher {
    Searcher(const DhtSeed& seed, const RunId& run, std::optional<PeerKey> project = {})
        : directory({run, {Endpoint{"127.0.0.1", seed.port()}.text()}, {}, project}, inbox.sink()) {
    }
    /// Waits until all these ports have been reported.
    bool finds(std::set<std::uint16_t> ports) {
        const auto deadline = std::chrono::steady_clock::now() + kTimeout;
        while (!ports.empty() && std::chrono::steady_clock::now() < deadline) {
            const auto found = inbox.next<event::EndpointsFound>(1s);
            if (!found) continue;
            for (const Endpoint& endpoint : found->endpoints) {
                CHECK(endpoint.host == "127.0.0.1");
                ports.erase(endpoint.port);
                seen.insert(endpoint.port);
            }
        }
        return ports.empty();
    }
    Inbox inbox;
    std::set<std::uint16_t> seen;
    DhtDirectory directory;
};

TEST_CASE("five peers find each other through the seed and not themselves", "[net][dht]") {
    const DhtSeed seed({kAnyLoopback, "", ""});
    const RunId run = run_named("five");
    std::vector<std::unique_ptr<Searcher>> searchers;
    for (std::uint16_t i = 0; i < 5; ++i) {
        searchers.push_back(std::make_unique<Searcher>(seed, run));
        searchers.back()->directory.join(static_cast<std::uint16_t>(1000 + i));
    }
    for (std::uint16_t i = 0; i < 5; ++i) {
        std::set<std::uint16_t> others{1000, 1001, 1002, 1003, 1004};
        others.erase(static_cast<std::uint16_t>(1000 + i));
        CHECK(searchers[i]->finds(others));
        CHECK_FALSE(searchers[i]->seen.contains(static_cast<std::uint16_t>(1000 + i)));
    }
}

TEST_CASE("a backbone beside its seed is found by the first peer", "[net][dht]") {
    const DhtSeed seed({kAnyLoopback, "", ""});
    Searcher backbone(seed, run_named("first"));
    backbone.directory.join(2000);
    Searcher stranger(seed, run_named("another run"));
    stranger.directory.join(2001);
    Searcher listener(seed, run_named("first"));
    listener.directory.join(0);  // searches, but announces nothing
    CHECK(listener.finds({2000}));
    CHECK_FALSE(listener.seen.contains(2001));
    CHECK_FALSE(backbone.inbox.next<event::EndpointsFound>(1s));
}

TEST_CASE("a seed that listens on every interface is reached over loopback too", "[net][dht]") {
    Endpoint address = kAnyLoopback;
    {
        const DhtSeed unused({kAnyLoopback, "", ""});
        address.port = unused.port();
    }
    const DhtSeed seed({{"0.0.0.0", address.port}, address.text(), ""});
    Searcher one(seed, run_named("everywhere"));
    one.directory.join(2100);
    Searcher other(seed, run_named("everywhere"));
    other.directory.join(2101);
    CHECK(one.finds({2101}));
    CHECK(other.finds({2100}));
}

TEST_CASE("a swarm's head is found if the project has signed it, and not otherwise", "[net][dht]") {
    const DhtSeed seed({kAnyLoopback, "", ""});
    const std::vector<std::string> seeds{Endpoint{"127.0.0.1", seed.port()}.text()};
    const KeyPair project = KeyPair::generate();
    const KeyPair liar = KeyPair::generate();
    const RunId run = run_named("head");
    wire::SwarmHead head{.run = run,
                         .generation = 1,
                         .step = StepIndex{7},
                         .state = blake2b(bytes_of("state")),
                         .backbones = {{"127.0.0.1", 5001}}};
    Searcher backbone(seed, run);
    backbone.directory.join(0);
    backbone.directory.publish(head, project);
    Searcher other(seed, run);
    other.directory.join(0);
    wire::SwarmHead lie = head;
    lie.step = StepIndex{9};
    other.directory.publish(lie, liar);
    Searcher newcomer(seed, run, project.public_key());
    newcomer.directory.join(0);
    CHECK(newcomer.finds({5001}));
    CHECK(newcomer.directory.head() == head);
    head.step = StepIndex{8};
    backbone.directory.publish(head, project);
    Searcher later(seed, run, project.public_key());
    later.directory.join(0);
    CHECK(later.finds({5001}));
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (later.directory.head() != head && std::chrono::steady_clock::now() < deadline) {
        later.inbox.next<event::EndpointsFound>(100ms);
    }
    CHECK(later.directory.head() == head);
}

TEST_CASE("the head's voters are reported before announced peers, repeatedly",
          "[net][dht][timing]") {
    auto seed = std::make_unique<DhtSeed>(DhtSeedOptions{kAnyLoopback, "", ""});
    const KeyPair project = KeyPair::generate();
    const RunId run = run_named("voters");
    std::vector<std::unique_ptr<Searcher>> others;
    for (std::uint16_t i = 0; i < 5; ++i) {
        others.push_back(std::make_unique<Searcher>(*seed, run));
        others.back()->directory.join(static_cast<std::uint16_t>(1000 + i));
    }
    const std::vector<Endpoint> voters{{"127.0.0.1", 65'001}, {"127.0.0.1", 999}};
    others.front()->directory.publish(
        {.run = run, .generation = 1, .step = StepIndex{1}, .state = {}, .backbones = voters},
        project);
    Searcher newcomer(*seed, run, project.public_key());
    newcomer.directory.join(0);
    const auto names_voters = [&](const event::EndpointsFound& found) {
        return found.endpoints.size() >= 2 && found.endpoints[0] == voters[0] &&
               found.endpoints[1] == voters[1];
    };
    const auto found = newcomer.inbox.next<event::EndpointsFound>(
        kTimeout, [&](const event::EndpointsFound& event) {
            return names_voters(event) && event.endpoints.size() == 2 + others.size();
        });
    REQUIRE(found);
    CHECK(std::ranges::count(found->endpoints, voters[1]) == 1);
    // Also while no node of the DHT answers.
    others.clear();
    seed.reset();
    while (newcomer.inbox.waiting<event::EndpointsFound>() > 0) {
        newcomer.inbox.next<event::EndpointsFound>();
    }
    for (int i = 0; i < 2; ++i) {
        CHECK(newcomer.inbox.next<event::EndpointsFound>(10s, names_voters));
    }
}

/// A backbone and its seed end, and after `absence` another backbone begins at the seed's address
/// without its state. Returns the time until six members, which go on meanwhile, have found its
/// announcement and the new head.
std::chrono::duration<double> time_to_find_again(std::chrono::seconds absence) {
    auto seed = std::make_unique<DhtSeed>(DhtSeedOptions{kAnyLoopback, "", ""});
    const Endpoint address{"127.0.0.1", seed->port()};
    const KeyPair project = KeyPair::generate();
    const RunId run = run_named("absence");
    wire::SwarmHead head{.run = run,
                         .generation = 1,
                         .step = StepIndex{1},
                         .state = {},
                         .backbones = {{"127.0.0.1", 6001}}};
    auto backbone = std::make_unique<Searcher>(*seed, run);
    backbone->directory.join(6000);
    backbone->directory.publish(head, project);
    // So many members that a lookup does not fall back to the seed's address.
    std::vector<std::unique_ptr<Searcher>> members;
    for (std::uint16_t i = 0; i < 6; ++i) {
        members.push_back(std::make_unique<Searcher>(*seed, run, project.public_key()));
        members.back()->directory.join(static_cast<std::uint16_t>(6100 + i));
    }
    for (const auto& member : members) REQUIRE(member->finds({6000, 6001}));
    backbone.reset();
    seed.reset();
    const auto end = std::chrono::steady_clock::now() + absence;
    while (std::chrono::steady_clock::now() < end) {
        members.front()->inbox.next<event::EndpointsFound>(1s);
    }
    seed = std::make_unique<DhtSeed>(DhtSeedOptions{address, address.text(), ""});
    backbone = std::make_unique<Searcher>(*seed, run);
    backbone->directory.join(6002);
    head.step = StepIndex{2};
    head.backbones = {{"127.0.0.1", 6003}};
    backbone->directory.publish(head, project);
    const auto begin = std::chrono::steady_clock::now();
    for (const auto& member : members) CHECK(member->finds({6002, 6003}));
    return std::chrono::steady_clock::now() - begin;
}

TEST_CASE("a backbone that returns with a seed without state is found within seconds",
          "[net][dht][timing]") {
    CHECK(time_to_find_again(0s) < 15s);
}

TEST_CASE("a backbone that was away longer than nodes are remembered is found as fast",
          "[.slow][dht][timing]") {
    const auto time = time_to_find_again(75s);
    WARN(fmt::format("found again after {:.1f} s", time.count()));
    CHECK(time < 15s);
}

TEST_CASE("no port is mapped if no router answers", "[net][dht]") {
    const DhtSeed seed({kAnyLoopback, "", ""});
    Searcher peer(seed, run_named("house"));
    CHECK_FALSE(peer.directory.map_port(5002, 200ms));
}

TEST_CASE("a directory stops searching when it leaves, and may join again", "[net][dht]") {
    const DhtSeed seed({kAnyLoopback, "", ""});
    const RunId run = run_named("return");
    Searcher stays(seed, run);
    stays.directory.join(3000);
    Searcher leaves(seed, run);
    leaves.directory.join(3001);
    REQUIRE(leaves.finds({3000}));
    leaves.directory.leave();
    while (leaves.inbox.next<event::EndpointsFound>(700ms)) {
    }
    leaves.directory.join(3001);
    CHECK(leaves.finds({3000}));
}

TEST_CASE("new peers find old ones through a seed restarted with its saved state", "[net][dht]") {
    const TemporaryDirectory directory;
    const auto file = directory.path() / "dht_state";
    auto seed = std::make_unique<DhtSeed>(DhtSeedOptions{kAnyLoopback, "", file});
    const Endpoint address{"127.0.0.1", seed->port()};
    const RunId run = run_named("restart");
    std::vector<std::unique_ptr<Searcher>> old;
    for (std::uint16_t i = 0; i < 3; ++i) {
        old.push_back(std::make_unique<Searcher>(*seed, run));
        old.back()->directory.join(static_cast<std::uint16_t>(4000 + i));
    }
    CHECK(old[0]->finds({4001, 4002}));
    CHECK(old[1]->finds({4000, 4002}));
    CHECK(old[2]->finds({4000, 4001}));
    seed.reset();
    REQUIRE(std::filesystem::file_size(file) > 0);
    seed = std::make_unique<DhtSeed>(DhtSeedOptions{address, address.text(), file});
    Searcher newcomer(*seed, run);
    newcomer.directory.join(4100);
    CHECK(newcomer.finds({4000, 4001, 4002}));
}

TEST_CASE("peers that start before their seed find each other when it starts",
          "[net][dht][timing]") {
    Endpoint address = kAnyLoopback;
    {
        const DhtSeed unused({kAnyLoopback, "", ""});
        address.port = unused.port();
    }
    Inbox early_inbox;
    DhtDirectory early({run_named("early"), {address.text()}, {}}, early_inbox.sink());
    early.join(5000);
    CHECK_FALSE(early_inbox.next<event::EndpointsFound>(1s));
    const DhtSeed seed({address, "", ""});
    Searcher late(seed, run_named("early"));
    late.directory.join(5001);
    CHECK(late.finds({5000}));
    CHECK(early_inbox.next<event::EndpointsFound>());
}

TEST_CASE("a UDP port in use and invalid seeds give one-sentence errors", "[net][dht]") {
    const DhtSeed seed({kAnyLoopback, "", ""});
    const Endpoint taken{"127.0.0.1", seed.port()};
    CHECK_THROWS_WITH(
        DhtSeed({taken, "", ""}),
        fmt::format("cannot listen on UDP {} for the DHT: the port is in use", taken.text()));
    const EventSink nowhere = [](Event) {};
    CHECK_THROWS_WITH(DhtDirectory({run_named("x"), {}, {}}, nowhere), "the run names no DHT seed");
    CHECK_THROWS_WITH(DhtDirectory({run_named("x"), {"nonsense"}, {}}, nowhere),
                      "the DHT seed \"nonsense\" is not of the form HOST:PORT");
    CHECK_THROWS_AS(DhtDirectory({run_named("x"), {taken.text()}, {"nobody", 0}}, nowhere),
                    InputError);
}

TEST_CASE("endpoints are parsed from text", "[net]") {
    for (const char* text : {"127.0.0.1:80", "[::1]:65535", "[2001:db8::1]:1", "10.0.0.1:0"}) {
        const auto endpoint = parse_endpoint(text);
        REQUIRE(endpoint);
        CHECK(endpoint->text() == text);
    }
    for (const char* text : {"", ":", "127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:65536", "::1:80",
                             "[::1]", "[::1:80", "localhost:80", "127.0.0.1:-1", "127.0.0.1:8 "}) {
        CHECK_FALSE(parse_endpoint(text));
    }
    CHECK(resolve_endpoint("localhost:81").port == 81);
    CHECK(platform::is_loopback_host(resolve_endpoint("localhost:81").host));
    CHECK_THROWS_AS(resolve_endpoint("localhost"), InputError);
    for (const char* host : {"127.9.9.9", "::1", "10.1.2.3", "172.31.0.1", "192.168.7.7",
                             "169.254.0.1", "fd00::1", "fe80::1"}) {
        CHECK(is_private_host(host));
    }
    for (const char* host : {"8.8.8.8", "172.32.0.1", "2001:db8::1", "192.169.0.1"}) {
        CHECK_FALSE(is_private_host(host));
    }
}

}  // namespace
}  // namespace dedloc::net
