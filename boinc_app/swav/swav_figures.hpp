// What tells whether a SwAV learns or has collapsed, over one or more micro-batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dedloc::swav {

/// Sums over micro-batches; figures follow from them. A collapsed network has a gain of 0 and
/// equal projections.
struct SwavFigures {
    std::uint64_t pictures = 0;       ///< M, added up
    double loss_sum = 0;              ///< Σ of the pictures' losses, in nats
    std::uint64_t assigned = 0;       ///< crops that were assigned
    std::vector<double> assignments;  ///< sum of their assignments, by prototype
    std::vector<std::uint64_t> hits;  ///< crops whose assignment is largest at a prototype
    std::uint64_t predicted = 0;      ///< crops of all sizes
    std::vector<double> predictions;  ///< sum of softmax(z · prototypes ÷ τ), by prototype
    std::vector<double> projections;  ///< sum of z, by dimension
    std::vector<double> squares;      ///< sum of z², by dimension

    /// Adds those of other micro-batches of the same task.
    void merge(const SwavFigures& other);

    // Each requires a micro-batch.
    /// Mean loss of a picture, in nats.
    double loss() const;
    /// ln K − loss: 0 if crops say nothing about each other.
    double gain() const;
    /// Entropy of the mean assignment, in nats, at most ln K. Sinkhorn's algorithm makes it large,
    /// so it falls only if micro-batches are small.
    double assignment_entropy() const;
    /// Entropy of the mean prediction, in nats, at most ln K. It falls if the network prefers some
    /// prototypes.
    double prediction_entropy() const;
    /// An entropy as a share of ln K.
    double share(double entropy) const;
    /// Prototypes that are the largest assignment of a crop.
    std::size_t used_prototypes() const;
    /// Standard deviation of z over all crops, mean over its D dimensions: at most 1 ÷ √D.
    double deviation() const;
};

}  // namespace dedloc::swav
