// Figures of a run on held-out data, with the names and words of its task.
#pragma once

#include <span>
#include <string_view>

#include "peer/formats/figures.hpp"
#include "project_server/database/evaluations.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::server {

/// {step, loss, loss_error, the task's figures by name, samples, seconds, digest}: the row, for
/// programs, and the answers if they are there (answer_list). A figure that was not measured is
/// null.
json::Value held_out_data(const EvaluationRow& row, std::string_view architecture);

/// The value of the figure of this name, null if it was not measured.
json::Value figure_value(std::span<const formats::MeasuredFigure> figures, std::string_view name);

/// [{name, label, text}]: the figures that the task shows at `place`, for people; `label` as a
/// heading. A figure that was not measured has no text.
json::Value::List figure_list(std::string_view architecture,
                              std::span<const formats::MeasuredFigure> figures,
                              formats::FigurePlace place);

/// [{name, label, text}]: the held-out losses of these sources, for people. One that is not among
/// the figures has no text.
json::Value::List source_list(std::string_view architecture,
                              std::span<const formats::SourceLoss> sources,
                              std::span<const formats::MeasuredFigure> figures);

/// [{source, step, loss, loss_error, since_step, change}]: held-out losses of the newest of the
/// rows, which ascend by step: first that of all samples, with an empty `source`, then that of each
/// source; and by how much each has changed since the first row that is not before step `first`.
/// An error that is not known is null; so are since_step and change without such an earlier row.
json::Value::List loss_changes(std::span<const EvaluationRow> rows, std::uint64_t first);

/// Adds what a run's page says of the figures of its task: measured_on, a word for the held-out
/// data; masks_words, whether the model can be asked for masked words; headlines and columns, the
/// figures of the summary and of the table of evaluations (figure_list, and the sources that `last`
/// has); column_count, of the whole table. `last`: the newest evaluation, null: none.
void add_figure_words(json::Value& data, std::string_view architecture, const EvaluationRow* last);

}  // namespace dedloc::server
