#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/net/dht/dht_directory.hpp"
#include "peer/net/dht/dht_seed.hpp"
#include "peer/net/reactor.hpp"
#include "peer/net/tcp/tcp_transport.hpp"
#include "tests/peer/net/paced_trainer.hpp"

namespace dedloc::net {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kElements = 100'000;
constexpr std::chrono::seconds kRoundTimeout{60};

RunId run_id() {
    return RunId{blake2b(bytes_of("reactor test")).bytes};
}

state::OptimizerSettings settings() {
    return {.learning_rate = 0.01, .total_steps = 1000};
}

class WatchingHost final : public Host {
  public:
    void perform(const HostAction& action) override {
        set([&] { std::visit([this](const auto& what) { on(what); }, action); });
        if (throws_at_commit && std::holds_alternative<action::Committed>(action)) {
            throw IoError("the ledger cannot be written");
        }
    }
    void failed(const std::string& sentence) override {
        set([&] { failure_ = sentence; });
    }

    std::optional<action::Finished> await_finished() {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, kRoundTimeout, [&] { return finished_ || !failure_.empty(); });
        return finished_;
    }
    std::string await_failure() {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, kRoundTimeout, [&] { return !failure_.empty(); });
        return failure_;
    }
    bool await_commits(std::size_t count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kRoundTimeout, [&] { return commits_.size() >= count; });
    }
    bool await_seats(std::size_t count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kRoundTimeout, [&] { return seats_ == count; });
    }
    bool await_departures(int count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kRoundTimeout, [&] { return departures_ >= count; });
    }
    int votes() {
        const std::lock_guard lock(mutex_);
        return votes_;
    }
    std::vector<CommitRecord> commits() {
        const std::lock_guard lock(mutex_);
        return commits_;
    }
    int unequal() {
        const std::lock_guard lock(mutex_);
        return unequal_;
    }
    std::string notes() {
        const std::lock_guard lock(mutex_);
        return notes_;
    }
    bool throws_at_commit = false;

  private:
    void on(const action::Voted&) { ++votes_; }
    void on(const action::Committed& commit) { commits_.push_back(commit.record); }
    void on(const action::Settled& settled) {
        if (settled.equal != settled.reported) ++unequal_;
    }
    void on(const action::SwarmSeen& swarm) { seats_ = swarm.seats.size(); }
    void on(const action::Finished& finished) { finished_ = finished; }
    void on(const action::Refused& refused) { failure_ = refused.reason; }
    void on(const action::Left&) { ++departures_; }
    void on(const action::Note& note) { notes_ += note.line + "\n"; }
    void on(const auto&) {}
    template <class Change>
    void set(const Change& change) {
        {
            const std::lock_guard lock(mutex_);
            change();
        }
        changed_.notify_all();
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<CommitRecord> commits_;
    std::optional<action::Finished> finished_;
    std::size_t seats_ = 0;
    int unequal_ = 0;
    int votes_ = 0;
    int departures_ = 0;
    std::string failure_;
    std::string notes_;
};

/// One member of a swarm in this process: queue, transport, directory, trainer, reactor.
struct Member {
    Member(const DhtSeed& seed, const KeyPair& key, const PeerKey& coordinator, StepIndex last_step,
           std::uint64_t index)
        : transport({.listen = Endpoint{"127.0.0.1", 0}}, queue.sink()),
          directory({run_id(), {Endpoint{"127.0.0.1", seed.port()}.text()}, {}}, queue.sink()),
          trainer(kElements, 0.1F * static_cast<float>(index),
                  Samples{key.public_key() == coordinator ? 0U : 4U}, settings(), queue.sink()),
          reactor(config(key, coordinator, last_step, index), key,
                  {queue, transport, directory, trainer, host, workers}) {}

    static PeerConfig config(const KeyPair& key, const PeerKey& coordinator, StepIndex last_step,
                             std::uint64_t index) {
        const bool coordinates = key.public_key() == coordinator;
        PeerConfig config;
        config.run = run_id();
        config.project = coordinator;  // no generation is signed in these tests
        config.backbone = coordinator;
        config.role = coordinates ? Role::kBackbone : Role::kTrainer;
        if (coordinates) config.voter = first_memory(0, true);
        config.rules.elements = kElements;
        config.rules.target_batch = Samples{200};
        config.rules.last_step = last_step;
        config.rules.heartbeat = 100ms;
        config.random_seed = 1000 + index;
        config.scalars_of = [](StepIndex step) { return update_scalars(settings(), step); };
        return config;
    }

    kernels::ThisThread workers;
    EventQueue queue;
    TcpTransport transport;
    DhtDirectory directory;
    PacedTrainer trainer;
    WatchingHost host;
    Reactor reactor;
};

struct Swarm {
    explicit Swarm(std::size_t trainers, StepIndex last) : last_step(last) {
        for (std::size_t i = 0; i <= trainers; ++i) add();
    }
    /// Adds a member; the first one is the backbone.
    Member& add() {
        const KeyPair key = members.empty() ? backbone : KeyPair::generate();
        members.push_back(
            std::make_unique<Member>(seed, key, backbone.public_key(), last_step, members.size()));
        members.back()->reactor.start();
        return *members.back();
    }
    const KeyPair backbone = KeyPair::generate();
    const StepIndex last_step;
    DhtSeed seed{{{"127.0.0.1", 0}, "", ""}};
    std::vector<std::unique_ptr<Member>> members;
};

TEST_CASE("three trainers and a backbone train over real sockets", "[net][reactor]") {
    Swarm swarm(3, StepIndex{8});
    std::optional<Digest> digest;
    for (const auto& member : swarm.members) {
        const auto finished = member->host.await_finished();
        INFO(member->host.notes());
        REQUIRE(finished);
        CHECK(finished->step == StepIndex{8});
        if (!digest) digest = finished->digest;
        CHECK(finished->digest == *digest);
    }
    const auto commits = swarm.members[0]->host.commits();
    CHECK(commits.size() == 8);
    CHECK(swarm.members[0]->host.votes() >= 8);
    CHECK(swarm.members[0]->host.unequal() == 0);
}

TEST_CASE("a swarm goes on without a stopped member, and a late member loads the state",
          "[net][reactor]") {
    Swarm swarm(2, StepIndex{1'000'000});
    Member& backbone = *swarm.members[0];
    REQUIRE(backbone.host.await_commits(2));
    swarm.members[2]->reactor.stop();
    swarm.members.pop_back();
    REQUIRE(backbone.host.await_commits(backbone.host.commits().size() + 2));
    Member& late = swarm.add();
    REQUIRE(late.host.await_commits(3));
    // Leaves and returns, as with BOINC's suspend and resume.
    late.reactor.post(event::LeaveRequested{});
    REQUIRE(late.host.await_departures(1));
    REQUIRE(backbone.host.await_commits(backbone.host.commits().size() + 3));
    const std::size_t before = late.host.commits().size();
    late.reactor.post(event::ReturnRequested{});
    CHECK(late.host.await_commits(before + 2));
    CHECK(backbone.host.unequal() == 0);
}

TEST_CASE("an exception of the host ends the reactor, which reports its message",
          "[net][reactor]") {
    Swarm throwing(0, StepIndex{10});
    throwing.members[0]->host.throws_at_commit = true;
    throwing.add();
    CHECK(throwing.members[0]->host.await_failure() == "the ledger cannot be written");
    throwing.members[0]->reactor.post(event::Tick{});
    throwing.members[0]->reactor.stop();
}

TEST_CASE("a full event queue blocks posting threads but not the thread that takes",
          "[net][reactor]") {
    EventQueue queue(1);
    queue.post(event::Tick{});
    std::thread poster([&] { queue.post(event::LeaveRequested{}); });
    REQUIRE(queue.take(std::chrono::steady_clock::now() + 1h));
    poster.join();
    queue.post(event::Tick{});  // this thread takes, so it may exceed the capacity
    CHECK(std::holds_alternative<event::LeaveRequested>(*queue.take({})));
    CHECK(std::holds_alternative<event::Tick>(*queue.take({})));
    CHECK_FALSE(queue.take({}));
    queue.close();
    CHECK_FALSE(queue.take(std::chrono::steady_clock::now() + 1h));
}

}  // namespace
}  // namespace dedloc::net
