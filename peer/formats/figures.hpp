// The figures of each task: what is measured of a model on held-out data, with names for programs
// and words for people. All that stores or shows figures takes them from here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::formats {

/// Unit of a figure.
enum class FigureUnit : std::uint8_t {
    kShare,   ///< from 0 to 1, shown as percent
    kNats,    ///< natural logarithm of a ratio of probabilities
    kCount,   ///< a number of things
    kNumber,  ///< any other number
};

/// Where a figure is shown; each place has those of the later ones too.
enum class FigurePlace : std::uint8_t {
    kData,      ///< JSON, the database, reports by hand
    kTable,     ///< a column in the table of a run's evaluations
    kHeadline,  ///< the summary of a run, the list of runs, lines about progress
};

/// One figure of a task.
struct FigureKind {
    const char* name;       ///< for programs, unique in its task: at most 64 letters, digits and _
    const char* label;      ///< for people, as inside a sentence
    FigureUnit unit;        ///< the value and its standard error have it
    bool is_higher_better;  ///< the higher one of two values is better
    FigurePlace place;      ///< where it is shown
};

/// A figure of one state.
struct MeasuredFigure {
    std::string name;               ///< FigureKind::name
    double value = 0;               ///< in the unit of its kind, finite
    std::optional<double> error{};  ///< its standard error, if known
    bool operator==(const MeasuredFigure&) const = default;
};

/// The figures of a task beside its loss, in the order in which they are shown. None for an
/// architecture that is not listed, such as a module that a researcher brings.
std::span<const FigureKind> figures_of(std::string_view architecture);
/// The loss, which training minimises and every evaluation has.
FigureKind loss_of(std::string_view architecture);
/// A word for the data: "text", "pictures", or "data" for an architecture that is not listed.
const char* data_of(std::string_view architecture);

/// The figure of this name, or null. Cost: their number.
const MeasuredFigure* find_figure(std::span<const MeasuredFigure> figures, std::string_view name);

/// The name of the figure that is the held-out loss of a source of the run: "loss_of_" and the
/// source's name. A run with sources has them beside the figures of its task.
std::string source_loss_name(std::string_view source);
/// The held-out loss of a source.
struct SourceLoss {
    std::string source;             ///< its name
    double loss = 0;                ///< as the loss of the whole
    std::optional<double> error{};  ///< its standard error, if known
    bool operator==(const SourceLoss&) const = default;
};
/// Those among the figures, in their order.
std::vector<SourceLoss> source_losses(std::span<const MeasuredFigure> figures);

/// The number for people: "12.50 %", "6.2500", "1,234".
std::string figure_text(const FigureKind& kind, double value);
/// The label as a heading: its first letter is a capital, unless the word has one ("kNN").
std::string figure_heading(const FigureKind& kind);
/// "masked tokens right 12.50 %, sentence orders right 50.00 %": those of the figures that the task
/// shows at `place`. Empty if there are none.
std::string figures_text(std::string_view architecture, std::span<const MeasuredFigure> figures,
                         FigurePlace place);

}  // namespace dedloc::formats
