// Both classes keep a queue that begins with the first frame that is missing, so a number less the
// number of that frame is its place. Differences are modulo 2³².
#include "peer/net/session/frame_order.hpp"

#include <utility>

namespace dedloc::net {

bool ReceivedFrames::take(std::uint32_t number, SharedBytes frame) {
    const std::size_t place = number - expected_;
    if (place < arrived_.size() && arrived_[place]) return false;
    const std::size_t places = place < arrived_.size() ? 0 : place + 1 - arrived_.size();
    const std::size_t limit = place == 0 ? limit_ + frame->size() + kOverhead : limit_;
    if (places > limit / kOverhead) return false;
    if (bytes_ + places * kOverhead + frame->size() > limit) return false;
    arrived_.resize(arrived_.size() + places);
    bytes_ += places * kOverhead + frame->size();
    arrived_[place] = std::move(frame);
    return true;
}

SharedBytes ReceivedFrames::next() {
    if (arrived_.empty() || !arrived_.front()) return nullptr;
    SharedBytes frame = std::move(arrived_.front());
    arrived_.pop_front();
    bytes_ -= frame->size() + kOverhead;
    ++expected_;
    return frame;
}

std::size_t SentFrames::take(std::uint32_t number) {
    const std::size_t place = number - first_;
    if (place >= is_taken_.size()) is_taken_.resize(place + 1);
    is_taken_[place] = true;
    std::size_t count = 0;
    for (; !is_taken_.empty() && is_taken_.front(); ++count) is_taken_.pop_front();
    first_ += static_cast<std::uint32_t>(count);
    return count;
}

}  // namespace dedloc::net
