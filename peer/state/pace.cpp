// Rates are means: of the last steps, and of all leaves since begin() or interrupt(). The first
// leaf starts the clock and is not counted, since the time that it took is unknown.
#include "peer/state/pace.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace dedloc::state {
namespace {

constexpr std::size_t kSteps = 9;
/// Once leaves have been timed for so long, an average may take so many rounds at most.
struct Limit {
    Duration measured;
    double rounds;
};
constexpr Limit kLimits[] = {{std::chrono::seconds{2}, 1.6},
                             {std::chrono::milliseconds{3'500}, 1.25}};

}  // namespace

void Pace::decided(TimePoint now, StepIndex step) {
    if (!steps_.empty() && step <= steps_.back().step) return;
    steps_.push_back({now, step});
    if (steps_.size() > kSteps) steps_.pop_front();
}

void Pace::received(TimePoint now, std::uint64_t bytes) {
    last_leaf_ = now;
    bytes_ += bytes;
    if (first_leaf_ == kNever) {
        first_leaf_ = now;
    } else {
        timed_bytes_ += bytes;
    }
}

void Pace::begin() {
    interrupt();
    bytes_ = 0;
}

void Pace::interrupt() {
    first_leaf_ = last_leaf_ = kNever;
    timed_bytes_ = 0;
}

void Pace::told(const PeerKey& voter, Duration round) {
    if (round <= Duration{}) return;
    if (told_.size() < kMaxTold || told_.contains(voter)) told_[voter] = round;
}

Duration Pace::round() const {
    if (steps_.size() < 3) return {};
    const auto rounds = (steps_.back().step - steps_.front().step).value();
    return (steps_.back().at - steps_.front().at) / static_cast<Duration::rep>(rounds);
}

double Pace::round_seconds() const {
    if (steps_.size() >= 3 || told_.empty()) return seconds_of(round());
    std::vector<Duration> sorted;
    for (const auto& [voter, duration] : told_) sorted.push_back(duration);
    std::ranges::sort(sorted);
    return seconds_of(sorted[sorted.size() / 2]);
}

double Pace::bytes_per_second() const {
    if (first_leaf_ == kNever || last_leaf_ <= first_leaf_) return 0;
    return static_cast<double>(timed_bytes_) / seconds_of(last_leaf_ - first_leaf_);
}

bool Pace::is_hopeless() const {
    const double round = round_seconds();
    const double rate = bytes_per_second();
    if (round <= 0 || rate <= 0) return false;
    const double rounds = static_cast<double>(average_bytes_) / rate / round;
    return std::ranges::any_of(kLimits, [&](const Limit& limit) {
        return last_leaf_ - first_leaf_ >= limit.measured && rounds > limit.rounds;
    });
}

std::string Pace::text() const {
    const double round = round_seconds();
    const double rate = bytes_per_second();
    if (round <= 0 || rate <= 0) return {};
    char line[128];
    std::snprintf(line, sizeof line,
                  "receives %.1f Mbit/s, and following rounds of %.1f s takes %.1f Mbit/s",
                  rate * 8e-6, round, static_cast<double>(average_bytes_) / round * 8e-6);
    return line;
}

}  // namespace dedloc::state
