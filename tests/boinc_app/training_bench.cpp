// Measures one machine: samples per second, memory, and how the loss falls when one peer trains
// alone with the real optimizer. Not a test: run it by hand.
//
//     build/release/bin/training_bench --threads 1 --steps 20
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "boinc_app/training/albert.hpp"
#include "kernels/accumulate.hpp"
#include "peer/base/error.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc {
namespace {

struct Options {
    test::TinyShape shape{
        .vocabulary = 1'000, .width = 128, .layers = 2, .length = 64, .micro_batch = 8};
    unsigned threads = 1;
    std::uint64_t steps = 20;
    std::uint64_t target_batch = 96;
    std::uint64_t warmup = 10;
    double learning_rate = 0.05;
    double beta2 = 0.999;
    std::string shard;
};

formats::Shard read_shard(const std::string& path, const formats::RunFile& run) {
    if (path.empty()) return test::skewed_shard(run, 1);
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    auto shard = formats::decode_shard(bytes_of(bytes));
    if (!shard) throw InputError{path + " cannot be used: " + formats::describe(shard.reason())};
    return std::move(shard).value();
}

double peak_megabytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

void run_bench(const Options& options) {
    formats::RunFile run = test::tiny_run(options.shape);
    run.steps = options.steps;
    run.optimizer.learning_rate = options.learning_rate;
    run.optimizer.warmup_steps = options.warmup;
    run.optimizer.beta2 = options.beta2;
    const std::vector<formats::Shard> shards{read_shard(options.shard, run)};
    const training::Sampler sampler{run, shards};
    training::Albert model{run};
    training::set_compute_threads(options.threads);
    state::ModelState state{state::tensor_ranges(run), state::optimizer_settings(run)};
    state.initialise(state::initial_parameters(run));
    FloatVector gradient(model.element_count());
    std::uint64_t micro_batches = 0;
    const std::uint64_t per_step =
        std::max<std::uint64_t>(options.target_batch / run.micro_batch, 1);
    double computing = 0;
    for (std::uint64_t step = 0; step < options.steps; ++step) {
        model.set_parameters(state.parameters());
        FloatVector sum(gradient.size());
        double loss = 0;
        const auto begin = std::chrono::steady_clock::now();
        for (std::uint64_t i = 0; i < per_step; ++i, ++micro_batches) {
            loss += model.gradient(
                sampler.draw(training::micro_batch_random(run.seed, PeerKey{}, StepIndex{step}, i)),
                gradient);
            kernels::accumulate(sum, gradient, 1.0f);
        }
        computing +=
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        const auto samples = static_cast<float>(per_step * run.micro_batch);
        for (float& x : sum) x /= samples;
        const auto report = state.apply(
            sum, state::update_scalars(state::optimizer_settings(run), StepIndex{step}));
        std::printf("step %llu loss %.4f gradient norm %.3f\n",
                    static_cast<unsigned long long>(step + 1), loss / static_cast<double>(samples),
                    report.gradient_norm);
    }
    std::printf("%zu parameters, %u threads: %.1f samples/s, %.0f MB at most\n", gradient.size(),
                options.threads, static_cast<double>(micro_batches * run.micro_batch) / computing,
                peak_megabytes());
}

}  // namespace
}  // namespace dedloc

int main(int argc, char** argv) {
    dedloc::Options options;
    CLI::App app{"Measures the training of one machine."};
    app.add_option("--vocabulary", options.shape.vocabulary);
    app.add_option("--width", options.shape.width, "hidden and embedding size");
    app.add_option("--layers", options.shape.layers);
    app.add_option("--length", options.shape.length, "tokens a sample");
    app.add_option("--micro-batch", options.shape.micro_batch);
    app.add_option("--target-batch", options.target_batch);
    app.add_option("--threads", options.threads);
    app.add_option("--steps", options.steps);
    app.add_option("--warmup", options.warmup);
    app.add_option("--learning-rate", options.learning_rate);
    app.add_option("--beta2", options.beta2);
    app.add_option("--shard", options.shard, "shard file; without it, a corpus made here");
    CLI11_PARSE(app, argc, argv);
    try {
        dedloc::run_bench(options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "training_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
