// Measures one machine: samples per second, memory, how fast a micro-batch can be interrupted, and
// how the loss falls when one peer trains alone with the real optimizer. Not a test: run it by
// hand. For example:
//
//     build/release/bin/training_bench --large --steps 1 --target-batch 1 --interruptions 20
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "boinc_app/albert/albert_task.hpp"
#include "boinc_app/device/gpu.hpp"
#include "boinc_app/training/footprint.hpp"
#include "boinc_app/training/micro_batches.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/thread_workers.hpp"
#include "peer/base/error.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc {
namespace {

constexpr test::TinyShape kAlbertLarge{.vocabulary = 30'000,
                                       .width = 1'024,
                                       .layers = 24,
                                       .length = 512,
                                       .embedding = 128,
                                       .heads = 16};

struct Options {
    test::TinyShape shape{.vocabulary = 1'000, .width = 128, .layers = 2, .length = 64};
    std::uint64_t micro_batch = 0;
    unsigned threads = 1;
    std::uint64_t steps = 20;
    std::uint64_t target_batch = 96;
    std::uint64_t warmup = 10;
    unsigned interruptions = 0;
    double learning_rate = 0.05;
    double beta2 = 0.999;
    std::string shard;
    std::string device = "cpu";
    std::string precision = "auto";
};

formats::Shard read_shard(const std::string& path, const formats::RunFile& run) {
    // Documents twice as long as a sample, so that most samples have the full length.
    if (path.empty()) return test::skewed_shard(run, 1, 2 * run.sequence_length / 5);
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = bytes_of(text);
    auto shard = formats::decode_shard(Buffer(bytes.begin(), bytes.end()));
    if (!shard) throw InputError{path + " cannot be used: " + formats::describe(shard.reason())};
    return std::move(shard).value();
}

/// A line of /proc/self/status in bytes.
double status_bytes(const std::string& field) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(field + ":")) return 1024 * std::stod(line.substr(field.size() + 1));
    }
    throw Error{"/proc/self/status has no " + field};
}

/// Prints what the process holds, in bytes and in vectors of the model's length.
class Memory {
  public:
    explicit Memory(const formats::RunFile& run)
        : vector_(static_cast<double>(formats::element_count(run) * sizeof(float))) {}
    void print_head() const {
        std::printf("a vector has %.1f MB\n%-40s %8s %8s\n", vector_ / 1e6, "memory", "MB",
                    "vectors");
    }
    void print(const char* what, const char* field = "VmRSS") const {
        const double bytes = status_bytes(field);
        std::printf("%-40s %8.0f %8.2f\n", what, bytes / 1e6, (bytes - begin_) / vector_);
    }

  private:
    const double vector_;
    const double begin_ = status_bytes("VmRSS");
};

/// One peer that trains alone.
class Trainer {
  public:
    Trainer(const Options& options, const formats::RunFile& run, training::Replica& replica,
            const Memory& memory)
        : run_(run),
          replica_(replica),
          micro_batches_(replica, options.micro_batch, 1),
          memory_(memory) {
        replica_.initialise(state::initial_parameters(run));
        memory_.print("state of three vectors, model");
    }

    /// One step of so many samples. Returns the mean loss.
    double step(std::uint64_t samples) {
        const auto begin = Clock::now();
        double loss = 0;
        for (std::uint64_t first = 0; first < samples;) {
            const auto added =
                micro_batches_.add(PeerKey{}, replica_.step(), first, samples - first, {}).value();
            loss += added.loss_sum;
            first += added.count;
        }
        const double computing = seconds_since(begin);
        FloatVector sum = replica_.take_sum().values;
        if (replica_.step() == StepIndex{0}) memory_.print("the same and the sum");
        // The first of several steps does not count: a GPU chooses algorithms and takes memory.
        if (replica_.step() < StepIndex{2}) {
            seconds_ = 0;
            samples_ = 0;
        }
        seconds_ += computing;
        samples_ += samples;
        for (float& x : sum) x /= static_cast<float>(samples);
        const auto scalars =
            state::update_scalars(state::optimizer_settings(run_), replica_.step());
        const auto update = Clock::now();
        norm_ = replica_.apply(sum, scalars).gradient_norm;
        static_cast<void>(replica_.digest());
        update_seconds_ = seconds_since(update);
        return loss / static_cast<double>(samples);
    }
    /// Seconds that the last update and its digest took.
    double update_seconds() const { return update_seconds_; }
    double norm() const { return norm_; }
    double samples_per_second() const { return static_cast<double>(samples_) / seconds_; }

    /// Interrupts micro-batches at equal distances and prints how long the model took to return.
    void interrupt(unsigned times) {
        const training::SampleRange samples{
            .peer = {}, .step = replica_.step(), .count = micro_batches_.size()};
        const auto begin = Clock::now();
        replica_.add_gradient(samples, {});
        const double whole = seconds_since(begin);
        std::vector<double> delays;
        for (unsigned i = 0; i < times; ++i) {
            const double at = whole * (i + 0.5) / times;
            const auto start = Clock::now();
            const auto is_due = [&] { return seconds_since(start) >= at; };
            if (replica_.add_gradient(samples, is_due)) continue;
            delays.push_back(seconds_since(start) - at);
        }
        std::ranges::sort(delays);
        if (delays.empty()) throw Error{"no micro-batch was interrupted"};
        std::printf(
            "a micro-batch of %llu takes %.3f s; interrupted %zu times: %.3f s (median) to "
            "%.3f s until it returned\n",
            static_cast<unsigned long long>(samples.count), whole, delays.size(),
            delays[delays.size() / 2], delays.back());
    }

  private:
    using Clock = std::chrono::steady_clock;
    static double seconds_since(Clock::time_point begin) {
        return std::chrono::duration<double>(Clock::now() - begin).count();
    }

    const formats::RunFile& run_;
    training::Replica& replica_;
    training::MicroBatches micro_batches_;
    const Memory& memory_;
    std::uint64_t samples_ = 0;
    double seconds_ = 0;
    double update_seconds_ = 0;
    double norm_ = 0;
};

void run_bench(Options options) {
    formats::RunFile run = test::tiny_run(options.shape);
    run.steps = std::max<std::uint64_t>(options.steps, 1);
    run.optimizer.learning_rate = options.learning_rate;
    run.optimizer.warmup_steps = options.warmup;
    run.optimizer.beta2 = options.beta2;
    auto device = device::parse_choice(options.device);
    if (!device) throw InputError{"--device wants cpu, cuda, cuda:N or auto"};
    if (!device::set_precision(*device, options.precision)) {
        throw InputError{"--precision wants auto, fp32 or bf16"};
    }
    const training::albert::AlbertTask task{run, {read_shard(options.shard, run)}};
    training::set_compute_threads(options.threads);
    const kernels::ThreadWorkers workers{kernels::threads_within_reach(options.threads)};
    const Memory memory{run};
    const device::Compute compute =
        device::make_compute(*device, run, task, workers, {.threads = options.threads});
    options.micro_batch = training::micro_batch_for(run, compute.device, options.micro_batch);
    std::printf("%s\non %s\n",
                training::memory_line(run, options.micro_batch, 0, compute.device).c_str(),
                compute.name.c_str());
    memory.print_head();
    Trainer trainer{options, run, *compute.replica, memory};
    for (std::uint64_t step = 0; step < options.steps; ++step) {
        const double loss = trainer.step(std::max(options.target_batch, options.micro_batch));
        std::printf("step %llu loss %.4f gradient norm %.3f, update and digest %.3f s\n",
                    static_cast<unsigned long long>(step + 1), loss, trainer.norm(),
                    trainer.update_seconds());
    }
    memory.print("after the last step");
    memory.print("at most", "VmHWM");
    if (options.steps > 0) {
        const double rate = trainer.samples_per_second();
        std::printf("%u threads, micro-batches of %llu: %.2f samples/s, %.1f GFLOP/s\n",
                    compute.device.threads, static_cast<unsigned long long>(options.micro_batch),
                    rate, rate * run.flops_per_sample / 1e9);
    }
    if (options.interruptions > 0) trainer.interrupt(options.interruptions);
}

}  // namespace
}  // namespace dedloc

int main(int argc, char** argv) {
    dedloc::Options options;
    CLI::App app{"Measures the training of one machine."};
    app.add_option("--vocabulary", options.shape.vocabulary);
    app.add_option("--width", options.shape.width, "width of the layers");
    app.add_option("--embedding", options.shape.embedding, "width of the embeddings; 0: the same");
    app.add_option("--layers", options.shape.layers);
    app.add_option("--heads", options.shape.heads);
    app.add_option("--length", options.shape.length, "tokens a sample");
    app.add_option("--micro-batch", options.micro_batch, "0: as dedloc_train chooses it");
    app.add_option("--interruptions", options.interruptions,
                   "interrupt so many micro-batches, and print how fast they end");
    app.add_option("--target-batch", options.target_batch);
    app.add_flag_callback(
        "--large", [&] { options.shape = dedloc::kAlbertLarge; }, "the dimensions of ALBERT-large");
    app.add_option("--threads", options.threads);
    app.add_option("--device", options.device, "cpu, cuda, cuda:N or auto");
    app.add_option("--precision", options.precision, "of the processor: auto, fp32 or bf16");
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
