// What a run's codec and its overlap do to the loss: trains one small ALBERT on a text in several
// ways and judges each with held-out documents. One process computes the samples of several
// contributors; each contribution passes the round's encoder with its own error feedback, and all
// continue with the decoded average, so this is the swarm's arithmetic without its network. With
// the same seed every way has the same parameters and samples; another seed changes both and shows
// how much of a difference is noise.
//
// Overlap  All samples of a step, except the first step's, are computed on the state before it, as
//          if a round took as long as the computing of a batch: the longest round that hides
//          completely. With half-overlap it is half of them. peer/round/overlap.md says which
//          samples these are.
//
//     (source project_server/bible_text.sh; bible_text) > kjv.txt
//     loss_curves --text kjv.txt
//
// Not a test: it asserts nothing.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "boinc_app/albert/albert.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/error.hpp"
#include "peer/planning/request.hpp"
#include "peer/platform/files.hpp"
#include "peer/round/codec.hpp"
#include "peer/state/run_state.hpp"
#include "project_server/corpus/build.hpp"
#include "tests/boinc_app/tiny_world.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc {
namespace {

struct Options {
    std::string text;
    int vocabulary = 2'000;
    double held_out = 0.05;  ///< share of the documents
    test::TinyShape shape{.width = 64, .layers = 2, .length = 32};
    std::uint64_t steps = 300;
    std::uint64_t every = 50;  ///< steps between two measurements
    std::uint64_t contributors = 4;
    std::uint64_t samples = 16;  ///< samples of a contributor in a step
    std::uint64_t seeds = 3;
    std::uint64_t held_out_samples = 1'024;
    double learning_rate = 0.06;
    std::vector<std::string> ways{"fp32", "fp16", "bf16", "int8", "half-overlap", "overlap"};
};

/// The shards of a corpus.
struct Data {
    std::vector<formats::Shard> training, held_out;
    std::uint64_t vocabulary = 0;
};

Data read_data(const Options& options) {
    const TemporaryDirectory directory;
    corpus::BuildOptions build;
    build.texts = {options.text};
    build.vocabulary = options.vocabulary;
    build.held_out = options.held_out;
    build.folder = directory.path() / "corpus";
    const corpus::Corpus corpus = corpus::build_corpus(build);
    Data data{.training = {}, .held_out = {}, .vocabulary = corpus.vocabulary};
    for (const auto& reference : corpus.shards) {
        const auto path = build.folder / reference.name;
        auto shard = formats::decode_shard(platform::read_file(path, reference.bytes));
        if (!shard) throw InputError{path.string() + ": " + formats::describe(shard.reason())};
        auto& shards = reference.is_held_out ? data.held_out : data.training;
        shards.push_back(std::move(shard).value());
    }
    if (data.held_out.empty()) throw InputError{options.text + " is too small to hold out a part"};
    return data;
}

formats::RunFile run_of(const Options& options, std::uint64_t vocabulary, std::uint64_t seed) {
    test::TinyShape shape = options.shape;
    shape.vocabulary = vocabulary;
    formats::RunFile run = test::tiny_run(shape);
    run.seed = seed;
    run.steps = options.steps;
    run.optimizer.learning_rate = options.learning_rate;
    run.optimizer.warmup_steps = options.steps / 10;
    return run;
}

/// A key that no other contributor has.
PeerKey key_of(std::uint64_t number) {
    PeerKey key;
    key.bytes.fill(static_cast<std::byte>(number));
    return key;
}

/// How a run trains.
struct Way {
    Codec codec = Codec::kFp32;
    std::uint64_t delayed = 0;  ///< samples of a contribution on the state before its step's
};

Way way_named(const std::string& name, std::uint64_t samples) {
    return {.codec = codec_named(name).value_or(Codec::kFp32),
            .delayed = name == "overlap"        ? samples
                       : name == "half-overlap" ? samples / 2
                                                : 0};
}

/// One training run.
class Training {
  public:
    /// Keeps references to all arguments but `way`.
    Training(const Options& options, const formats::RunFile& run, const Data& data, Way way)
        : options_(options),
          run_(run),
          way_(way),
          sampler_(run, data.training),
          judge_(run, data.held_out),
          state_(state::tensor_ranges(run), state::optimizer_settings(run)),
          model_(run, state_.parameters()),
          feedback_(options.contributors, round::Feedback{way.codec}),
          next_(options.contributors) {
        state_.initialise(state::initial_parameters(run));
    }

    /// One step of all contributors. Returns the mean loss of its samples.
    double step() {
        const StepIndex step = state_.step();
        std::vector<wire::Elements> pieces;
        const std::vector<std::uint64_t> weights(feedback_.size(), options_.samples);
        double loss = 0;
        for (std::uint64_t k = 0; k < feedback_.size(); ++k) {
            Contribution own = std::exchange(next_[k], Contribution{});
            const std::uint64_t count = options_.samples - own.samples.value();
            add(k, step, 0, count, own);
            loss += own.loss_sum;
            const round::Encoder encoder = feedback_[k].freeze(std::move(own));
            pieces.push_back(encoder.piece(0, state_.element_count()));
            feedback_[k].counted(encoder);
            add(k, step, count, way_.delayed, next_[k]);
        }
        FloatVector average(state_.element_count());
        (void)round::average_of(pieces, weights, average);
        (void)state_.apply(average, state::update_scalars(state::optimizer_settings(run_), step));
        return loss / static_cast<double>(options_.samples * feedback_.size());
    }

    /// Mean loss on the held-out samples, which are the same in every run.
    double held_out_loss() {
        constexpr std::uint64_t kAtOnce = 16;
        const Random random = training::step_random(1, key_of(255), StepIndex{0});
        double sum = 0;
        for (std::uint64_t first = 0; first < options_.held_out_samples; first += kAtOnce) {
            const std::uint64_t count = std::min(kAtOnce, options_.held_out_samples - first);
            sum += model_.loss(judge_.draw(random, first, count));
        }
        return sum / static_cast<double>(options_.held_out_samples);
    }

    std::uint64_t element_count() const { return state_.element_count(); }

  private:
    /// Adds the gradients of a peer's samples first … first + count − 1 of this step, on the
    /// present state.
    void add(std::uint64_t peer, StepIndex step, std::uint64_t first, std::uint64_t count,
             Contribution& to) {
        if (count == 0) return;
        const auto sum = to.sum == nullptr ? std::make_shared<FloatVector>(state_.element_count())
                                           : std::make_shared<FloatVector>(*to.sum);
        const Random random = training::step_random(run_.seed, key_of(peer), step);
        to.loss_sum += model_.add_gradient(sampler_.draw(random, first, count), *sum).value();
        to.samples += Samples{count};
        to.sum = sum;
    }

    const Options& options_;
    const formats::RunFile& run_;
    const Way way_;
    const training::albert::Sampler sampler_, judge_;
    state::ModelState state_;
    training::albert::Albert model_;  ///< reads the parameters of state_
    std::vector<round::Feedback> feedback_;
    std::vector<Contribution> next_;  ///< what each contributor has computed ahead
};

/// Results of all seeds of a way.
struct Results {
    std::uint64_t bytes = 0;   ///< size of a contribution and an average, one chunk each
    std::vector<double> late;  ///< training loss of the last tenth, by seed
    std::vector<std::vector<double>> held_out;  ///< held-out losses, by measurement and seed
};

void train(const Options& options, const Data& data, const std::string& name, std::uint64_t seed,
           Results& results) {
    const formats::RunFile run = run_of(options, data.vocabulary, seed);
    const Way way = way_named(name, options.samples);
    Training training{options, run, data, way};
    results.bytes = 2 * planning::on_the_wire(way.codec).bytes_of(training.element_count());
    results.held_out.resize(options.steps / options.every);
    const std::uint64_t late = std::max<std::uint64_t>(options.steps / 10, 1);
    double sum = 0;
    std::string line = fmt::format("{:12} seed {}  held out", name, seed);
    for (std::uint64_t k = 1; k <= options.steps; ++k) {
        const double loss = training.step();
        if (k + late > options.steps) sum += loss;
        if (k % options.every != 0) continue;
        const double measured = training.held_out_loss();
        results.held_out[k / options.every - 1].push_back(measured);
        line += fmt::format(" {:.4f}", measured);
    }
    results.late.push_back(sum / static_cast<double>(late));
    fmt::print("{}\n", line);
    std::fflush(stdout);
}

/// Mean and sample standard deviation, as text.
std::string spread(const std::vector<double>& values) {
    double sum = 0;
    for (const double x : values) sum += x;
    const double mean = sum / static_cast<double>(values.size());
    double squares = 0;
    for (const double x : values) squares += (x - mean) * (x - mean);
    const auto degrees = static_cast<double>(std::max<std::size_t>(values.size() - 1, 1));
    return fmt::format("{:.4f} ± {:.4f}", mean, std::sqrt(squares / degrees));
}

void print_tables(const Options& options, const std::vector<Results>& results) {
    fmt::print(
        "\n| | bytes a step | training, last tenth | held out | less {}, by seed |\n"
        "|---|---|---|---|---|\n",
        options.ways.front());
    const std::vector<double>& first = results.front().held_out.back();
    for (std::size_t w = 0; w < results.size(); ++w) {
        const std::vector<double>& last = results[w].held_out.back();
        std::string differences;
        for (std::size_t i = 0; w > 0 && i < last.size(); ++i) {
            differences += fmt::format("{}{:+.4f}", i > 0 ? ", " : "", last[i] - first[i]);
        }
        fmt::print("| {} | {} | {} | {} | {} |\n", options.ways[w], results[w].bytes,
                   spread(results[w].late), spread(last), differences);
    }
    fmt::print("\n| held out after |");
    for (const std::string& way : options.ways) fmt::print(" {} |", way);
    fmt::print("\n|---|{}\n", [&] {
        std::string rule;
        for (std::size_t w = 0; w < results.size(); ++w) rule += "---|";
        return rule;
    }());
    for (std::size_t m = 0; m < results.front().held_out.size(); ++m) {
        fmt::print("| {} |", (m + 1) * options.every);
        for (const Results& way : results) fmt::print(" {} |", spread(way.held_out[m]));
        fmt::print("\n");
    }
}

void compare(const Options& options) {
    const Data data = read_data(options);
    std::vector<Results> results(options.ways.size());
    for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) {
        for (std::size_t w = 0; w < results.size(); ++w) {
            train(options, data, options.ways[w], seed, results[w]);
        }
    }
    print_tables(options, results);
}

void add_options(CLI::App& app, Options& options) {
    app.add_option("--text", options.text, "UTF-8 text to train on and to hold a part of out")
        ->required()
        ->check(CLI::ExistingFile);
    app.add_option("--ways", options.ways,
                   "Codecs; fp32 with half or all of the samples on the state before")
        ->check(CLI::IsMember({"fp32", "fp16", "bf16", "int8", "half-overlap", "overlap"}))
        ->capture_default_str();
    app.add_option("--vocabulary", options.vocabulary)->capture_default_str();
    app.add_option("--held-out", options.held_out, "Share of the documents")
        ->check(CLI::Range(0.001, 0.5))
        ->capture_default_str();
    app.add_option("--width", options.shape.width, "Hidden and embedding size")
        ->capture_default_str();
    app.add_option("--layers", options.shape.layers)->capture_default_str();
    app.add_option("--length", options.shape.length, "Tokens of a sample")->capture_default_str();
    const auto add_count = [&](const char* name, std::uint64_t& count, const char* what,
                               std::uint64_t max) {
        app.add_option(name, count, what)
            ->check(CLI::Range(std::uint64_t{1}, max))
            ->capture_default_str();
    };
    add_count("--samples", options.samples, "Samples of each contributor in a step", 10'000);
    add_count("--contributors", options.contributors, "Contributors of a step", 200);
    add_count("--steps", options.steps, "Updates", 1'000'000);
    add_count("--every", options.every, "Steps between two measurements", 1'000'000);
    add_count("--seeds", options.seeds, "Runs of each way", 100);
    add_count("--held-out-samples", options.held_out_samples, "Samples of a measurement",
              1'000'000);
    app.add_option("--learning-rate", options.learning_rate)->capture_default_str();
}

}  // namespace
}  // namespace dedloc

int main(int argc, char** argv) {
    dedloc::Options options;
    CLI::App app{"Compares codecs and overlap by the loss of a small ALBERT on a text."};
    dedloc::add_options(app, options);
    CLI11_PARSE(app, argc, argv);
    try {
        if (options.every > options.steps) {
            throw dedloc::InputError{"--every must be at most --steps"};
        }
        dedloc::training::set_compute_threads(1);
        dedloc::compare(options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "loss_curves: {}\n", error.what());
        return 1;
    }
    return 0;
}
