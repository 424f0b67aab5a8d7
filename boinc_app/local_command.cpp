// One loop over LocalTrainer. Everything is computed on the main thread, except what torch and the
// kernels give to their own threads.
#include "boinc_app/local_command.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "boinc_app/training/albert.hpp"
#include "boinc_app/training/footprint.hpp"
#include "boinc_app/training/local_trainer.hpp"
#include "kernels/thread_workers.hpp"
#include "peer/base/error.hpp"
#include "peer/platform/stop_signals.hpp"

namespace dedloc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kInterrupted = 130;  // the shells' status after Ctrl-C

PeerKey key_of(const std::string& digits) {
    PeerKey key;
    if (!digits.empty() && !from_hex(digits, key.bytes)) {
        throw InputError{fmt::format("--peer wants {} hex digits", 2 * key.bytes.size())};
    }
    return key;
}

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

void print_step(StepIndex step, const training::LocalStep& done, double seconds) {
    const auto samples = static_cast<double>(done.samples.value());
    fmt::print(
        "step {}: loss {:.4f}, gradient norm {:.4f}{}, {} samples in {:.2f} s, {:.2f} a "
        "second\n",
        step.value(), done.loss_sum / samples, done.update.gradient_norm,
        done.update.was_applied ? "" : " (not applied)", done.samples.value(), seconds,
        samples / seconds);
    std::fflush(stdout);
}

}  // namespace

int train_locally(const formats::RunFile& run, std::span<const formats::Shard> shards,
                  const LocalOptions& options) {
    const platform::StopSignals signals;
    const auto threads = static_cast<unsigned>(kernels::threads_within_reach(options.threads));
    const training::Share share{.peer = key_of(options.peer), .samples = Samples{run.target_batch}};
    const kernels::ThreadWorkers workers{threads};
    training::set_compute_threads(threads);
    const Compute compute = make_compute(options.device, run, workers, threads);
    training::Replica& replica = *compute.replica;
    const std::uint64_t micro_batch = options.micro_batch != 0
                                          ? options.micro_batch
                                          : training::suitable_micro_batch(run, compute.device);
    training::LocalTrainer trainer{run, shards, workers, replica, micro_batch};
    fmt::print("{}\non {}\n", training::memory_line(run, micro_batch, 0, compute.device),
               compute.name);
    const std::uint64_t steps = options.steps != 0 ? options.steps : run.steps;
    bool is_interrupted = false;
    while (replica.step().value() < steps) {
        const auto begin = Clock::now();
        const auto done = trainer.step({&share, 1}, [&] { return signals.arrived(); });
        if (!done) {
            is_interrupted = true;
            break;
        }
        print_step(replica.step(), *done, seconds_since(begin));
    }
    fmt::print("state {} after step {}\n", replica.digest().hex(), replica.step().value());
    return is_interrupted ? kInterrupted : 0;
}

}  // namespace dedloc
