// A table of figures for each task; whatever is not in it has only a loss.
#include "peer/formats/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "peer/formats/task.hpp"

namespace dedloc::formats {
namespace {

using enum FigureUnit;
using enum FigurePlace;

constexpr std::array<FigureKind, 4> kAlbertFigures{{
    {"masked_loss", "loss of masked tokens", kNats, false, kData},
    {"order_loss", "loss of sentence orders", kNats, false, kData},
    {"masked_accuracy", "masked tokens right", kShare, true, kHeadline},
    {"order_accuracy", "sentence orders right", kShare, true, kHeadline},
}};

// K prototypes; "untrained" is the network with its first values, "uniform" an assignment that
// gives each prototype 1 / K, whose loss is ln K.
constexpr std::array<FigureKind, 9> kSwavFigures{{
    {"knn_accuracy", "kNN accuracy", kShare, true, kHeadline},
    {"linear_accuracy", "linear accuracy", kShare, true, kHeadline},
    {"untrained_knn_accuracy", "untrained kNN accuracy", kShare, true, kTable},
    {"untrained_linear_accuracy", "untrained linear accuracy", kShare, true, kTable},
    {"below_uniform", "loss below ln K", kNats, true, kTable},
    {"assignment_entropy", "entropy of the mean assignment", kShare, true, kTable},
    {"prediction_entropy", "entropy of the mean prediction", kShare, true, kData},
    {"prototypes_used", "prototypes in use", kCount, true, kTable},
    {"projection_deviation", "deviation of projections", kNumber, true, kData},
}};

constexpr std::string_view kSourceLoss = "loss_of_";

std::string with_commas(double value) {
    std::string digits = fmt::format("{:.0f}", value);
    const std::size_t first = digits.starts_with('-') ? 1 : 0;
    for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
    return digits;
}

bool is_small(char c) {
    return std::islower(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

std::span<const FigureKind> figures_of(std::string_view architecture) {
    if (architecture == kAlbert) return kAlbertFigures;
    if (architecture == kSwav) return kSwavFigures;
    return {};
}

FigureKind loss_of(std::string_view architecture) {
    const bool is_listed = !figures_of(architecture).empty();
    return {"loss", "loss", is_listed ? kNats : kNumber, false, kHeadline};
}

const char* data_of(std::string_view architecture) {
    if (architecture == kAlbert) return "text";
    return architecture == kSwav ? "pictures" : "data";
}

const MeasuredFigure* find_figure(std::span<const MeasuredFigure> figures, std::string_view name) {
    const auto found = std::ranges::find(figures, name, &MeasuredFigure::name);
    return found == figures.end() ? nullptr : &*found;
}

std::string source_loss_name(std::string_view source) {
    return std::string{kSourceLoss} + std::string{source};
}

std::vector<SourceLoss> source_losses(std::span<const MeasuredFigure> figures) {
    std::vector<SourceLoss> losses;
    for (const MeasuredFigure& figure : figures) {
        if (!figure.name.starts_with(kSourceLoss)) continue;
        losses.push_back({.source = figure.name.substr(kSourceLoss.size()),
                          .loss = figure.value,
                          .error = figure.error});
    }
    return losses;
}

std::string figure_text(const FigureKind& kind, double value) {
    if (kind.unit == kShare) return fmt::format("{:.2f} %", 100 * value);
    return kind.unit == kCount && std::isfinite(value) ? with_commas(value)
                                                       : fmt::format("{:.4f}", value);
}

std::string figure_heading(const FigureKind& kind) {
    std::string text = kind.label;
    const bool has_capital = text.size() < 2 || !(is_small(text[1]) || text[1] == ' ');
    if (!has_capital) {
        text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    }
    return text;
}

std::string figures_text(std::string_view architecture, std::span<const MeasuredFigure> figures,
                         FigurePlace place) {
    std::string text;
    for (const FigureKind& kind : figures_of(architecture)) {
        const MeasuredFigure* const figure = find_figure(figures, kind.name);
        if (figure == nullptr || kind.place < place) continue;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind.label,
                            figure_text(kind, figure->value));
    }
    return text;
}

}  // namespace dedloc::formats
