// SwAV on pictures: the network, the crops of a picture and the loss, as a run file names them.
// Sources: Caron et al., "Unsupervised Learning of Visual Features by Contrasting Cluster
// Assignments", arXiv 2006.09882; the settings of DeDLOC, arXiv 2106.10207, appendix.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace dedloc::formats {

/// The residual network that maps a picture to features.
struct ResNetSpec {
    /// Bottleneck blocks (1×1, 3×3, 1×1, whose output is four times as wide), else basic ones
    /// (3×3, 3×3). The stride is on the 3×3.
    bool has_bottlenecks = true;
    std::vector<std::uint64_t> blocks{3, 4, 6, 3};  ///< blocks of each stage, 1 to 4 stages
    /// Channels of the stem and of the first stage's 3×3; each later stage has twice as many.
    std::uint64_t width = 64;
    /// The stem is 3×3 with stride 1 and without max-pool, for small pictures; else 7×7 with stride
    /// 2 and a 3×3 max-pool.
    bool has_small_stem = false;
    bool operator==(const ResNetSpec&) const = default;
};

/// Crops of one size. They go through the network in one pass.
struct CropSpec {
    std::uint64_t size = 224;  ///< pixels of each side
    std::uint64_t count = 2;   ///< crops of a picture
    double min_area = 0.14;    ///< smallest part of the picture's area, above 0
    double max_area = 1.0;     ///< largest part, at most 1
    bool operator==(const CropSpec&) const = default;
};

/// Colours of a crop, in this order: flip, jitter, gray, blur, normalisation.
struct ColourSpec {
    double brightness = 0.8;  ///< factor from 1 − b to 1 + b, at least 0
    double contrast = 0.8;    ///< likewise
    double saturation = 0.8;  ///< likewise
    double hue = 0.2;         ///< shift in turns, from −h to h, at most 0.5
    double jitter = 0.8;      ///< probability of the four above, whose order is random
    double gray = 0.2;        ///< probability of a gray crop
    double blur = 0.5;        ///< probability of a Gaussian blur
    double min_radius = 0.1;  ///< its standard deviation in pixels, smallest
    double max_radius = 2.0;  ///< largest
    std::array<double, 3> mean{0.485, 0.456, 0.406};       ///< red, green, blue, in [0, 1]
    std::array<double, 3> deviation{0.229, 0.224, 0.225};  ///< likewise
    bool operator==(const ColourSpec&) const = default;
};

/// A SwAV task. Assignments are computed for the crops of the first size; they are at least two.
struct SwavSpec {
    ResNetSpec trunk;                ///< its features are averaged over the picture
    std::uint64_t hidden = 2'048;    ///< width of the projection's hidden layer; 0: one layer only
    std::uint64_t projection = 128;  ///< width of the projection, which is normalised
    std::uint64_t prototypes = 3'000;  ///< K, rows of unit length
    std::vector<CropSpec> crops{{}, {.size = 96, .count = 6, .min_area = 0.05, .max_area = 0.14}};
    ColourSpec colours;                 ///< the same for all sizes
    double temperature = 0.1;           ///< τ of the softmax
    double epsilon = 0.05;              ///< ε of Sinkhorn's algorithm
    std::uint64_t iterations = 3;       ///< its iterations
    std::uint64_t queue = 0;            ///< features that a trainer keeps for the assignments
    std::uint64_t queue_from_step = 0;  ///< the first step that uses them
    std::uint64_t frozen_steps = 0;     ///< first steps in which prototypes stay as they are
    /// Pictures of a micro-batch: Sinkhorn's algorithm and batch norm see so many at once. The loss
    /// of a micro-batch is this many times its mean over pictures.
    std::uint64_t micro_batch = 64;
    bool operator==(const SwavSpec&) const = default;
};

}  // namespace dedloc::formats
