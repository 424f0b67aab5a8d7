#include "project_server/evaluate/by_hand.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "boinc_app/shard_files.hpp"
#include "boinc_app/training/footprint.hpp"
#include "kernels/thread_workers.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/memory.hpp"

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

}  // namespace

std::string report_text(const HandReport& report) {
    const training::Evaluation& figures = report.figures;
    const auto nats = [](const Estimate& x) {
        return fmt::format("{:.4f} ± {:.4f}", x.value, x.error);
    };
    const auto percent = [](const Estimate& x) {
        return fmt::format("{:.2f} % ± {:.2f} %", 100 * x.value, 100 * x.error);
    };
    const double words = std::log(static_cast<double>(report.run.model.vocabulary));
    return fmt::format(
        "run {}: {}\n{}\n"
        "held-out loss     {} nats a sample (guessing: ln V + ln 2 = {:.4f})\n"
        "  masked tokens   {} nats, {} of {} right\n"
        "  sentence order  {} nats, {} of {} right\n"
        "measured on {} samples in {:.1f} s with {} thread{}; ± is the standard error\n",
        report.run.name, state_text(report), report.standing.clause, nats(figures.loss),
        words + std::log(2.0), nats(figures.masked_loss), percent(figures.masked_accuracy),
        figures.masked_tokens, nats(figures.order_loss), percent(figures.order_accuracy),
        figures.samples, figures.samples, report.seconds, report.threads,
        report.threads == 1 ? "" : "s");
}

std::string report_json(const HandReport& report) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};
    const auto text = [&](const char* name, const std::string& value) {
        writer.Key(name);
        writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    };
    const auto count = [&](const char* name, std::uint64_t value) {
        writer.Key(name);
        writer.Uint64(value);
    };
    const auto real = [&](const std::string& name, double value) {
        writer.Key(name.c_str());
        if (std::isfinite(value)) {
            writer.Double(value);
        } else {
            writer.Null();
        }
    };
    const auto estimate = [&](const std::string& name, const Estimate& value) {
        real(name, value.value);
        real(name + "_error", value.error);
    };
    writer.StartObject();
    text("run", report.run.name);
    text("run_id", formats::run_id(report.run).hex());
    if (report.state.step) count("step", report.state.step->value());
    if (report.state.digest) text("digest", report.state.digest->hex());
    writer.Key("is_proven");
    writer.Bool(report.standing.is_proven);
    text("standing", report.standing.clause);
    estimate("loss", report.figures.loss);
    estimate("masked_loss", report.figures.masked_loss);
    estimate("order_loss", report.figures.order_loss);
    estimate("masked_accuracy", report.figures.masked_accuracy);
    estimate("order_accuracy", report.figures.order_accuracy);
    count("samples", report.figures.samples);
    count("masked_tokens", report.figures.masked_tokens);
    real("seconds", report.seconds);
    writer.EndObject();
    return buffer.GetString();
}

void evaluate_by_hand(const HandOptions& options) {
    const formats::RunFile run =
        formats::parse_run_file(platform::read_text(options.run, formats::kMaxRunFileBytes));
    const std::vector<formats::Shard> shards = open_held_out_shards(options.held_out, run);
    const LoadedState state = load(options, run);
    Standing standing{.clause = "not checked against a ledger"};
    if (!options.ledger.empty()) standing = judge(state, options.ledger, run);
    const auto threads = static_cast<unsigned>(kernels::threads_within_reach(options.threads));
    training::set_compute_threads(threads);
    const training::Device device{.threads = threads, .memory_bytes = platform::physical_memory()};
    const std::uint64_t micro_batch = options.micro_batch != 0
                                          ? options.micro_batch
                                          : training::suitable_micro_batch(run, device);
    const training::Evaluator evaluator{run, shards, options.samples,
                                        static_cast<std::size_t>(micro_batch)};
    const auto begin = Clock::now();
    const auto figures = evaluator.evaluate(state.parameters);
    const HandReport report{.run = run,
                            .state = state,
                            .standing = standing,
                            .figures = *figures,
                            .seconds = std::chrono::duration<double>(Clock::now() - begin).count(),
                            .threads = threads};
    fmt::print("{}", options.prints_json ? report_json(report) + "\n" : report_text(report));
}

}  // namespace dedloc::evaluate
