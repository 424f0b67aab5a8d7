// What features are worth: classifiers on frozen features of pictures whose classes are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "boinc_app/training/computation.hpp"
#include "peer/base/bytes.hpp"

namespace dedloc::swav {

/// Features of pictures with their classes.
struct LabelledFeatures {
    std::size_t width = 0;                ///< F
    FloatVector values{};                 ///< [n, F]
    std::vector<std::uint16_t> labels{};  ///< n numbers of classes, from 0 on

    /// n, the number of pictures.
    std::size_t count() const { return labels.size(); }
};

/// How many pictures a classifier gets right.
struct Accuracy {
    std::uint64_t hits = 0;   ///< pictures whose class it gives
    std::uint64_t count = 0;  ///< pictures

    /// p, the share of hits. Requires a picture.
    double share() const;
    /// Its standard error √(p (1 − p) ÷ n): other pictures of the same kind would give another one.
    double error() const;
    bool operator==(const Accuracy&) const = default;
};

/// Arguments of knn_accuracy().
struct NeighbourOptions {
    std::uint64_t neighbours = 200;  ///< k; at most the mean number of pictures of a class
    double temperature = 0.1;        ///< their weights'
};

/// The weighted vote of the nearest neighbours.
///
///     score of a class = Σ exp(cosine ÷ temperature) over those of the k nearest with this class
///
/// Shapes    both [n, F] with the same F; `known` has at least one picture
/// Order     of equal cosines the first picture is nearer; of equal scores the first class wins;
///           features that are not finite are the farthest
/// Promise   equal arguments, threads and machine give the same figure. Nothing when interrupted.
/// Cost      2 · known · tested · F operations, and sorting     Memory  a copy of both, 256 rows of
///           cosines
/// Source    Wu et al., "Unsupervised Feature Learning via Non-Parametric Instance Discrimination"
///           (arXiv 1805.01978); k and temperature as in lightly's benchmarks
std::optional<Accuracy> knn_accuracy(const LabelledFeatures& known, const LabelledFeatures& tested,
                                     const NeighbourOptions& options = {},
                                     const training::IsInterrupted& is_interrupted = {});

/// Arguments of fit_linear(): those of facebookresearch/swav eval_linear.
struct LinearOptions {
    std::uint64_t epochs = 100;  ///< passes over the pictures
    std::uint64_t batch = 256;   ///< pictures of an update; the last of an epoch may have fewer
    double learning_rate = 0.3;  ///< for 256 pictures; less in proportion if n is below `batch`
    double momentum = 0.9;       ///< SGD's
    double weight_decay = 1e-6;  ///< also for biases
    std::uint64_t seed = 0;      ///< decides on the order of the pictures
};

/// Scores of classes, linear in the features.
struct LinearClassifier {
    std::size_t classes = 0;  ///< C
    std::size_t width = 0;    ///< F
    FloatVector weight;       ///< [C, F]
    FloatVector bias;         ///< [C]
};

/// The order of `count` pictures in an epoch: a permutation that every machine draws alike.
std::vector<std::int64_t> epoch_order(std::uint64_t seed, std::uint64_t epoch, std::size_t count);

/// Softmax regression on features as they are, by SGD with momentum; the rate of an epoch falls to
/// 0 along a cosine. It has one class more than the largest label. Nothing when interrupted.
///
/// Requires  a picture (DEDLOC_CHECK)
/// Promise   as knn_accuracy()
/// Cost      6 · epochs · n · F · C operations      Memory  3 classifiers and a batch
/// Source    facebookresearch/swav, eval_linear.py; differs: no augmentation, so that features are
///           computed once, and weights start at 0 (there: normal, deviation 0.01)
std::optional<LinearClassifier> fit_linear(const LabelledFeatures& known,
                                           const LinearOptions& options = {},
                                           const training::IsInterrupted& is_interrupted = {});

/// How many pictures have the largest score at their class. Requires the same F (DEDLOC_CHECK).
/// Nothing when interrupted.
std::optional<Accuracy> accuracy_of(const LinearClassifier& classifier,
                                    const LabelledFeatures& tested,
                                    const training::IsInterrupted& is_interrupted = {});

}  // namespace dedloc::swav
