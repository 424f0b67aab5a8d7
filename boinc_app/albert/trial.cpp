// Ways are measured in turn, and of each the fastest gradient counts, because other programs only
// ever make one slower. ALBERT's layers share their weights, so a model with two layers has the
// parameters of the whole one; the last layer alone would not do, as it is computed for few tokens.
// The time of the whole model is that of the small one by their numbers of operations. A way that
// fails, because libtorch has no such product for this processor, is not chosen, nor one that is
// given up: emulated bf16 would take ten times as long as fp32, in each of its gradients.
#include "boinc_app/albert/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "boinc_app/albert/albert.hpp"
#include "boinc_app/albert/host_attention.hpp"
#include "boinc_app/training/footprint.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/albert_layout.hpp"

namespace dedloc::training::albert {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTime{100};  ///< that each way is measured for, at least
constexpr int kMinRounds = 1;
constexpr std::uint64_t kLayers = 2;
/// bf16 must need at most this part of the time of fp32.
constexpr double kClearlyLess = 0.85;
/// More threads or samples at once must need at most this part of the time for a sample.
constexpr double kLess = 0.95;
/// Seconds of a micro-batch that is larger than the assumed one: a freeze lets one go on as long
/// (swarm_trainer.cpp), so none of its samples is dropped.
constexpr double kMaxSeconds = 0.5;
constexpr std::uint64_t kMaxMicroBatch = 64;
/// Several peers share a step's target batch.
constexpr std::uint64_t kTargetShare = 4;
/// Activations may take this part of the machine's memory: a quarter.
constexpr std::uint64_t kMemoryShare = 4;
/// A gradient is given up after so many times the fastest one of another way, and this time more,
/// since first gradients of tiny models are slow.
constexpr double kGiveUp = 3;
constexpr double kMoreSeconds = 0.5;
constexpr double kFailed = std::numeric_limits<double>::infinity();

/// One way to compute gradients.
struct Way {
    Computation computation{};
    unsigned threads = 1;
    std::uint64_t samples = 1;
};

/// Time of a way's fastest gradient.
struct Measured {
    double seconds = kFailed;
    bool is_given_up = false;  ///< it takes longer than `seconds`
};

formats::RunFile with_few_layers(formats::RunFile run) {
    auto& layers = formats::albert_of(run).layers;
    layers = std::min<std::uint64_t>(layers, kLayers);
    return run;
}

/// Samples of a trial: micro-batches of small models have several.
std::size_t samples_of(const formats::RunFile& run) {
    constexpr std::uint64_t kTokens = 1024;
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(
        kTokens / std::max<std::uint64_t>(run.sequence_length, 1), 1, 64));
}

/// Parameters whose activations are neither 0 nor large; the first values repeat.
AlignedFloats some_parameters(const formats::RunFile& run) {
    constexpr std::size_t kDrawn = 4096;
    Random random{run.seed};
    AlignedFloats parameters(static_cast<std::size_t>(formats::element_count(run)));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        parameters[i] =
            i < kDrawn ? static_cast<float>(0.02 * random.near_normal()) : parameters[i - kDrawn];
    }
    return parameters;
}

/// Measures one way.
class Candidate {
  public:
    Candidate(const formats::RunFile& run, std::span<const float> parameters, const Way& way,
              MicroBatch batch)
        : way_(way), batch_(std::move(batch)), model_(run, parameters, way.computation) {}

    /// Computes a gradient, for at most `max_seconds`; the first one does not count.
    void measure(std::span<float> sum, double max_seconds) {
        set_compute_threads(way_.threads);
        try {
            const auto begin = Clock::now();
            const auto took = [&] { return seconds_of(Clock::now() - begin); };
            if (!model_.add_gradient(batch_, sum, [&] { return took() > max_seconds; })) {
                if (rounds_ <= kMinRounds) {
                    measured_ = {.seconds = max_seconds, .is_given_up = true};
                }
                is_over_ = true;
                return;
            }
            const double seconds = took();
            fastest_ = std::min(fastest_, seconds);
            if (rounds_++ > 0) measured_.seconds = std::min(measured_.seconds, seconds);
            all_ += seconds;
        } catch (const std::exception& error) {
            log_info("this processor cannot compute {} samples in {} with {} threads: {}",
                     way_.samples, name_of(way_.computation.precision), way_.threads, error.what());
            is_over_ = true;
            measured_ = {};
        }
    }
    bool is_measured() const {
        return is_over_ || (rounds_ > kMinRounds && all_ >= seconds_of(kTime));
    }
    const Measured& measured() const { return measured_; }
    /// Time of the fastest gradient, also the first; kFailed if there is none.
    double fastest() const { return fastest_; }

  private:
    const Way way_;
    const MicroBatch batch_;
    Albert model_;
    Measured measured_;
    bool is_over_ = false;
    int rounds_ = 0;
    double all_ = 0;
    double fastest_ = kFailed;
};

/// Measures ways to compute gradients of a model with few of the run's layers.
class Trial {
  public:
    /// The arguments must outlive it.
    Trial(const formats::RunFile& run, const Sampler& sampler)
        : run_(run),
          few_(with_few_layers(run)),
          sampler_(sampler),
          parameters_(some_parameters(few_)),
          sum_(parameters_.size()) {}

    /// The time of a gradient by each way, measured in turn.
    std::vector<Measured> race(const std::vector<Way>& ways) {
        std::vector<std::unique_ptr<Candidate>> candidates;
        for (const Way& way : ways) {
            candidates.push_back(std::make_unique<Candidate>(
                few_, parameters_, way,
                sampler_.draw(Random{run_.seed}, 0, static_cast<std::size_t>(way.samples))));
        }
        const auto is_measured = [](const auto& candidate) { return candidate->is_measured(); };
        const auto max_seconds = [&](const auto& of) {
            double fastest = kFailed;
            for (const auto& other : candidates) {
                if (other != of) fastest = std::min(fastest, other->fastest());
            }
            return kGiveUp * fastest + kMoreSeconds;
        };
        while (!std::ranges::all_of(candidates, is_measured)) {
            for (const auto& candidate : candidates) {
                if (!candidate->is_measured()) candidate->measure(sum_, max_seconds(candidate));
            }
        }
        std::vector<Measured> measured;
        for (const auto& candidate : candidates) measured.push_back(candidate->measured());
        return measured;
    }

    /// Seconds of the whole model where the small one takes `seconds`.
    double whole(double seconds) const {
        const auto operations = [](const formats::RunFile& run) {
            return formats::albert_flops_per_sample(formats::albert_of(run), run.sequence_length);
        };
        return seconds * operations(run_) / operations(few_);
    }

    std::uint64_t layers() const { return formats::albert_of(few_).layers; }

  private:
    const formats::RunFile& run_;
    const formats::RunFile few_;
    const Sampler& sampler_;
    const AlignedFloats parameters_;
    AlignedFloats sum_;
};

std::string milliseconds(const Measured& measured) {
    if (measured.seconds == kFailed) return "fails";
    return fmt::format("{}{:.3g} ms", measured.is_given_up ? "more than " : "",
                       1e3 * measured.seconds);
}

/// Takes all threads instead of those of `way` if that is faster. Returns what was measured.
std::string choose_threads(Trial& trial, Way& way, unsigned threads) {
    Way all = way;
    all.threads = threads;
    const std::vector<Measured> took = trial.race({way, all});
    const std::string times =
        fmt::format(", {} with {} threads and {} with {}", milliseconds(took[0]), way.threads,
                    milliseconds(took[1]), all.threads);
    if (took[1].seconds < kLess * took[0].seconds) way = all;
    return times;
}

/// Chooses the way's micro-batch, from the present one up to `max`. Returns the seconds of a
/// gradient with it.
double choose_micro_batch(Trial& trial, Way& way, std::uint64_t max) {
    double seconds = trial.race({way}).front().seconds;
    while (2 * way.samples <= max && 2 * trial.whole(seconds) <= kMaxSeconds) {
        Way more = way;
        more.samples *= 2;
        const std::vector<Measured> both = trial.race({way, more});
        const bool is_less = both[1].seconds < kLess * 2 * both[0].seconds;
        seconds = both[is_less ? 1 : 0].seconds;
        if (!is_less) break;
        way = more;
    }
    return seconds;
}

/// Threads and micro-batch for a precision that was chosen, and what to expect of them.
ProcessorWay measured_way(const formats::RunFile& run, Trial& trial, const ProcessorOffer& offer,
                          Way way, std::string times) {
    if (way.threads < offer.threads) times += choose_threads(trial, way, offer.threads);
    way.samples = suitable_micro_batch(run, {.threads = way.threads,
                                             .memory_bytes = offer.memory_bytes,
                                             .computation = way.computation});
    const std::uint64_t in_memory =
        offer.memory_bytes / kMemoryShare / activation_bytes(run, way.computation);
    const double seconds = choose_micro_batch(
        trial, way, std::min({kMaxMicroBatch, run.target_batch / kTargetShare, in_memory}));
    const double rate = static_cast<double>(way.samples) / trial.whole(seconds);
    times += fmt::format("; about {:.3g} samples/s in micro-batches of {}", rate, way.samples);
    return {.computation = way.computation,
            .threads = way.threads,
            .micro_batch = way.samples,
            .reason = std::move(times)};
}

}  // namespace

ProcessorWay processor_way(const formats::RunFile& run, const Sampler& sampler,
                           const ProcessorOffer& offer, FusedLayers& layers) {
    const Computation fp32{.fuses_attention = true};
    if (offer.precision == Precision::kFp32) return {.computation = fp32};
    if (offer.precision == Precision::kFp16) {
        throw InputError{"ALBERT computes in fp32 or bf16 on processors"};
    }
    const auto& spec = formats::albert_of(run);
    const Computation bf16{
        .precision = Precision::kBf16,
        .fuses_attention = has_host_attention(static_cast<std::int64_t>(spec.hidden / spec.heads),
                                              static_cast<std::int64_t>(run.sequence_length)),
        .layers = &layers};
    if (offer.precision && offer.is_tried) return {.computation = bf16};
    const unsigned threads = offer.precision ? offer.threads : offer.cores;
    const Way rounded{bf16, threads, samples_of(run)};
    const Way exact{fp32, threads, samples_of(run)};
    Trial trial{run, sampler};
    const auto in_bf16 = [&](const Measured& took) {
        return fmt::format("{} layers take {} in bf16", trial.layers(), milliseconds(took));
    };
    if (offer.precision) {
        const Measured took = trial.race({rounded}).front();
        if (took.seconds == kFailed) throw InputError{"this processor cannot compute in bf16"};
        return {.computation = bf16, .reason = in_bf16(took)};
    }
    const std::vector<Measured> took = trial.race({exact, rounded});
    const bool is_faster = took[1].seconds < kClearlyLess * took[0].seconds;
    return measured_way(run, trial, offer, is_faster ? rounded : exact,
                        in_bf16(took[1]) + fmt::format(", {} in fp32", milliseconds(took[0])));
}

}  // namespace dedloc::training::albert
