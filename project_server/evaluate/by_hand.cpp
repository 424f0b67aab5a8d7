// Everything that can be wrong with the files is found before the computation, which takes long:
// the run file, the held-out shards, the state, then its standing by the ledger if one is named.
// Nothing interrupts an evaluation by hand, so its figures are always there. Text and JSON are made
// from one HandReport.
#include "project_server/evaluate/by_hand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>
#include <vector>

#include "boinc_app/training/task.hpp"
#include "kernels/thread_workers.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/files.hpp"
#include "project_server/evaluate/state_evaluator.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::evaluate {
namespace {

using Clock = std::chrono::steady_clock;
using training::Estimate;

LoadedState load(const HandOptions& options, const formats::RunFile& run) {
    if (options.is_initial) return load_initial(run);
    if (!options.numbers.empty()) return load_numbers(options.numbers, run);
    const backbone::CheckpointFile file{options.checkpoint, formats::run_id(run)};
    return *load_checkpoint(file, options.checkpoint, run);
}

std::string state_text(const HandReport& report) {
    if (!report.state.step) return "a state without step and digest";
    return fmt::format("step {} of {}, state {}", report.state.step->value(), report.run.steps,
                       report.state.digest->hex());
}

/// "25.00 % ± 1.56 %"; without the error if it is not known.
std::string estimate_text(const formats::FigureKind& kind, const Estimate& estimate) {
    std::string text = formats::figure_text(kind, estimate.value);
    if (std::isfinite(estimate.error)) {
        text += fmt::format(" ± {}", formats::figure_text(kind, estimate.error));
    }
    return text + (kind.unit == formats::FigureUnit::kNats ? " nats" : "");
}

std::string source_label(const std::string& source) {
    return "loss of " + source;
}

/// "  masked tokens right     25.00 % ± 1.56 %" for each figure that was measured, aligned with the
/// line of the loss; then the counts.
std::string figure_lines(const HandReport& report, std::size_t width) {
    std::string text;
    for (const auto& kind : formats::figures_of(formats::architecture_of(report.run))) {
        const auto& all = report.figures.figures;
        const auto found = std::ranges::find(all, kind.name, &training::Figure::name);
        if (found == all.end()) continue;
        text +=
            fmt::format("  {:<{}}{}\n", kind.label, width, estimate_text(kind, found->estimate));
    }
    for (const auto& source : report.run.sources) {
        const auto found =
            std::ranges::find(report.figures.figures, formats::source_loss_name(source.name),
                              &training::Figure::name);
        if (found == report.figures.figures.end()) continue;
        text += fmt::format(
            "  {:<{}}{}\n", source_label(source.name), width,
            estimate_text(formats::loss_of(formats::architecture_of(report.run)), found->estimate));
    }
    for (const auto& [name, value] : report.figures.counts) {
        std::string label = name;
        std::ranges::replace(label, '_', ' ');
        text += fmt::format("  {:<{}}{}\n", label, width, value);
    }
    return text;
}

/// Characters of the longest label and of the blanks behind it.
std::size_t label_width(const HandReport& report) {
    std::size_t longest = 0;
    for (const auto& kind : formats::figures_of(formats::architecture_of(report.run))) {
        longest = std::max(longest, std::string_view{kind.label}.size());
    }
    for (const auto& source : report.run.sources) {
        longest = std::max(longest, source_label(source.name).size());
    }
    return std::max<std::size_t>(longest, 11) + 2;  // "held-out loss" without its indent
}

}  // namespace

std::string report_text(const HandReport& report) {
    const formats::FigureKind loss = formats::loss_of(formats::architecture_of(report.run));
    const auto guess = formats::guessing_loss(report.run);
    const std::string guessing =
        guess ? fmt::format(" (guessing: {} = {:.4f})", guess->formula, guess->value) : "";
    const std::size_t width = label_width(report);
    return fmt::format(
        "run {}: {}\n{}\n"
        "{:<{}}{} a sample{}\n{}"
        "measured on {} samples in {:.1f} s with {} thread{}; ± is the standard error\n",
        report.run.name, state_text(report), report.proof.clause, "held-out loss", width + 2,
        estimate_text(loss, report.figures.loss), guessing, figure_lines(report, width),
        report.figures.samples, report.seconds, report.threads, report.threads == 1 ? "" : "s");
}

std::string report_json(const HandReport& report) {
    json::Value data;
    const auto estimate = [&](const std::string& name, const Estimate& value) {
        data.set(name, value.value).set(name + "_error", value.error);
    };
    data.set("run", report.run.name).set("run_id", formats::run_id(report.run).hex());
    if (report.state.step) data.set("step", report.state.step->value());
    if (report.state.digest) data.set("digest", report.state.digest->hex());
    data.set("is_proven", report.proof.is_proven).set("standing", report.proof.clause);
    estimate("loss", report.figures.loss);
    for (const training::Figure& figure : report.figures.figures) {
        estimate(figure.name, figure.estimate);
    }
    data.set("samples", report.figures.samples);
    for (const training::Count& count : report.figures.counts) data.set(count.name, count.value);
    data.set("seconds", report.seconds);
    return json::write(data);
}

void evaluate_by_hand(const HandOptions& options) {
    const formats::RunFile run =
        formats::parse_run_file(platform::read_text(options.run, formats::kMaxRunFileBytes));
    const auto threads = static_cast<unsigned>(kernels::threads_within_reach(options.threads));
    const auto evaluator =
        open_evaluator(run, {.folders = {.held_out = options.held_out, .shards = options.shards},
                             .module = options.module,
                             .norms = options.norms,
                             .samples = options.samples,
                             .micro_batch = options.micro_batch,
                             .threads = threads});
    const LoadedState state = load(options, run);
    Proof proof{.clause = "not checked against a ledger"};
    if (!options.ledger.empty()) proof = judge(state, options.ledger, run);
    training::set_compute_threads(threads);
    const auto begin = Clock::now();
    const auto figures = evaluator->evaluate(state, {});
    const HandReport report{.run = run,
                            .state = state,
                            .proof = proof,
                            .figures = *figures,
                            .seconds = seconds_of(Clock::now() - begin),
                            .threads = threads};
    fmt::print("{}", options.prints_json ? report_json(report) + "\n" : report_text(report));
}

}  // namespace dedloc::evaluate
