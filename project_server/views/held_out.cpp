#include "project_server/views/held_out.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "peer/formats/task.hpp"
#include "project_server/views/answers.hpp"

namespace dedloc::server {
namespace {

/// Columns of the table of evaluations that every task has: update, loss, its error, samples.
constexpr std::size_t kPlainColumns = 4;

/// The losses of a row: of all samples, with an empty name, and of each source.
std::vector<formats::SourceLoss> losses_of(const EvaluationRow& row) {
    std::vector<formats::SourceLoss> losses{
        {.source = "", .loss = row.loss, .error = row.loss_error}};
    for (formats::SourceLoss& source : formats::source_losses(row.figures)) {
        losses.push_back(std::move(source));
    }
    return losses;
}

}  // namespace

json::Value figure_value(std::span<const formats::MeasuredFigure> figures, std::string_view name) {
    const auto* const figure = formats::find_figure(figures, name);
    return figure == nullptr ? json::Value{nullptr} : json::Value{figure->value};
}

json::Value held_out_data(const EvaluationRow& row, std::string_view architecture) {
    json::Value data;
    data.set("step", row.step).set("loss", row.loss).set("loss_error", row.loss_error);
    for (const auto& kind : formats::figures_of(architecture)) {
        data.set(kind.name, figure_value(row.figures, kind.name));
    }
    for (const auto& source : formats::source_losses(row.figures)) {
        data.set(formats::source_loss_name(source.source), source.loss);
    }
    data.set("samples", row.samples).set("seconds", row.seconds).set("digest", row.digest);
    if (!row.answers.empty()) data.set("answers", answer_list(row.answers));
    return data;
}

json::Value::List figure_list(std::string_view architecture,
                              std::span<const formats::MeasuredFigure> figures,
                              formats::FigurePlace place) {
    json::Value::List list;
    for (const auto& kind : formats::figures_of(architecture)) {
        if (kind.place < place) continue;
        const auto* const figure = formats::find_figure(figures, kind.name);
        json::Value item;
        item.set("name", kind.name)
            .set("label", formats::figure_heading(kind))
            .set("text", figure == nullptr ? "" : formats::figure_text(kind, figure->value));
        list.push_back(std::move(item));
    }
    return list;
}

json::Value::List source_list(std::string_view architecture,
                              std::span<const formats::SourceLoss> sources,
                              std::span<const formats::MeasuredFigure> figures) {
    json::Value::List list;
    for (const formats::SourceLoss& source : sources) {
        const std::string name = formats::source_loss_name(source.source);
        const auto* const figure = formats::find_figure(figures, name);
        json::Value item;
        item.set("name", name)
            .set("label", "Held-out loss of " + source.source)
            .set("text", figure == nullptr
                             ? ""
                             : formats::figure_text(formats::loss_of(architecture), figure->value));
        list.push_back(std::move(item));
    }
    return list;
}

json::Value::List loss_changes(std::span<const EvaluationRow> rows, std::uint64_t first) {
    json::Value::List list;
    if (rows.empty()) return list;
    const EvaluationRow& newest = rows.back();
    const auto since =
        std::ranges::find_if(rows, [first](const EvaluationRow& row) { return row.step >= first; });
    std::vector<formats::SourceLoss> former;
    if (since != rows.end() && since->step != newest.step) former = losses_of(*since);
    for (const formats::SourceLoss& now : losses_of(newest)) {
        const auto then = std::ranges::find(former, now.source, &formats::SourceLoss::source);
        const bool is_known = then != former.end();
        json::Value item;
        item.set("source", now.source)
            .set("step", newest.step)
            .set("loss", now.loss)
            .set("loss_error", now.error ? json::Value{*now.error} : json::Value{nullptr})
            .set("since_step", is_known ? json::Value{since->step} : json::Value{nullptr})
            .set("change", is_known ? json::Value{now.loss - then->loss} : json::Value{nullptr});
        list.push_back(std::move(item));
    }
    return list;
}

void add_figure_words(json::Value& data, std::string_view architecture, const EvaluationRow* last) {
    const std::span<const formats::MeasuredFigure> figures =
        last == nullptr ? std::span<const formats::MeasuredFigure>{} : last->figures;
    auto columns = figure_list(architecture, {}, formats::FigurePlace::kTable);
    auto headlines = figure_list(architecture, figures, formats::FigurePlace::kHeadline);
    const auto sources = formats::source_losses(figures);
    for (json::Value& item : source_list(architecture, sources, figures)) {
        columns.push_back(item);
        headlines.push_back(std::move(item));
    }
    const std::size_t count = columns.size() + kPlainColumns;
    data.set("measured_on", formats::data_of(architecture))
        .set("masks_words", architecture == formats::kAlbert)
        .set("headlines", std::move(headlines))
        .set("columns", std::move(columns))
        .set("column_count", count);
}

}  // namespace dedloc::server
