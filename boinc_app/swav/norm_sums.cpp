#include "boinc_app/swav/norm_sums.hpp"

#include <algorithm>
#include <utility>

#include "peer/base/check.hpp"

namespace dedloc::swav {

void NormSums::append(Layer layer) {
    DEDLOC_CHECK(layer.sum.size() == layer.squares.size(), "sums and squares of other channels",
                 layer.sum.size(), layer.squares.size());
    layers_.push_back(std::move(layer));
}

void NormSums::merge(const NormSums& other) {
    if (layers_.empty()) {
        layers_ = other.layers_;
        return;
    }
    DEDLOC_CHECK(layers_.size() == other.layers_.size(), "sums of another network",
                 other.layers_.size());
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        Layer& layer = layers_[i];
        const Layer& more = other.layers_[i];
        DEDLOC_CHECK(layer.sum.size() == more.sum.size(), "sums of another network", i);
        layer.count += more.count;
        for (std::size_t channel = 0; channel < layer.sum.size(); ++channel) {
            layer.sum[channel] += more.sum[channel];
            layer.squares[channel] += more.squares[channel];
        }
    }
}

std::vector<NormStatistics> NormSums::statistics() const {
    std::vector<NormStatistics> all;
    for (const Layer& layer : layers_) {
        DEDLOC_CHECK(layer.count >= 1, "statistics of no values");
        const auto count = static_cast<double>(layer.count);
        NormStatistics statistics{.count = layer.count, .mean = {}, .variance = {}};
        for (std::size_t channel = 0; channel < layer.sum.size(); ++channel) {
            const double mean = layer.sum[channel] / count;
            statistics.mean.push_back(mean);
            // Rounding may make the difference negative if all values are equal.
            statistics.variance.push_back(
                std::max(0.0, layer.squares[channel] / count - mean * mean));
        }
        all.push_back(std::move(statistics));
    }
    return all;
}

}  // namespace dedloc::swav
