// An evaluation is a row of dedloc_evaluation with the loss, one of dedloc_figure for each other
// figure, and one of dedloc_answer for each word that answers a masked sentence, so a new task
// needs no other table, and a query can select any figure by its name. A join repeats the
// evaluation for each of its figures, so one statement sees both as they were at one moment.
// Earlier versions had a column for each figure of ALBERT; what moves them is repeated from the
// beginning after a crash, because the columns are dropped last and at once.
#include "project_server/database/evaluations.hpp"

#include <fmt/format.h>

#include <array>

namespace dedloc::server {
namespace {

/// Columns of dedloc_evaluation in earlier versions.
constexpr std::array<const char*, 4> kFormerColumns{"masked_loss", "order_loss", "masked_accuracy",
                                                    "order_accuracy"};

formats::MeasuredFigure figure_in(const Row& row) {
    formats::MeasuredFigure figure{.name = row.text("name"), .value = row.real("value")};
    if (!row.is_null("error")) figure.error = row.real("error");
    return figure;
}

/// Replaces the figures of an evaluation that is written in the same transaction.
void write_figures(Database& database, std::int64_t run, const EvaluationRow& row) {
    database.execute("delete from dedloc_figure where runid = ? and step = ?", {run, row.step});
    for (const formats::MeasuredFigure& figure : row.figures) {
        const Parameter error = figure.error ? Parameter{*figure.error} : Parameter{nullptr};
        database.execute(
            "insert into dedloc_figure (runid, step, name, value, error) values (?, ?, ?, ?, ?)",
            {run, row.step, figure.name, figure.value, error});
    }
}

/// Replaces the answers of an evaluation that is written in the same transaction.
void write_answers(Database& database, std::int64_t run, const EvaluationRow& row) {
    database.execute("delete from dedloc_answer where runid = ? and step = ?", {run, row.step});
    std::int64_t sentence = 0;
    for (const MaskedAnswer& answer : row.answers) {
        std::int64_t choice = 0;
        for (const AnsweredWord& word : answer.words) {
            database.execute(
                "insert into dedloc_answer (runid, step, sentence, choice, before_mask, "
                "after_mask, wanted, word, probability) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                {run, row.step, sentence, ++choice, answer.before, answer.after, answer.wanted,
                 word.word, word.probability});
        }
        ++sentence;
    }
}

}  // namespace

std::vector<EvaluationRow> read_evaluations(Database& database, std::int64_t run) {
    std::vector<EvaluationRow> rows;
    for (const Row& row : database.query(
             "select e.step, e.loss, e.loss_error, e.samples, e.seconds, e.digest, f.name, "
             "f.value, f.error from dedloc_evaluation e left join dedloc_step s on "
             "s.runid = e.runid and s.step = e.step left join dedloc_figure f on "
             "f.runid = e.runid and f.step = e.step where e.runid = ? and "
             "(e.step = 0 or s.digest = e.digest) order by e.step, f.name",
             {run})) {
        const auto step = static_cast<std::uint64_t>(row.integer("step"));
        if (rows.empty() || rows.back().step != step) {
            rows.push_back({.step = step,
                            .loss = row.real("loss"),
                            .loss_error = row.real("loss_error"),
                            .samples = static_cast<std::uint64_t>(row.integer("samples")),
                            .seconds = row.real("seconds"),
                            .digest = row.text("digest")});
        }
        if (!row.is_null("name")) rows.back().figures.push_back(figure_in(row));
    }
    return rows;
}

std::vector<std::vector<formats::MeasuredFigure>> read_figures(
    Database& database, const std::vector<std::pair<std::int64_t, std::uint64_t>>& places) {
    std::vector<std::vector<formats::MeasuredFigure>> all;
    if (places.empty()) return all;
    Batch batch{database};
    for (const auto& [run, step] : places) {
        batch.add(
            "select name, value, error from dedloc_figure where runid = ? and step = ? "
            "order by name",
            {run, step});
    }
    for (const Outcome& outcome : batch.run()) {
        auto& figures = all.emplace_back();
        for (const Row& row : outcome.rows) figures.push_back(figure_in(row));
    }
    return all;
}

std::vector<std::vector<MaskedAnswer>> read_answers(Database& database, std::int64_t run,
                                                    const std::vector<std::uint64_t>& steps) {
    std::vector<std::vector<MaskedAnswer>> all;
    if (steps.empty()) return all;
    Batch batch{database};
    for (const std::uint64_t step : steps) {
        batch.add(
            "select choice, before_mask, after_mask, wanted, word, probability from dedloc_answer "
            "where runid = ? and step = ? order by sentence, choice",
            {run, step});
    }
    for (const Outcome& outcome : batch.run()) {
        auto& answers = all.emplace_back();
        for (const Row& row : outcome.rows) {
            if (row.integer("choice") == 1) {
                answers.push_back({.before = row.text("before_mask"),
                                   .after = row.text("after_mask"),
                                   .wanted = row.text("wanted"),
                                   .words = {}});
            }
            if (answers.empty()) continue;  // the first word is missing: not written by us
            answers.back().words.push_back({row.text("word"), row.real("probability")});
        }
    }
    return all;
}

bool write_evaluation(Database& database, std::int64_t run, const EvaluationRow& row) {
    // The row of the run stands for step 0, that of the step for all others.
    const std::string source = row.step == 0
                                   ? "dedloc_run where id = ? and 0 = ? and ? <> ''"
                                   : "dedloc_step where runid = ? and step = ? and digest = ?";
    return in_transaction(database, [&] {
        const bool is_valid =
            database.execute(
                "insert into dedloc_evaluation (runid, step, loss, loss_error, samples, seconds, "
                "digest, evaluated_at) select ?, ?, ?, ?, ?, ?, ?, ? from " +
                    source +
                    " on duplicate key update loss = values(loss), "
                    "loss_error = values(loss_error), samples = values(samples), "
                    "seconds = values(seconds), digest = values(digest), "
                    "evaluated_at = values(evaluated_at)",
                {run, row.step, row.loss, row.loss_error, row.samples, row.seconds, row.digest,
                 unix_now(), run, row.step, row.digest}) > 0;
        if (is_valid) write_figures(database, run, row);
        if (is_valid) write_answers(database, run, row);
        return is_valid;
    });
}

std::optional<std::string> move_former_figures(Database& database) {
    const auto found = database.query_one(
        "select count(*) as n from information_schema.columns where table_schema = database() and "
        "table_name = 'dedloc_evaluation' and column_name = ?",
        {kFormerColumns.front()});
    if (found->integer("n") == 0) return std::nullopt;
    std::string drops;
    for (const char* const name : kFormerColumns) {
        database.execute(
            fmt::format("insert ignore into dedloc_figure (runid, step, name, value) "
                        "select runid, step, '{0}', {0} from dedloc_evaluation",
                        name));
        drops += fmt::format("{}drop column {}", drops.empty() ? "" : ", ", name);
    }
    database.execute("alter table dedloc_evaluation " + drops);
    return "the figures of dedloc_evaluation were moved to dedloc_figure";
}

}  // namespace dedloc::server
