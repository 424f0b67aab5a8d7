// Which request gets a turn to hash a password while floods of sign-ins wait, in played time and
// with threads.
#include "project_server/accounts/hash_turns.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace dedloc::server {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// A server that computes hashes in played time: 3 at once, 100 ms each, as on a busy machine.
class PlayedServer {
  public:
    using Duration = std::chrono::milliseconds;

    /// A request of the flood arrives.
    void arrive(const std::string& address) {
        queue_.add(address, false);
        drop_excess();
    }
    /// An honest request arrives; its fate is known later.
    void arrive_honest(const std::string& address) {
        honest_[queue_.add(address, false)] = now_;
        drop_excess();
    }
    /// Time passes, and turns end and begin.
    void pass(Duration time) {
        for (const Duration end = now_ + time; now_ < end; now_ += 1ms) {
            std::erase_if(ends_, [&](Duration at) { return at <= now_; });
            while (ends_.size() < 3 && queue_.size() > 0) begin_next();
        }
    }
    std::size_t served() const { return served_; }
    std::size_t refused() const { return refused_; }
    Duration longest() const { return longest_; }

  private:
    void drop_excess() {
        if (queue_.size() <= HashLimits{}.waiting) return;
        refused_ += honest_.erase(queue_.take_last());
    }
    void begin_next() {
        ends_.push_back(now_ + 100ms);
        const auto honest = honest_.find(queue_.take_next());
        if (honest == honest_.end()) return;
        ++served_;
        longest_ = std::max(longest_, now_ - honest->second);
        honest_.erase(honest);
    }

    HashQueue queue_;
    Duration now_{0};
    std::vector<Duration> ends_;
    std::map<HashQueue::Number, Duration> honest_;
    std::size_t served_ = 0;
    std::size_t refused_ = 0;
    Duration longest_{0};
};

/// Address number `i` of an attacker in `count` networks of 16 bits.
std::string attacker(std::size_t i, std::size_t count) {
    return std::to_string(10 + i % count) + ".1." + std::to_string(i / count / 250) + "." +
           std::to_string(i / count % 250);
}

TEST_CASE("a sign-in from another network is served while a flood waits", "[server]") {
    const std::size_t networks = GENERATE(1U, 4U, 16U);
    const std::size_t addresses = GENERATE(16U, 500U, 4'096U);
    // As many as 500 addresses may fail in a quarter of an hour, and one from each in a second.
    const std::size_t in_second = GENERATE(30U, 500U);
    PlayedServer server;
    std::size_t tries = 0;
    for (int second = 0; second < 60; ++second) {
        for (std::size_t i = 0; i < in_second; ++i) {
            server.arrive(attacker(tries++ % addresses, networks));
            // Honest people come from many networks, one of them beside the attacker's own.
            if (i == in_second / 2) {
                server.arrive_honest("198." + std::to_string(second) + ".100.1");
                server.arrive_honest("10.200.1." + std::to_string(second));
            }
            server.pass(PlayedServer::Duration{1'000 / in_second});
        }
    }
    server.pass(10s);
    CHECK(server.refused() == 0);
    CHECK(server.served() == 120);
    CHECK(server.longest() < 2s);
}

TEST_CASE("of one client, accounts that have signed in from there go first", "[server]") {
    HashQueue queue;
    queue.add("192.0.2.1", false);
    queue.add("192.0.2.1", false);
    const auto known = queue.add("192.0.2.1", true);
    const auto other = queue.add("192.0.2.2", false);
    CHECK(queue.take_next() == known);
    CHECK(queue.take_next() == other);
    CHECK(queue.take_next() == 1);
    const auto fourth = queue.add("192.0.2.1", true);
    CHECK(queue.take_last() == 2);
    CHECK(queue.take_last() == fourth);
    CHECK(queue.size() == 0);
}

TEST_CASE("wide networks take turns, and the networks inside them", "[server]") {
    HashQueue queue;
    std::map<HashQueue::Number, std::string> names;
    for (int i = 0; i < 3; ++i) {
        names[queue.add("10.1.1.1", false)] = "a";
        names[queue.add("10.1.2.1", false)] = "b";
        names[queue.add("10.2.1.1", false)] = "c";
        names[queue.add("2001:db8::1", false)] = "d";
    }
    std::string order;
    while (queue.size() > 0) order += names.at(queue.take_next());
    CHECK(order == "acdbcdacdbab");
}

TEST_CASE("a flood of threads leaves turns to another network", "[server][timing]") {
    HashTurns turns;
    std::atomic<bool> is_over = false;
    std::atomic<int> computing = 0;
    std::atomic<int> max = 0;
    std::vector<std::thread> flood;
    for (std::size_t i = 0; i < 60; ++i) {
        flood.emplace_back([&, i] {
            while (!is_over) {
                try {
                    const HashTurns::Turn turn{turns, attacker(i, 1)};
                    max = std::max<int>(max, ++computing);
                    std::this_thread::sleep_for(20ms);
                    --computing;
                } catch (const TooBusyError&) {
                    std::this_thread::sleep_for(5ms);
                }
            }
        });
    }
    while (turns.waiting() < HashLimits{}.waiting) std::this_thread::sleep_for(1ms);
    const auto begin = Clock::now();
    for (int i = 0; i < 20; ++i) CHECK_NOTHROW(HashTurns::Turn{turns, "198.51.100.1"});
    CHECK(Clock::now() - begin < 10s);
    CHECK(turns.waiting() > 0);
    is_over = true;
    for (std::thread& one : flood) one.join();
    CHECK(max <= 3);
    CHECK(turns.waiting() == 0);
}

TEST_CASE("a request that waits for too long is told to come again", "[server]") {
    HashTurns turns{{.at_once = 1, .waiting = 2, .wait = 20ms}};
    {
        const HashTurns::Turn turn{turns, "192.0.2.1"};
        CHECK_THROWS_AS((HashTurns::Turn{turns, "192.0.2.2"}), TooBusyError);
        CHECK(turns.waiting() == 0);
    }
    CHECK_NOTHROW(HashTurns::Turn{turns, "192.0.2.2"});
}

}  // namespace
}  // namespace dedloc::server
