// Everything that can be wrong with the files is found before the computation, which takes long:
// the run file, the held-out shards, the state, then its standing by the ledger if one is named.
// Nothing interrupts an evaluation by hand, so its figures are always there. Text and JSON are made
// from one HandReport.
#include "project_server/evaluate/by_hand.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "boinc_app/inputs/shard_files.hpp"
#include "boinc_app/training/footprint.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/thread_workers.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/memory.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::evaluate {
namespace {

using Clock = std::chrono::steady_clock;
using training::albert::Estimate;

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

}  // namespace

std::string report_text(const HandReport& report) {
    const training::albert::Evaluation& figures = report.figures;
    const auto nats = [](const Estimate& x) {
        return fmt::format("{:.4f} ± {:.4f}", x.value, x.error);
    };
    const auto percent = [](const Estimate& x) {
        return fmt::format("{:.2f} % ± {:.2f} %", 100 * x.value, 100 * x.error);
    };
    const double words = std::log(static_cast<double>(formats::albert_of(report.run).vocabulary));
    return fmt::format(
        "run {}: {}\n{}\n"
        "held-out loss     {} nats a sample (guessing: ln V + ln 2 = {:.4f})\n"
        "  masked tokens   {} nats, {} of {} right\n"
        "  sentence order  {} nats, {} of {} right\n"
        "measured on {} samples in {:.1f} s with {} thread{}; ± is the standard error\n",
        report.run.name, state_text(report), report.proof.clause, nats(figures.loss),
        words + std::log(2.0), nats(figures.masked_loss), percent(figures.masked_accuracy),
        figures.masked_tokens, nats(figures.order_loss), percent(figures.order_accuracy),
        figures.samples, figures.samples, report.seconds, report.threads,
        report.threads == 1 ? "" : "s");
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
    estimate("masked_loss", report.figures.masked_loss);
    estimate("order_loss", report.figures.order_loss);
    estimate("masked_accuracy", report.figures.masked_accuracy);
    estimate("order_accuracy", report.figures.order_accuracy);
    data.set("samples", report.figures.samples)
        .set("masked_tokens", report.figures.masked_tokens)
        .set("seconds", report.seconds);
    return json::write(data);
}

void evaluate_by_hand(const HandOptions& options) {
    const formats::RunFile run =
        formats::parse_run_file(platform::read_text(options.run, formats::kMaxRunFileBytes));
    const std::vector<formats::Shard> shards = inputs::open_held_out_shards(options.held_out, run);
    const LoadedState state = load(options, run);
    Proof proof{.clause = "not checked against a ledger"};
    if (!options.ledger.empty()) proof = judge(state, options.ledger, run);
    const auto threads = static_cast<unsigned>(kernels::threads_within_reach(options.threads));
    training::set_compute_threads(threads);
    const training::Device device{.threads = threads, .memory_bytes = platform::physical_memory()};
    const std::uint64_t micro_batch = options.micro_batch != 0
                                          ? options.micro_batch
                                          : training::suitable_micro_batch(run, device);
    const training::albert::Evaluator evaluator{run, shards, options.samples,
                                                static_cast<std::size_t>(micro_batch)};
    const auto begin = Clock::now();
    const auto figures = evaluator.evaluate(state.parameters);
    const HandReport report{.run = run,
                            .state = state,
                            .proof = proof,
                            .figures = *figures,
                            .seconds = seconds_of(Clock::now() - begin),
                            .threads = threads};
    fmt::print("{}", options.prints_json ? report_json(report) + "\n" : report_text(report));
}

}  // namespace dedloc::evaluate
