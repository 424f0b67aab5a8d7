// Frames are reported strictly in send order, so count_written() stops at the first large frame
// that is neither confirmed nor within the path's estimated capacity. A receipt may arrive before
// take() is called for its frame: the counters of large frames keep the two in step. The path's
// capacity is recomputed at each receipt, from the last frame that it confirms.
#include "peer/net/session/link_window.hpp"

#include <algorithm>

#include "peer/base/check.hpp"
#include "peer/net/session/link_frame.hpp"

namespace dedloc::net {

LinkWindow::LinkWindow(std::size_t max_early, Duration round_trip)
    : max_early_(max_early), round_trip_(std::min<Duration>(round_trip, kMaxRoundTrip)) {}

void LinkWindow::queue(Time now, std::size_t bytes) {
    unwritten_.push_back(bytes);
    if (!is_large(bytes)) return;
    if (flights_.empty() && now - confirmed_at_ > round_trip_) path_holds_ = 0;
    flights_.push_back({.bytes = bytes});
}

void LinkWindow::take(Time now, std::size_t frames) {
    DEDLOC_CHECK(taken_ + frames <= unwritten_.size(), "more frames were taken than queued",
                 frames);
    for (; frames > 0; --frames) {
        if (!is_large(unwritten_[taken_++])) continue;
        const std::uint64_t number = large_taken_++;
        if (number < large_confirmed_) continue;  // its receipt has come already
        Flight& flight = flights_[number - large_confirmed_];
        flight.is_taken = true;
        flight.taken_at = now;
        flight.confirmed_before = confirmed_bytes_;
    }
}

bool LinkWindow::confirm(Time now, std::size_t frames) {
    if (frames > flights_.size()) return false;
    Flight last;
    for (; frames > 0; --frames) {
        last = flights_.front();
        flights_.pop_front();
        confirmed_bytes_ += last.bytes;
        if (large_confirmed_++ < large_written_) early_ -= last.bytes;
    }
    confirmed_at_ = now;
    if (!last.is_taken) return true;
    const Duration took = std::max(now - last.taken_at, Duration{1});
    round_trip_ = std::min(round_trip_, took);
    const auto delivered = static_cast<double>(confirmed_bytes_ - last.confirmed_before);
    const Duration ahead = (flows_ > 1 ? kFlowRoundTrips : 1) * round_trip_ + kOtherWork;
    const double part = static_cast<double>(ahead.count()) / static_cast<double>(took.count());
    path_holds_ = std::min(max_early_, static_cast<std::size_t>(delivered * part));
    return true;
}

/// Whether fewer frames than the link has flows were reported early; false if it has one flow.
bool LinkWindow::has_free_flow() const {
    return flows_ > 1 && large_written_ - large_confirmed_ < flows_;
}

std::size_t LinkWindow::count_written() {
    std::size_t count = 0;
    for (; taken_ > 0; --taken_, ++count) {
        const std::size_t bytes = unwritten_.front();
        if (is_large(bytes)) {
            const bool is_confirmed = large_written_ < large_confirmed_;
            if (!is_confirmed && early_ >= path_holds_ && !has_free_flow()) break;
            if (!is_confirmed) early_ += bytes;
            ++large_written_;
        }
        unwritten_.pop_front();
    }
    return count;
}

}  // namespace dedloc::net
