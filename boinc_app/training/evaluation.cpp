#include "boinc_app/training/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "peer/base/check.hpp"

namespace dedloc::training {

const Estimate& figure_of(const Evaluation& evaluation, std::string_view name) {
    const auto found = std::ranges::find(evaluation.figures, name, &Figure::name);
    DEDLOC_CHECK(found != evaluation.figures.end(), "no such figure was measured", name);
    return found->estimate;
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
