#include "boinc_app/training/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "boinc_app/training/task.hpp"
#include "peer/base/check.hpp"

namespace dedloc::training {

PeerKey evaluation_peer() {
    PeerKey no_peer;
    no_peer.bytes.fill(std::byte{0xff});
    return no_peer;
}

Random evaluation_random(std::uint64_t run_seed) {
    return step_random(run_seed, evaluation_peer(), StepIndex{0});
}

Estimate ratio_of(std::span<const double> above, std::span<const double> below) {
    DEDLOC_CHECK(!above.empty() && above.size() == below.size(), "a ratio needs pairs of terms",
                 above.size(), below.size());
    const double divisor = std::accumulate(below.begin(), below.end(), 0.0);
    Estimate estimate{.value = std::accumulate(above.begin(), above.end(), 0.0) / divisor};
    if (above.size() < 2) return estimate;
    double squares = 0;
    for (std::size_t i = 0; i < above.size(); ++i) {
        const double rest = above[i] - estimate.value * below[i];
        squares += rest * rest;
    }
    const auto count = static_cast<double>(above.size());
    estimate.error = std::sqrt(squares * count / (count - 1)) / divisor;
    return estimate;
}

Estimate mean_of(std::span<const double> values) {
    return ratio_of(values, std::vector<double>(values.size(), 1.0));
}

std::vector<formats::MeasuredFigure> measured_figures(const Evaluation& evaluation) {
    std::vector<formats::MeasuredFigure> figures;
    for (const auto& [name, estimate] : evaluation.figures) {
        if (!std::isfinite(estimate.value)) continue;
        formats::MeasuredFigure& figure = figures.emplace_back();
        figure.name = name;
        figure.value = estimate.value;
        if (std::isfinite(estimate.error)) figure.error = estimate.error;
    }
    return figures;
}

std::string figures_line(const Evaluation& evaluation, std::string_view architecture) {
    const std::string figures = formats::figures_text(architecture, measured_figures(evaluation),
                                                      formats::FigurePlace::kData);
    return fmt::format("held-out loss {:.4f} ± {:.4f}{}{}", evaluation.loss.value,
                       evaluation.loss.error, figures.empty() ? "" : "; ", figures);
}

}  // namespace dedloc::training
