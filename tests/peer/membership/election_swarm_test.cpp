// Several linked voters: which one coordinates, and which one succeeds it.
#include "peer/membership/election.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "tests/peer/membership/election_bench.hpp"

using namespace dedloc;
using namespace dedloc::membership;

namespace {

/// All voters are linked; frames arrive at once, heartbeats follow every change.
class Voters {
  public:
    Voters(std::size_t count, const PeerKey& backbone) : keys_(voter_keys(count)) {
        for (const KeyPair& key : keys_) {
            benches_.push_back(std::make_unique<ElectionBench>(
                keys_, key, ElectionBenchOptions{.backbone = backbone}));
        }
        for (const auto& bench : benches_) {
            for (const KeyPair& key : keys_) {
                if (key.public_key() != bench->key.public_key()) bench->introduce(key);
            }
        }
    }
    explicit Voters(std::size_t count) : Voters(count, PeerKey{}) {}

    void run(Duration time) {
        for (Duration passed{}; passed < time; passed += 100ms) {
            for (std::size_t k = 0; k < benches_.size(); ++k) {
                benches_[k]->now += 100ms;
                if (is_away(k)) continue;
                for (std::size_t i = 0; i < benches_.size(); ++i) beat(k, i);
                benches_[k]->election.advance(benches_[k]->now, true, benches_[k]->out);
                deliver();
            }
        }
    }
    /// The leaders, as indices in the order of keys.
    std::vector<std::size_t> leaders() const {
        std::vector<std::size_t> leaders;
        for (std::size_t k = 0; k < benches_.size(); ++k) {
            if (!is_away(k) && benches_[k]->leads()) leaders.push_back(k);
        }
        return leaders;
    }
    void cut(std::size_t k) {
        away_.push_back(k);
        for (std::size_t i = 0; i < benches_.size(); ++i) {
            for (const auto& end : benches_[i]->ends) {
                if (i == k || end->peer() == keys_[k].public_key()) benches_[i]->close(*end);
            }
        }
    }
    ElectionBench& at(std::size_t k) { return *benches_[k]; }
    const std::vector<KeyPair>& keys() const { return keys_; }

  private:
    bool is_away(std::size_t k) const { return std::ranges::count(away_, k) > 0; }
    OtherEnd* end_of(std::size_t from, std::size_t at) {
        for (const auto& end : benches_[at]->ends) {
            if (end->peer() == keys_[from].public_key()) return end.get();
        }
        return nullptr;
    }
    void beat(std::size_t from, std::size_t to) {
        if (from == to || is_away(to)) return;
        const Election& election = benches_[from]->election;
        benches_[to]->hear(*end_of(from, to),
                           election.has_live_leader() ? election.term() : Term{});
    }
    void deliver() {
        for (bool is_quiet = false; !is_quiet;) {
            is_quiet = true;
            for (std::size_t k = 0; k < benches_.size(); ++k) {
                for (const OutgoingMessage& message :
                     std::exchange(benches_[k]->out.messages, {})) {
                    is_quiet = false;
                    for (const PeerKey& to : message.to) hand_over(k, to, message);
                }
            }
        }
    }
    void hand_over(std::size_t from, const PeerKey& to, const OutgoingMessage& message) {
        const PeerKey sender = keys_[from].public_key();
        for (std::size_t k = 0; k < benches_.size(); ++k) {
            ElectionBench& bench = *benches_[k];
            if (bench.key.public_key() != to || is_away(k) || is_away(from)) continue;
            if (const auto* elect = std::get_if<wire::Elect>(&message.body)) {
                bench.election.on_elect(bench.now, sender, message.step, *elect, bench.out);
            } else if (const auto* promise = std::get_if<wire::Promise>(&message.body)) {
                bench.election.on_promise(sender, message.step, *promise, bench.out);
            }
        }
    }

    const std::vector<KeyPair> keys_;
    std::vector<std::unique_ptr<ElectionBench>> benches_;
    std::vector<std::size_t> away_;
};

}  // namespace

TEST_CASE("of three voters the backbone leads, else the one with the lowest key", "[membership]") {
    Voters plain{3};
    plain.run(2s);
    CHECK(plain.leaders() == std::vector<std::size_t>{0});
    Voters with_backbone{3, plain.keys()[2].public_key()};
    with_backbone.run(2s);
    CHECK(with_backbone.leaders() == std::vector<std::size_t>{2});
}

TEST_CASE("a lost leader has a successor, and its return does not displace the successor",
          "[membership]") {
    for (const std::size_t count : {3u, 5u}) {
        Voters voters{count};
        voters.run(2s);
        REQUIRE(voters.leaders() == std::vector<std::size_t>{0});
        const Term first = voters.at(0).election.term();
        voters.run(1min);
        CHECK(voters.at(0).election.term() == first);
        voters.cut(0);
        voters.run(5s);
        REQUIRE(voters.leaders() == std::vector<std::size_t>{1});
        CHECK(voters.at(1).election.term() > first);
        for (std::size_t k = 1; k < count; ++k) {
            CHECK(voters.at(k).election.term() == voters.at(1).election.term());
        }
        // The old leader has lost its majority and steps down.
        voters.run(10s);
        CHECK(voters.at(1).leads());
    }
}

TEST_CASE("without a majority of the voters there is no leader", "[membership]") {
    Voters voters{5};
    voters.run(2s);
    voters.cut(4);
    voters.cut(3);
    voters.run(20s);
    CHECK(voters.leaders() == std::vector<std::size_t>{0});
    voters.cut(2);
    voters.run(20s);
    CHECK(voters.leaders().empty());
}
