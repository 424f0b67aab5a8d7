// Measures one machine: pictures per second and the loss of a SwAV, and how fast a micro-batch can
// be interrupted. Not a test: run it by hand. For example:
//
//     build/release/bin/swav_bench --resnet18 --threads 2
//     build/release/bin/swav_bench --resnet50 --micro-batch 8 --repetitions 1 --interruption
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <utility>
#include <vector>

#include "boinc_app/training/task.hpp"
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

int measure(const formats::SwavSpec& task, std::uint64_t pictures, unsigned threads,
            unsigned repetitions, bool interrupts) {
    training::set_compute_threads(threads);
    const formats::RunFile run = test::swav_run(task);
    const AlignedFloats parameters = test::swav_start(run);
    swav::Swav model{task, run.tensors, parameters};
    FloatVector sum(parameters.size());
    const test::PlayedCrops crops{task, pictures, 1};
    const double operations = formats::swav_flops_per_sample(task);
    for (unsigned i = 0; i < repetitions; ++i) {
        const auto start = std::chrono::steady_clock::now();
        const double loss = model.add_gradient(crops.batch(), sum).value();
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        const double rate = static_cast<double>(pictures) / time.count();
        fmt::print("{} parameters, {} threads: {:.2f} pictures/s, {:.1f} GFLOP/s, loss {:.4f}\n",
                   formats::parameter_count(run), threads, rate, rate * operations / 1e9,
                   loss / static_cast<double>(pictures));
    }
    if (interrupts) measure_interruption(model, crops.batch(), sum, threads);
    return 0;
}

}  // namespace
}  // namespace dedloc

int main(int argc, char** argv) {
    CLI::App app{"measures the training of a SwAV on this machine"};
    bool is_resnet18 = false, is_resnet50 = false, interrupts = false;
    std::uint64_t pictures = 32;
    unsigned threads = 1, repetitions = 3;
    app.add_flag("--resnet18", is_resnet18, "ResNet-18 with crops of 28 and 18 pixels");
    app.add_flag("--resnet50", is_resnet50, "ResNet-50 with crops of 224 and 96 pixels");
    app.add_option("--micro-batch", pictures, "pictures")->check(CLI::Range(2, 4'096));
    app.add_option("--threads", threads, "compute threads")->check(CLI::Range(1, 256));
    app.add_option("--repetitions", repetitions, "micro-batches")->check(CLI::Range(1, 1'000));
    app.add_flag("--interruption", interrupts, "print how fast a micro-batch can be interrupted");
    CLI11_PARSE(app, argc, argv);
    const auto task = is_resnet50   ? dedloc::resnet50_task()
                      : is_resnet18 ? dedloc::resnet18_task()
                                    : dedloc::test::tiny_task();
    return dedloc::measure(task, pictures, threads, repetitions, interrupts);
}
