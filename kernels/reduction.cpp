#include "kernels/reduction.hpp"

namespace dedloc::kernels {

double fold(Lanes& lanes) {
    double* const sums = lanes.sums.data();
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
        for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    return sums[0];
}

}  // namespace dedloc::kernels
