// Four real processes train while attackers with and without tickets try to stop them. The rounds
// go on, no process ends, memory stays bounded, and a log has few lines for each reason.
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/wire/limits.hpp"
#include "tests/peer/net/tcp/silent_crowd.hpp"
#include "tests/swarm/hostile.hpp"
#include "tests/swarm/process_swarm.hpp"

using namespace dedloc;
using namespace dedloc::test;
using namespace std::chrono_literals;

namespace {

using Seconds = ProcessSwarm::Seconds;
using Clock = std::chrono::steady_clock;

constexpr Seconds kSiegeTimeout = 30s;
/// Limit of a member's additional memory under attack (peer/net/tcp/README.md, Bounds).
constexpr std::size_t kMaxMemory = std::size_t{128} << 20;
/// Limit of lines for one reason in a member's log.
constexpr std::size_t kMaxLines = 20;
const std::vector<std::string> kHonest{"backbone", "ann", "bob", "cleo"};

class Siege {
  public:
    Siege()
        : swarm_({.program = DEDLOC_PEER_PROGRAM,
                  .bytes = 1'000'000,
                  .steps = 100'000,
                  .target_batch = 30,
                  .has_tickets = true}) {
        swarm_.start_seed();
        swarm_.start("backbone",
                     {"--backbone", "--memory", (swarm_.folder() / "votes").string(), "--check"});
        for (const char* name : {"ann", "bob", "cleo"}) start(name);
        await_rounds(kHonest);
        session_ = swarm_.session("mallory");
        for (const std::string& name : kHonest) memory_[name] = swarm_.peak_resident_bytes(name);
    }

    ProcessSwarm& swarm() { return swarm_; }
    std::uint16_t port() const { return swarm_.of("backbone").port; }
    const net::SessionOptions& session() const { return *session_; }
    void start(const std::string& name) {
        swarm_.start(name, {"--samples-per-second", "30", "--check"});
    }
    void await_rounds(const std::vector<std::string>& names) {
        swarm_.await("rounds of all", kSiegeTimeout * 2, [&] {
            for (const std::string& name : names) {
                if (swarm_.of(name).rounds < 2) return false;
            }
            return true;
        });
    }

    /// Repeats `act` until the swarm has made two more steps.
    void go_on_under(const std::string& what, const std::function<void()>& act) {
        const std::uint64_t step = swarm_.step() + 2;
        const auto begin = Clock::now();
        std::size_t acts = 0;
        while (swarm_.step() < step) {
            INFO(what);
            REQUIRE(Clock::now() - begin < kSiegeTimeout);
            act();
            ++acts;
            swarm_.watch(20ms);
        }
        const Seconds time = Clock::now() - begin;
        std::printf("%s, %zu times: two steps in %.1f s\n", what.c_str(), acts, time.count());
        std::fflush(stdout);
    }

    /// The attacked member has logged why it closed links, and no member has logged it too often.
    void check_log(const std::string& reason) {
        INFO(reason);
        CHECK(swarm_.log_lines("backbone", reason) >= 1);
        for (const std::string& name : kHonest) {
            CHECK(swarm_.log_lines(name, reason) <= kMaxLines);
        }
    }
    void check_memory() {
        for (const std::string& name : kHonest) {
            INFO(name);
            const std::size_t more = swarm_.peak_resident_bytes(name) - memory_.at(name);
            std::printf("%s: %zu MiB, and %zu more since\n", name.c_str(), memory_.at(name) >> 20,
                        more >> 20);
            CHECK(more <= kMaxMemory);
        }
    }

  private:
    ProcessSwarm swarm_;
    std::optional<net::SessionOptions> session_;
    std::map<std::string, std::size_t> memory_;  ///< peak of each member before the attacks
};

SharedBytes noise(std::size_t size, Random& random) {
    Buffer bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    return std::make_shared<const Buffer>(std::move(bytes));
}

/// An open insider link; opens a new one when the last one was closed.
class Grip {
  public:
    explicit Grip(Siege& siege) : siege_(siege) {}
    InsiderLink& link() {
        if (link_ && link_->is_open()) link_->pump();
        if (!link_ || !link_->is_open()) link_.emplace(siege_.session(), siege_.port());
        return *link_;
    }

  private:
    Siege& siege_;
    std::optional<InsiderLink> link_;
};

}  // namespace

TEST_CASE("connections without a ticket can neither stop a swarm nor fill its memory or logs",
          "[hostile]") {
    Siege siege;
    Random random(1);
    siege.go_on_under("strangers send noise", [&] {
        for (int i = 0; i < 100; ++i) {
            const StrangerSocket socket(siege.port());
            socket.await_space(100ms);
            (void)socket.write(*noise(10'000, random));
        }
    });
    siege.check_log("what it sent is no link of a peer");
    std::vector<StrangerSocket> held;
    siege.go_on_under("a thousand strangers send nothing", [&] {
        held.clear();
        for (int i = 0; i < 1'000; ++i) held.emplace_back(siege.port());
    });
    siege.check_log("too many connections have not proven their keys yet");
    siege.start("nina");
    siege.go_on_under("a thousand strangers stop in the middle of a Hello", [&] {
        held.clear();
        for (int i = 0; i < 1'000; ++i) {
            held.emplace_back(siege.port());
            (void)held.back().write(*noise(20, random));
        }
    });
    siege.await_rounds({"nina"});
    held.clear();
    {
        const net::SilentCrowd crowd(
            {.port = siege.port(), .connections = 900, .from = {"127.0.0.1"}});
        REQUIRE(crowd.reaches(900));
        const auto begin = Clock::now();
        siege.start("olga");
        siege.swarm().await("olga's link", kSiegeTimeout,
                            [&] { return siege.swarm().of("olga").rounds >= 1; });
        const Seconds time = Clock::now() - begin;
        std::printf("a newcomer among 900 silent strangers, %zu connections: a round in %.1f s\n",
                    crowd.connected(), time.count());
    }
    siege.check_memory();
}

TEST_CASE("a ticket holder that breaks the protocol cannot stop the swarm", "[hostile]") {
    Siege siege;
    Random random(2);
    Grip grip(siege);
    siege.go_on_under("an insider sends noise", [&] { grip.link().send(noise(1'000, random)); });
    siege.check_log("malformed message");
    siege.go_on_under("an insider speaks for another peer", [&] {
        InsiderLink& link = grip.link();
        link.send(link.frame_of(KeyPair::generate(), wire::Heartbeat{}));
    });
    siege.check_log("it speaks for another peer than it has proven to be");
    siege.go_on_under("an insider repeats itself", [&] {
        InsiderLink& link = grip.link();
        const SharedBytes frame = link.frame(wire::Heartbeat{});
        for (int i = 0; i < 2; ++i) link.send(frame);
    });
    siege.check_log("replayed or foreign frame");
    siege.go_on_under("an insider floods with heartbeats", [&] {
        InsiderLink& link = grip.link();
        for (int i = 0; i < 2'000; ++i) link.send(link.frame(wire::Heartbeat{}));
    });
    siege.go_on_under("an insider floods with its ticket", [&] {
        InsiderLink& link = grip.link();
        for (int i = 0; i < 2'000; ++i) link.show(*siege.session().ticket);
    });
    const net::SessionOptions other = siege.swarm().session("eve");
    siege.go_on_under("an insider shows another's ticket",
                      [&] { grip.link().show(*other.ticket); });
    siege.check_log("it did not prove that it holds its ticket's key");
    siege.go_on_under("an insider asks for leaves without end", [&] {
        InsiderLink& link = grip.link();
        for (std::uint32_t i = 0; i < 2'000; ++i) {
            link.send(link.frame(wire::LeafRequest{.root = {}, .leaf = i}));
        }
    });
    siege.go_on_under("an insider sends unexpected pieces", [&] {
        InsiderLink& link = grip.link();
        for (std::uint32_t i = 0; i < 2'000; ++i) {
            link.send(link.frame(wire::Chunk{.kind = wire::ChunkKind::kScatter,
                                             .sum_id = random.next(),
                                             .chunk = i,
                                             .chunk_elements = 1,
                                             .elements = FloatVector(1, 1.0f)}));
        }
    });
    const auto claim = [&](std::uint64_t number) {
        InsiderLink& link = grip.link();
        const Term term{number, siege.session().key.public_key()};
        link.send(link.frame(wire::Elect{term}));
        wire::Heartbeat heartbeat;
        heartbeat.term = term;
        link.send(link.frame(heartbeat));
        link.send(link.frame(wire::Call{term}));
        link.send(link.frame(wire::Cancel{term}));
    };
    siege.go_on_under("an insider claims the last term", [&] { claim(wire::kMaxTermNumber); });
    std::uint64_t likely = 1;
    siege.go_on_under("an insider claims the next term", [&] { claim(++likely); });
    siege.check_memory();
}

TEST_CASE("a ticket holder without a vote can neither decide nor make false claims", "[hostile]") {
    Siege siege;
    Grip grip(siege);
    const KeyPair& own = siege.session().key;
    const std::vector<Vote> votes{{.voter = own.public_key(), .signature = {}}};
    const Term term{1, own.public_key()};
    siege.go_on_under("an insider decides alone", [&] {
        InsiderLink& link = grip.link();
        wire::Commit commit;
        commit.certificate = {.term = term, .votes = votes};
        commit.digest.bytes.fill(std::byte{1});
        link.send(link.frame(commit));
        wire::StateVotes state;
        state.state.bytes.fill(std::byte{1});
        state.votes = votes;
        link.send(link.frame(state));
        link.send(link.frame(wire::StateOffer{
            .bytes = 1, .leaves = {state.state}, .record = state.record, .votes = votes}));
        wire::Generation generation;
        generation.generation.record.generation = wire::kMaxGeneration;
        generation.generation.record.voters = {own.public_key()};
        link.send(link.frame(generation));
    });
    siege.go_on_under("an insider promises and accepts without being asked", [&] {
        InsiderLink& link = grip.link();
        for (std::uint64_t number = 1; number < 500; ++number) {
            const Term any{number, own.public_key()};
            link.send(link.frame(wire::Promise{any, true, any, {}, {}}));
            link.send(link.frame(wire::Accept{.term = any, .digest = {}}));
        }
    });
    siege.go_on_under("an insider asks for the whole history without end", [&] {
        InsiderLink& link = grip.link();
        for (int i = 0; i < 500; ++i) {
            link.send(link.frame(wire::CommitQuery{}));
            link.send(link.frame(wire::StateQuery{}));
        }
    });
    siege.go_on_under("an insider claims all samples that there are", [&] {
        InsiderLink& link = grip.link();
        if (!link.heartbeat()) return;
        wire::Heartbeat claim = *link.heartbeat();
        claim.has_state = true;
        claim.may_vote = true;
        claim.samples = Samples{wire::kMaxSamples};
        claim.samples_per_second = static_cast<double>(wire::kMaxSamples);
        link.send(link.frame(claim));
        const auto call = link.take_call();
        if (!call) return;
        link.send(link.frame(wire::Join{.term = call->term,
                                        .contribution_id = 1,
                                        .samples = Samples{wire::kMaxSamples},
                                        .state = claim.state}));
    });
    siege.check_memory();
}

TEST_CASE("a ticket holder cannot fill the memory of other members", "[hostile]") {
    Siege siege;
    Random random(3);
    const SharedBytes largest = noise(wire::kMaxFrameBytes, random);
    // First, since a peer that has opened many links may not open another four at once.
    std::vector<InsiderLink> held;
    siege.go_on_under("an insider sends most of three hundred frames", [&] {
        if (held.size() == 300) held.clear();
        for (int i = 0; i < 30; ++i) {
            held.emplace_back(siege.session(), siege.port());
            held.back().send(largest, 900'000);
        }
    });
    siege.check_log("it has opened too many links");
    held.clear();
    const SharedBytes too_large = noise(wire::kMaxFrameBytes + 1, random);
    siege.go_on_under("an insider announces frames that are too large", [&] {
        InsiderLink link(siege.session(), siege.port());
        link.send(too_large, 1'000);
    });
    siege.go_on_under("insiders read nothing", [&] {
        for (int i = 0; i < 30; ++i) held.emplace_back(siege.session(), siege.port());
    });
    siege.check_memory();
}

TEST_CASE("a stopped member does not delay the swarm, and comes back to rounds", "[hostile]") {
    Siege siege;
    siege.start("stan");
    siege.await_rounds({"stan"});
    for (int i = 0; i < 2; ++i) {
        siege.swarm().signal("stan", SIGSTOP);
        siege.go_on_under("a member stands still", [] {});
        siege.swarm().signal("stan", SIGCONT);
        const std::uint64_t rounds = siege.swarm().of("stan").rounds;
        siege.swarm().await("stan in rounds again", kSiegeTimeout,
                            [&] { return siege.swarm().of("stan").rounds >= rounds + 2; });
    }
}
