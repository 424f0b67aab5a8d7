#include "kernels/reduction.hpp"

namespace dedloc::kernels {
namespace {

double fold(std::array<double, kLanes>& lanes) {
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
        for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    }
    return lanes[0];
}

}  // namespace

void TreeSum::end_segment() {
    segments_[segment_ % kLanes] += fold(lanes_);
    ++segment_;
    lanes_.fill(0);
}

double TreeSum::total() {
    return fold(segments_);
}

}  // namespace dedloc::kernels
