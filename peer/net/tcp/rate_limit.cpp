// A turn may leave the balance below 0, since a read that has begun takes what has arrived; the
// next turn then comes later.
#include "peer/net/tcp/rate_limit.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace dedloc::net {

void RateLimit::set(std::optional<Bandwidth> rate) {
    if (rate == rate_) return;
    refill();
    rate_ = rate;
    if (!waiting_.empty()) wait_again();
}

void RateLimit::refill() {
    const auto now = Clock::now();
    const std::chrono::duration<double> time = now - std::exchange(filled_, now);
    if (!rate_) {
        balance_ = kBurst;
        return;
    }
    const double more = time.count() * static_cast<double>(rate_->value());
    balance_ = std::min(balance_ + more, static_cast<double>(kBurst));
}

std::size_t RateLimit::allowance() {
    if (!rate_) return std::numeric_limits<std::size_t>::max();
    refill();
    if (!waiting_.empty() || balance_ < kMin) return 0;
    return static_cast<std::size_t>(balance_);
}

void RateLimit::when_allowed(Turn turn) {
    waiting_.push_back(std::move(turn));
    if (waiting_.size() == 1) wait_again();
}

void RateLimit::spend(std::size_t bytes) {
    if (rate_) balance_ -= static_cast<double>(bytes);
}

void RateLimit::wait_again() {
    refill();
    std::chrono::duration<double> time{0};
    if (rate_ && balance_ < kMin) {
        time =
            std::chrono::duration<double>{(kMin - balance_) / static_cast<double>(rate_->value())};
    }
    // Rounded up, since an early timer would only wait again.
    timer_.expires_after(std::chrono::ceil<std::chrono::milliseconds>(time));
    timer_.async_wait([this](const error_code& error) {
        if (!error) serve();
    });
}

void RateLimit::serve() {
    refill();
    while (!waiting_.empty() && (!rate_ || balance_ >= kMin)) {
        const Turn turn = std::move(waiting_.front());
        waiting_.pop_front();
        turn(rate_ ? static_cast<std::size_t>(balance_) : std::numeric_limits<std::size_t>::max());
    }
    if (!waiting_.empty()) wait_again();
}

}  // namespace dedloc::net
