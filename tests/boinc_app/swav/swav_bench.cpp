// Measures one machine: pictures per second and the loss of a SwAV, and how fast a micro-batch can
// be interrupted; with a shard of pictures also the share of decoding and crops. Not a test: run it
// by hand, or by python_speed.py, which compares it with PyTorch. For example:
//
//     build/release/bin/swav_bench --resnet18 --threads 2 --shard CORPUS/shard-…
//     build/release/bin/swav_bench --resnet50 --micro-batch 8 --repetitions 1 --interruption
//
// Processor seconds are those of all threads, so that other load of the machine matters less.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "boinc_app/swav/crop_loader.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/error.hpp"
#include "peer/platform/mapped_file.hpp"
#include "tests/boinc_app/swav/tiny_swav.hpp"

namespace dedloc {
namespace {

/// ResNet-18 for pictures of 32×32 with the crops of Caron et al.'s loss on CIFAR-10.
formats::SwavSpec resnet18_task() {
    formats::SwavSpec task;
    task.trunk = {.has_bottlenecks = false, .blocks = {2, 2, 2, 2}, .has_small_stem = true};
    task.hidden = 512;
    task.prototypes = 512;
    task.crops = {{.size = 28, .count = 2}, {.size = 18, .count = 4}};
    return task;
}

/// DeDLOC's.
formats::SwavSpec resnet50_task() {
    return {};
}

double seconds_of_threads(unsigned threads) {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC / threads;
}

/// Prints how long the model takes to return when it is interrupted at any moment of a micro-batch,
/// all with the same probability: it has to come to its next question. In processor seconds of a
/// thread, so that other work of the machine does not count.
void measure_interruption(swav::Swav& model, const swav::CropBatch& batch, FloatVector& sum,
                          unsigned threads) {
    std::vector<double> gaps;
    double last = seconds_of_threads(threads);
    const auto note = [&] {
        const double now = seconds_of_threads(threads);
        gaps.push_back(now - std::exchange(last, now));
        return false;
    };
    model.add_gradient(batch, sum, note);
    note();
    std::ranges::sort(gaps);
    double whole = 0;
    for (const double gap : gaps) whole += gap;
    // A moment in a gap g waits at most t with probability min(g, t) ÷ g.
    double median = 0;
    double below = 0;
    for (std::size_t i = 0; i < gaps.size(); ++i) {
        median = (whole / 2 - below) / static_cast<double>(gaps.size() - i);
        if (median <= gaps[i]) break;
        below += gaps[i];
    }
    fmt::print(
        "a micro-batch takes {:.2f} s and asks {} times; interrupted, it returns after {:.3f} "
        "s (median), at most {:.3f} s\n",
        whole, gaps.size() - 1, median, gaps.back());
}

/// Wall and processor seconds since its construction.
class Stopwatch {
  public:
    double wall() const {
        return std::chrono::duration<double>{std::chrono::steady_clock::now() - begin_}.count();
    }
    double processor() const {
        return static_cast<double>(std::clock() - processor_begin_) / CLOCKS_PER_SEC;
    }

  private:
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    const std::clock_t processor_begin_ = std::clock();
};

struct Options {
    std::uint64_t pictures = 32;
    unsigned threads = 1;
    unsigned repetitions = 3;
    std::string shard;  ///< file with pictures; empty: crops are made before
    bool interrupts = false;
};

std::vector<formats::PictureShard> open_shard(const std::string& path) {
    const auto file = std::make_shared<const platform::MappedFile>(path);
    const auto shard = formats::decode_picture_shard(file->bytes(), file);
    if (!shard) throw InputError{fmt::format("{} is no shard of pictures", path)};
    return {*shard};
}

void measure(const formats::SwavSpec& task, const Options& options) {
    training::set_compute_threads(options.threads);
    const formats::RunFile run = test::swav_run(task);
    const AlignedFloats parameters = test::swav_start(run);
    swav::Swav model{task, run.tensors, parameters};
    FloatVector sum(parameters.size());
    const auto pictures = static_cast<double>(options.pictures);
    std::vector<formats::PictureShard> shards;
    std::optional<swav::CropLoader> loader;
    std::optional<test::PlayedCrops> played;
    if (options.shard.empty()) {
        played.emplace(task, options.pictures, 1);
    } else {
        shards = open_shard(options.shard);
        loader.emplace(run, shards);
    }
    for (unsigned i = 0; i < options.repetitions; ++i) {
        const Stopwatch all;
        std::optional<swav::LoadedCrops> loaded;
        if (loader) {
            loaded = loader->load({.peer = {},
                                   .step = StepIndex{0},
                                   .first = i * options.pictures,
                                   .count = options.pictures},
                                  {});
        }
        const double loading = all.processor();
        const double loss =
            model
                .add_gradient(
                    loaded ? loaded->batch(options.pictures, StepIndex{0}) : played->batch(), sum)
                .value();
        const double processor = all.processor();
        const double rate = pictures / all.wall();
        fmt::print(
            "{} parameters, {} threads: {:.2f} pictures/s, {:.1f} GFLOP/s, of a processor {:.2f} "
            "pictures/s, of which decoding and crops {:.2f} %, loss {:.4f}\n",
            formats::parameter_count(run), options.threads, rate,
            rate * formats::swav_flops_per_sample(task) / 1e9, pictures / processor,
            100 * loading / processor, loss / pictures);
        std::fflush(stdout);
    }
    if (options.interrupts) {
        if (!played) played.emplace(task, options.pictures, 1);
        measure_interruption(model, played->batch(), sum, options.threads);
    }
}

}  // namespace
}  // namespace dedloc

int main(int argc, char** argv) {
    CLI::App app{"measures the training of a SwAV on this machine"};
    bool is_resnet18 = false, is_resnet50 = false;
    dedloc::Options options;
    app.add_flag("--resnet18", is_resnet18, "ResNet-18 with crops of 28 and 18 pixels");
    app.add_flag("--resnet50", is_resnet50, "ResNet-50 with crops of 224 and 96 pixels");
    app.add_option("--micro-batch", options.pictures, "pictures")->check(CLI::Range(2, 4'096));
    app.add_option("--threads", options.threads, "compute threads")->check(CLI::Range(1, 256));
    app.add_option("--repetitions", options.repetitions, "micro-batches")
        ->check(CLI::Range(1, 1'000));
    app.add_option("--shard", options.shard,
                   "decode the pictures of this shard and make the crops in each micro-batch");
    app.add_flag("--interruption", options.interrupts,
                 "print how fast a micro-batch can be interrupted");
    CLI11_PARSE(app, argc, argv);
    const auto task = is_resnet50   ? dedloc::resnet50_task()
                      : is_resnet18 ? dedloc::resnet18_task()
                                    : dedloc::test::tiny_task();
    try {
        dedloc::measure(task, options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "swav_bench: {}\n", error.what());
        return 1;
    }
    return 0;
}
