// When frames count as written, over paths in virtual time: long and short, shared and not.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <deque>
#include <optional>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/net/session/link_window.hpp"

namespace dedloc::net {
namespace {

using namespace std::chrono_literals;
using Time = LinkWindow::Time;
using Duration = LinkWindow::Duration;

constexpr std::size_t kFrame = std::size_t{256} << 10;
constexpr std::size_t kWindow = 3 * kFrame;  ///< the driver's window in bytes
constexpr std::size_t kMax = std::size_t{8} << 20;

/// A driver that keeps its window full, a link, and a path: one queue with a given rate, then half
/// of the round trip to the receiver and half of it back.
class Path {
  public:
    Path(double bytes_per_second, Duration round_trip)
        : rate_(bytes_per_second), round_trip_(round_trip), window_(kMax, round_trip) {}

    void set_rate(double bytes_per_second) { rate_ = bytes_per_second; }
    void run(Duration time) {
        const Time end = now_ + time;
        while (true) {
            fill();
            const Time next = receipts_.empty() ? end : std::min(end, receipts_.front());
            now_ = next;
            if (next == end) return;
            receipts_.pop_front();
            confirmed_ += kFrame;
            REQUIRE(window_.confirm(now_, 1));
            count();
        }
    }
    /// The driver sends nothing until the path is empty, and for `time` longer.
    void rest(Duration time) {
        is_resting_ = true;
        run(std::max(free_at_ - now_, Duration{0}) + round_trip_ + time);
        is_resting_ = false;
    }
    std::uint64_t confirmed() const { return confirmed_; }
    /// Bytes that wait in front of the path.
    double queued() const {
        const std::chrono::duration<double> wait = std::max(free_at_ - now_, Duration{0});
        return wait.count() * rate_;
    }

  private:
    void fill() {
        while (!is_resting_ && unwritten_ < kWindow) {
            window_.queue(now_, kFrame);
            window_.take(now_, 1);
            unwritten_ += kFrame;
            const std::chrono::duration<double> takes{static_cast<double>(kFrame) / rate_};
            free_at_ = std::max(free_at_, now_) + std::chrono::duration_cast<Duration>(takes);
            receipts_.push_back(free_at_ + round_trip_);
            count();
        }
    }
    void count() { unwritten_ -= window_.count_written() * kFrame; }

    double rate_;
    const Duration round_trip_;
    LinkWindow window_;
    Time now_{1h};
    Time free_at_{};  ///< when the queue is empty
    std::deque<Time> receipts_;
    std::size_t unwritten_ = 0;
    std::uint64_t confirmed_ = 0;
    bool is_resting_ = false;
};

TEST_CASE("a long and fast path is filled, and only the window waits in front of it", "[net]") {
    const double rate = GENERATE(2.5e6, 12.5e6, 25e6);  // 20, 100, 200 Mbit/s
    const Duration round_trip = GENERATE(1ms, 30ms, 100ms, 250ms);
    CAPTURE(rate, round_trip.count());
    Path path(rate, round_trip);
    path.run(5s);
    const std::uint64_t before = path.confirmed();
    for (int i = 0; i < 50; ++i) {
        path.run(100ms);
        CHECK(path.queued() <= kWindow + 2 * kFrame);
    }
    CHECK(static_cast<double>(path.confirmed() - before) >= 0.95 * 5 * rate);
}

TEST_CASE("the bytes in flight are bounded, however much a path could hold", "[net]") {
    Path path(1e9, 250ms);
    path.run(20s);
    const std::uint64_t before = path.confirmed();
    path.run(5s);
    const double a_round_trip = static_cast<double>(path.confirmed() - before) / 20;
    CHECK(a_round_trip >= 0.9 * (kMax + kWindow));
    CHECK(a_round_trip <= kMax + kWindow + 2 * kFrame);
}

TEST_CASE("fewer bytes are in flight on a path that gets slower or was idle", "[net]") {
    Path path(25e6, 100ms);
    path.run(5s);
    path.set_rate(2.5e6);
    path.run(2s);
    CHECK(path.queued() <= kWindow + 2 * kFrame);
    path.set_rate(25e6);
    path.run(5s);
    path.rest(1s);
    path.set_rate(2.5e6);
    path.run(10ms);
    CHECK(path.queued() <= kWindow);
}

TEST_CASE("a receiver that delays its receipts has a bounded queue in flight", "[net]") {
    Path path(2.5e6, 4s);
    path.run(60s);
    const std::uint64_t before = path.confirmed();
    path.run(40s);
    const double a_round_trip = static_cast<double>(path.confirmed() - before) / 10;
    CHECK(a_round_trip <= 1.1 * kWindow + 2 * kFrame);
}

/// A driver that keeps two small chunks waiting, a link, and flows that carry a frame each at a
/// time. A part of the frames is lost and sent again, and a frame is confirmed after those before
/// it.
class Flows {
  public:
    static constexpr std::size_t kChunk = std::size_t{16} << 10;
    static constexpr double kRate = 80e3;  ///< bytes a second of each flow
    static constexpr Duration kRoundTrip = 200ms;

    Flows(std::size_t flows, double loss) : loss_(loss), free_at_(flows, now_) {
        window_.set_flows(flows);
    }

    /// Returns the confirmed bytes.
    std::size_t run(Duration time) {
        std::size_t confirmed = 0;
        for (const Time end = now_ + time; now_ < end; now_ += 1ms) {
            for (; unwritten_ < 2; ++unwritten_, ++waiting_) window_.queue(now_, kChunk);
            for (Time& free_at : free_at_) {
                if (waiting_ == 0 || free_at > now_) continue;
                --waiting_;
                window_.take(now_, 1);
                free_at = now_ + std::chrono::duration_cast<Duration>(
                                     std::chrono::duration<double>{kChunk / kRate});
                const auto late = random_.uniform() < loss_ ? kRoundTrip : Duration{0};
                last_ = std::max(last_, free_at + kRoundTrip + late);
                receipts_.push_back(last_);
            }
            for (; !receipts_.empty() && receipts_.front() <= now_; receipts_.pop_front()) {
                REQUIRE(window_.confirm(now_, 1));
                confirmed += kChunk;
            }
            unwritten_ -= window_.count_written();
        }
        return confirmed;
    }
    /// Frames that no flow has taken or that are not confirmed.
    std::size_t outstanding() const { return waiting_ + receipts_.size(); }

  private:
    const double loss_;
    Time now_{1h};
    std::vector<Time> free_at_;
    LinkWindow window_{kMax, kRoundTrip};
    Random random_{1};
    Time last_{};
    std::deque<Time> receipts_;
    std::size_t waiting_ = 0;
    std::size_t unwritten_ = 0;
};

TEST_CASE("several flows are kept busy, also where frames wait for lost ones", "[net]") {
    const double loss = GENERATE(0.0, 0.1, 0.3);
    CAPTURE(loss);
    Flows flows(4, loss);
    (void)flows.run(10s);
    CHECK(static_cast<double>(flows.run(60s)) >= 0.95 * 60 * 4 * Flows::kRate);
    // What is sent early lasts for three round trips, and each flow has a frame.
    const double early = 4 * Flows::kRate * 0.605 + 4 * Flows::kChunk;
    CHECK(static_cast<double>(flows.outstanding() * Flows::kChunk) <= early + 3 * Flows::kChunk);
}

TEST_CASE("small frames are written when they are taken, in send order", "[net]") {
    Time now{1h};
    LinkWindow window(kMax);
    window.queue(now, 10);
    CHECK(window.count_written() == 0);
    window.take(now, 1);
    CHECK(window.count_written() == 1);
    window.queue(now, kFrame);
    window.queue(now, 10);
    window.take(now, 2);
    CHECK(window.count_written() == 0);
    now += 10ms;
    REQUIRE(window.confirm(now, 1));
    CHECK(window.count_written() == 2);
    CHECK(window.count_written() == 0);
}

TEST_CASE("a receipt may come before its frame is reported as taken, but not before it is queued",
          "[net]") {
    const Time now{1h};
    LinkWindow window(kMax);
    CHECK_FALSE(window.confirm(now, 1));
    window.queue(now, kFrame);
    window.queue(now, kFrame);
    REQUIRE(window.confirm(now, 1));
    CHECK(window.count_written() == 0);
    window.take(now, 1);
    CHECK(window.count_written() == 1);
    CHECK_FALSE(window.confirm(now, 2));
    REQUIRE(window.confirm(now, 1));
    window.take(now, 1);
    CHECK(window.count_written() == 1);
    CHECK_FALSE(window.confirm(now, 1));
}

}  // namespace
}  // namespace dedloc::net
