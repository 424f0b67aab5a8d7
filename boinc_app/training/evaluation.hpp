// The quality of a state on held-out data: its loss, and the other figures of its task by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/base/random.hpp"
#include "peer/formats/figures.hpp"

namespace dedloc::training {

/// Whose samples of step 0 an evaluation measures: a key of all ones, which no peer has, because
/// these bytes are no Ed25519 key.
PeerKey evaluation_peer();

/// The generator of a run's evaluation samples.
Random evaluation_random(std::uint64_t run_seed);

/// Number of samples unless another one is chosen. The standard error of the sentence order's
/// accuracy is then at most 1.6 %; that of the loss of the demo's untrained model was 0.003 nats
/// (dedloc-evaluate --initial).
inline constexpr std::uint64_t kUsualSamples = 1'024;
/// The most samples that may be chosen.
inline constexpr std::uint64_t kMaxSamples = 1'000'000;

/// A ratio of two sums over samples, and how exactly it is known.
struct Estimate {
    double value = 0;  ///< Σ a ÷ Σ b
    /// Standard error: with other samples of the same text the value would differ by about this.
    /// √(n ÷ (n − 1) · Σ (a − value · b)²) ÷ Σ b; with b = 1 the standard deviation ÷ √n. 0 for one
    /// sample.
    double error = 0;
    bool operator==(const Estimate&) const = default;
};

/// Σ above ÷ Σ below. Requires one of each for each sample, at least one (DEDLOC_CHECK).
Estimate ratio_of(std::span<const double> above, std::span<const double> below);
/// The mean of independent values: samples, or equally large batches. Requires at least one
/// (DEDLOC_CHECK).
Estimate mean_of(std::span<const double> values);

/// A figure beside the loss.
struct Figure {
    std::string name;   ///< that of its kind (peer/formats/figures.hpp)
    Estimate estimate;  ///< its value
    bool operator==(const Figure&) const = default;
};

/// A number of things that the samples have.
struct Count {
    std::string name;         ///< for programs: "masked_tokens"
    std::uint64_t value = 0;  ///< their number
    bool operator==(const Count&) const = default;
};

/// A state, measured.
struct Evaluation {
    Estimate loss;                  ///< what training minimises
    std::vector<Figure> figures{};  ///< the others of the task, in the order of figures_of()
    std::uint64_t samples = 0;      ///< number of samples
    std::vector<Count> counts{};    ///< for reports by hand
    bool operator==(const Evaluation&) const = default;
};

/// The finite figures, for whatever stores them.
std::vector<formats::MeasuredFigure> measured_figures(const Evaluation& evaluation);
/// The figures in one line, for logs, with the words of the run's task.
std::string figures_line(const Evaluation& evaluation, std::string_view architecture);

}  // namespace dedloc::training
