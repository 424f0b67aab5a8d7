// A round's busy time is cut into windows of at least one second and 1 MiB. The first window is
// kept apart; the highest rate of the later ones is the round's peak, and the first one stands in
// for it in a short round.
#include "peer/progress/link_rate.hpp"

#include <algorithm>

#include "peer/base/check.hpp"

namespace dedloc::progress {
namespace {

/// Smallest window: long and large enough that one frame, or one filled socket buffer, does not
/// matter.
constexpr Duration kWindow = std::chrono::seconds{1};
constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 20;
/// Shortest time that counts: data that was sent faster may be in a buffer and not on the link.
constexpr Duration kMinTime = std::chrono::milliseconds{50};

}  // namespace

LinkRate::LinkRate(std::optional<Bandwidth> prior) : rate_(prior) {
    DEDLOC_CHECK(prior != Bandwidth{0}, "a known bandwidth is above 0");
}

void LinkRate::begin(TimePoint now) {
    if (is_busy_) return;
    is_busy_ = true;
    since_ = now;
}

void LinkRate::carried(TimePoint now, Bytes bytes) {
    if (!is_busy_) return;
    window_ += now - since_;
    since_ = now;
    bytes_ += bytes.value();
    if (window_ >= kWindow && bytes_ >= kWindowBytes) close_window();
}

void LinkRate::pause(TimePoint now) {
    if (!is_busy_) return;
    window_ += now - since_;
    is_busy_ = false;
}

void LinkRate::end(TimePoint now, Outcome outcome) {
    pause(now);
    // The round ended before its first window: all of it is one window.
    if (!first_ && bytes_ >= kWindowBytes) close_window();
    if (!peak_) peak_ = first_;
    if (!rate_) {
        rate_ = peak_;
    } else if (peak_) {
        const std::uint64_t peak = peak_->value();
        const std::uint64_t rate = rate_->value();
        std::uint64_t lowest = rate;
        if (outcome == Outcome::kLate) lowest = rate - rate / 4;
        if (outcome == Outcome::kCancelled) lowest = 0;
        rate_ = Bandwidth{peak > rate ? rate + (peak - rate) / 2 : std::max(peak, lowest)};
    }
    window_ = {};
    bytes_ = 0;
    first_.reset();
    peak_.reset();
}

void LinkRate::close_window() {
    const std::chrono::duration<double> took = std::max(window_, kMinTime);
    const auto rate =
        known_bandwidth(static_cast<std::uint64_t>(static_cast<double>(bytes_) / took.count()));
    if (!first_) {
        first_ = rate;
    } else {
        peak_ = std::max(peak_, rate);
    }
    window_ = {};
    bytes_ = 0;
}

}  // namespace dedloc::progress
