#include "boinc_app/training/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
