// The precisions are measured in turn, and of each the fastest gradient counts, because other
// programs only ever make one slower. Nothing but the precision depends on times, so the same
// processor computes the same bits again. ALBERT's layers share their weights, so a model with two
// layers has the parameters of the whole one; the last layer alone would not do, as it is computed
// for few tokens. A precision that fails, because libtorch has no such product for this processor,
// is not chosen.
#include "boinc_app/albert/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <vector>

#include "boinc_app/albert/albert.hpp"
#include "boinc_app/albert/host_attention.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/albert_layout.hpp"

namespace dedloc::training::albert {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTime{100};  ///< that each precision is measured for, at least
constexpr int kMinRounds = 1;
constexpr std::uint64_t kLayers = 2;
/// bf16 must need at most this part of the time of fp32.
constexpr double kClearlyLess = 0.85;
constexpr double kFailed = std::numeric_limits<double>::infinity();

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

/// Measures one precision.
class Candidate {
  public:
    Candidate(const formats::RunFile& run, std::span<const float> parameters,
              const Computation& computation)
        : computation_(computation), model_(run, parameters, computation) {}

    /// Computes a gradient; the first one does not count.
    void measure(const MicroBatch& batch, std::span<float> sum) {
        try {
            const auto begin = Clock::now();
            model_.add_gradient(batch, sum);
            const double took = seconds_of(Clock::now() - begin);
            if (rounds_++ > 0) seconds_ = std::min(seconds_, took);
            all_ += took;
        } catch (const std::exception& error) {
            log_info("this processor cannot compute in {}: {}", name_of(computation_.precision),
                     error.what());
            has_failed_ = true;
            seconds_ = kFailed;
        }
    }
    bool is_measured() const {
        return has_failed_ || (rounds_ > kMinRounds && all_ >= seconds_of(kTime));
    }
    /// Time that the fastest gradient took.
    double seconds() const { return seconds_; }

  private:
    const Computation computation_;
    Albert model_;
    bool has_failed_ = false;
    int rounds_ = 0;
    double all_ = 0;
    double seconds_ = kFailed;
};

std::string milliseconds(double seconds) {
    return seconds == kFailed ? "fails" : fmt::format("{:.3g} ms", 1e3 * seconds);
}

}  // namespace

ProcessorWay processor_way(const formats::RunFile& run, const Sampler& sampler,
                           std::optional<Precision> wanted, FusedLayers& layers) {
    if (wanted == Precision::kFp32) return {};
    if (wanted == Precision::kFp16) {
        throw InputError{"ALBERT computes in fp32 or bf16 on processors"};
    }
    const formats::RunFile trial = with_few_layers(run);
    const AlignedFloats parameters = some_parameters(trial);
    const MicroBatch batch = sampler.draw(Random{run.seed}, 0, samples_of(run));
    AlignedFloats sum(parameters.size());
    const auto& spec = formats::albert_of(trial);
    const Computation bf16{
        .precision = Precision::kBf16,
        .fuses_attention = has_host_attention(static_cast<std::int64_t>(spec.hidden / spec.heads),
                                              static_cast<std::int64_t>(run.sequence_length)),
        .layers = &layers};
    std::vector<std::unique_ptr<Candidate>> candidates;
    candidates.push_back(std::make_unique<Candidate>(trial, parameters, bf16));
    if (!wanted)
        candidates.push_back(std::make_unique<Candidate>(trial, parameters, Computation{}));
    const auto is_measured = [](const auto& candidate) { return candidate->is_measured(); };
    while (!std::ranges::all_of(candidates, is_measured)) {
        for (const auto& candidate : candidates) {
            if (!candidate->is_measured()) candidate->measure(batch, sum);
        }
    }
    const double by_bf16 = candidates[0]->seconds();
    std::string times =
        fmt::format("{} layers take {} in bf16", spec.layers, milliseconds(by_bf16));
    if (wanted) {
        if (by_bf16 == kFailed) throw InputError{"this processor cannot compute in bf16"};
        return {.computation = bf16, .reason = times};
    }
    const double by_fp32 = candidates[1]->seconds();
    times += fmt::format(", {} in fp32", milliseconds(by_fp32));
    const bool is_faster = by_bf16 < kClearlyLess * by_fp32;
    return {.computation = is_faster ? bf16 : Computation{}, .reason = times};
}

}  // namespace dedloc::training::albert
