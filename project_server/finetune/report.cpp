// Table, JSON and card are made from the same columns. A section of a card stands between two
// comments that name its task, so a later one takes its place. Names come from command lines and
// files, so Markdown in them is escaped.
#include "project_server/finetune/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "peer/base/check.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::finetune {
namespace {

/// A figure of the table.
struct Column {
    const char* name;   ///< in JSON
    const char* label;  ///< in tables
    bool is_share;      ///< shown in percent
    double (*value)(const TuningResult& result);
};

const std::vector<Column>& columns_of(Task task) {
    static const std::vector<Column> names{
        {"f1", "F1", true, [](const auto& x) { return x.test.spans.f1(); }},
        {"precision", "precision", true, [](const auto& x) { return x.test.spans.precision(); }},
        {"recall", "recall", true, [](const auto& x) { return x.test.spans.recall(); }},
        {"accuracy", "words right", true, [](const auto& x) { return x.test.accuracy; }},
        {"test_loss", "test loss", false, [](const auto& x) { return x.test.loss; }},
    };
    static const std::vector<Column> classes{
        {"accuracy", "accuracy", true, [](const auto& x) { return x.test.accuracy; }},
        {"test_loss", "test loss", false, [](const auto& x) { return x.test.loss; }},
    };
    return task == Task::kNames ? names : classes;
}

const char* name_of(Task task) {
    return task == Task::kNames ? "ner" : "classify";
}
const char* examples_of(Task task) {
    return task == Task::kNames ? "sentences" : "texts";
}

Spread spread_of(const ModelResults& model, const Column& column) {
    std::vector<double> values;
    for (const SeedResult& seed : model.seeds) values.push_back(column.value(seed.result));
    return finetune::spread_of(values);
}

/// "41.25 ± 0.53 %", "1.2345 ± 0.0100"; without deviation for one seed.
std::string spread_text(const Spread& spread, const Column& column, bool has_deviation) {
    const double factor = column.is_share ? 100 : 1;
    const int digits = column.is_share ? 2 : 4;
    std::string text = fmt::format("{:.{}f}", spread.mean * factor, digits);
    if (has_deviation) text += fmt::format(" ± {:.{}f}", spread.deviation * factor, digits);
    return text + (column.is_share ? " %" : "");
}

/// The cells of a table, its first row the names of columns.
std::vector<std::vector<std::string>> cells_of(const TuningReport& report) {
    const auto& columns = columns_of(report.task);
    std::vector<std::vector<std::string>> rows{{"model", "seeds"}};
    for (const Column& column : columns) rows[0].emplace_back(column.label);
    rows[0].emplace_back("best epoch");
    for (const ModelResults& model : report.models) {
        auto& row = rows.emplace_back();
        row.push_back(model.name);
        row.push_back(fmt::format("{}", model.seeds.size()));
        for (const Column& column : columns) {
            row.push_back(spread_text(spread_of(model, column), column, model.seeds.size() > 1));
        }
        std::string epochs;
        for (const SeedResult& seed : model.seeds) {
            epochs += fmt::format("{}{}/{}", epochs.empty() ? "" : ", ", seed.result.best_epoch,
                                  seed.result.epochs);
        }
        row.push_back(std::move(epochs));
    }
    return rows;
}

/// Characters of a text in UTF-8.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

/// A cell of a Markdown table: names come from command lines.
std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (std::string_view{"\\`*_{}[]<>()#+!|&~$"}.find(c) != std::string_view::npos) {
            result += '\\';
        }
        const bool is_control = static_cast<unsigned char>(c) < 0x20;
        result += is_control ? ' ' : c;
    }
    return result;
}

std::string protocol_text(const TuningReport& report) {
    const Protocol& how = report.protocol;
    return fmt::format(
        "learning rate {} falling to 0, batches of {}, at most {} epochs, early stop after {} "
        "epochs without a gain of {} in validation loss, at most {} tokens",
        how.learning_rate, how.batch, how.epochs, how.patience, how.threshold, how.max_tokens);
}

std::string begin_mark(Task task) {
    return fmt::format("<!-- fine-tuned: {} -->\n", name_of(task));
}
std::string end_mark(Task task) {
    return fmt::format("<!-- end of fine-tuned: {} -->\n", name_of(task));
}

}  // namespace

Spread spread_of(std::span<const double> values) {
    DEDLOC_CHECK(!values.empty(), "a mean needs a value");
    Spread spread;
    for (const double x : values) spread.mean += x;
    spread.mean /= static_cast<double>(values.size());
    if (values.size() == 1) return spread;
    for (const double x : values) {
        spread.deviation += (x - spread.mean) * (x - spread.mean);
    }
    spread.deviation = std::sqrt(spread.deviation / static_cast<double>(values.size() - 1));
    return spread;
}

std::string report_text(const TuningReport& report) {
    const auto rows = cells_of(report);
    std::vector<std::size_t> widths(rows[0].size());
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], width_of(row[i]));
        }
    }
    std::string text = fmt::format(
        "{} on {}: {} {} to train on, {} to choose the epoch, {} to test, {} labels\n{}\n\n",
        name_of(report.task), report.data, report.train, examples_of(report.task), report.valid,
        report.test, report.labels, protocol_text(report));
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i];
            if (i + 1 < row.size()) line.append(widths[i] - width_of(row[i]) + 2, ' ');
        }
        text += line + '\n';
    }
    if (report.task == Task::kNames) {
        text += "\nF1, precision and recall of whole names, as seqeval; ";
        if (report.unmeasured > 0) {
            text += fmt::format("{} words of the test data are beyond the longest row; ",
                                report.unmeasured);
        }
    } else {
        text += "\n";
    }
    return text + "± is the deviation of a sample of seeds\n";
}

std::string report_json(const TuningReport& report) {
    const Protocol& how = report.protocol;
    json::Value protocol;
    protocol.set("learning_rate", how.learning_rate)
        .set("weight_decay", how.weight_decay)
        .set("batch", how.batch)
        .set("epochs", how.epochs)
        .set("patience", how.patience)
        .set("threshold", how.threshold)
        .set("max_tokens", how.max_tokens);
    json::Value::List models;
    for (const ModelResults& model : report.models) {
        json::Value data;
        data.set("name", model.name);
        for (const Column& column : columns_of(report.task)) {
            const Spread spread = spread_of(model, column);
            data.set(column.name, spread.mean);
            data.set(std::string{column.name} + "_deviation", spread.deviation);
        }
        json::Value::List seeds;
        for (const SeedResult& seed : model.seeds) {
            json::Value one;
            one.set("seed", seed.seed)
                .set("epochs", seed.result.epochs)
                .set("best_epoch", seed.result.best_epoch)
                .set("first_loss", seed.result.first_loss)
                .set("valid_loss", seed.result.valid_loss);
            for (const Column& column : columns_of(report.task)) {
                one.set(column.name, column.value(seed.result));
            }
            seeds.push_back(std::move(one));
        }
        models.push_back(std::move(data.set("seeds", std::move(seeds))));
    }
    json::Value data;
    data.set("task", name_of(report.task))
        .set("data", report.data)
        .set("protocol", std::move(protocol))
        .set("train", report.train)
        .set("valid", report.valid)
        .set("test", report.test)
        .set("labels", report.labels)
        .set("unmeasured_words", report.unmeasured)
        .set("models", std::move(models));
    return json::write(data);
}

std::string card_section(const TuningReport& report) {
    std::string text =
        begin_mark(report.task) +
        fmt::format(
            "\n## Fine-tuned: {}\n\nDeDLOC's protocol: {}. Data: {}, {} {} to train on, {} "
            "to choose the epoch, {} to test, {} labels.\n\n",
            report.task == Task::kNames ? "names in a text" : "classes of texts",
            protocol_text(report),
            escaped(std::string_view{report.data}.substr(report.data.rfind('/') + 1)), report.train,
            examples_of(report.task), report.valid, report.test, report.labels);
    const auto rows = cells_of(report);
    for (std::size_t r = 0; r < rows.size(); ++r) {
        text += '|';
        for (const std::string& cell : rows[r]) text += fmt::format(" {} |", escaped(cell));
        text += '\n';
        if (r > 0) continue;
        text += '|';
        for (std::size_t i = 0; i < rows[r].size(); ++i) text += "---|";
        text += '\n';
    }
    if (report.task == Task::kNames) {
        text += "\nF1, precision and recall of whole names, as seqeval computes them.\n";
    }
    return text + "\n" + end_mark(report.task);
}

std::string card_with_section(std::string card, const TuningReport& report) {
    const std::string begin = begin_mark(report.task), end = end_mark(report.task);
    const std::size_t first = card.find(begin);
    const std::size_t last = first == std::string::npos ? first : card.find(end, first);
    if (last == std::string::npos) {
        if (!card.empty() && !card.ends_with('\n')) card += '\n';
        return card + '\n' + card_section(report);
    }
    return card.replace(first, last + end.size() - first, card_section(report));
}

}  // namespace dedloc::finetune
