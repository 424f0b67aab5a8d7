// The expected mean is computed with the same kernel as in the swarm. With a rounding codec its
// elements may differ by a bound: the rounding of each contribution, of the remainder of its peer's
// previous one and of the average, each relative to the largest possible element (gradients are
// below 1).
#include "peer/tool/average_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "peer/wire/limits.hpp"

namespace dedloc::tool {
namespace {

/// Contributors of a round for which several steps are tried.
constexpr std::size_t kMaxUnsure = 5;
/// Elements that tell wrong steps from right ones.
constexpr std::size_t kProbe = 64;

/// Largest rounding error of an element relative to the largest element: half a unit of 11 or of 8
/// bits; int8: half a scale, which is less than 2 ÷ 127 of the largest element. A little more for
/// the rounding of sums in fp32.
double rounding_of(Codec codec) {
    constexpr double kSums = 0x1.01p0;
    switch (codec) {
        case Codec::kFp16:
            return kSums * 0x1p-11;
        case Codec::kBf16:
            return kSums * 0x1p-8;
        case Codec::kInt8:
            return kSums / 127;
        case Codec::kFp32:
            break;
    }
    return 0;
}

}  // namespace

bool AverageCheck::holds(const CommitRecord& record, const FloatVector& average) {
    if (!last_ || last_->next() != record.step) {
        residuals_.clear();
        counted_.clear();
    }
    const std::vector<PeerKey> unsure = maybe_frozen_earlier(record);
    last_ = record.step;
    counted_.clear();
    for (const CommitLine& line : record.members) {
        if (line.samples > Samples{0}) counted_.insert(line.peer);
    }
    const auto error = max_error(record);
    if (average.size() != elements_) return false;
    if (!error || is_mean(record, average, *error, {})) return true;
    // Counts through all combinations. A few elements tell the right one.
    const std::span probe = std::span{average}.first(std::min(average.size(), kProbe));
    const std::uint64_t max = std::min<std::uint64_t>(wire::kMaxStaleSteps, record.step.value());
    StepsBefore frozen;
    for (std::size_t digit = 0; digit < unsure.size();) {
        std::uint64_t& before = frozen[unsure[digit]];
        if (before == max) {
            before = 0;
            ++digit;
            continue;
        }
        ++before;
        digit = 0;
        const bool is_likely = is_mean(record, probe, *error, frozen);
        if (is_likely && is_mean(record, average, *error, frozen)) return true;
    }
    return false;
}

/// Contributors that were not counted in the round before: one that was has begun its contribution
/// since.
std::vector<PeerKey> AverageCheck::maybe_frozen_earlier(const CommitRecord& record) const {
    std::vector<PeerKey> all;
    for (const CommitLine& line : record.members) {
        const bool contributes = line.samples > Samples{0};
        if (contributes && !counted_.contains(line.peer) && all.size() < kMaxUnsure) {
            all.push_back(line.peer);
        }
    }
    return all;
}

/// Whether these first elements are the mean, if contributions were frozen so.
bool AverageCheck::is_mean(const CommitRecord& record, std::span<const float> average, float error,
                           const StepsBefore& frozen) const {
    const FloatVector expected = expected_average(record, average.size(), frozen);
    if (expected.size() != average.size()) return false;
    if (codec_ == Codec::kFp32) {
        return std::memcmp(expected.data(), average.data(), average.size_bytes()) == 0;
    }
    return std::ranges::equal(expected, average,
                              [&](float x, float y) { return std::abs(x - y) <= error; });
}

/// Largest error of an element of the average; nothing if it is not known. A contribution's
/// elements are below its number of samples, since gradients of a sample are below 1.
std::optional<float> AverageCheck::max_error(const CommitRecord& record) {
    const double rounding = rounding_of(codec_);
    double errors = 0;
    double samples = 0;
    bool is_known = true;
    for (const CommitLine& line : record.members) {
        if (line.samples == Samples{0}) continue;
        const auto own = static_cast<double>(line.samples.value());
        samples += own;
        // The first contribution after a gap carries an error like its own.
        const auto [before, is_new] = residuals_.emplace(line.peer, rounding * own);
        is_known = is_known && !is_new;
        const double rounded = rounding * (own + before->second);
        errors += before->second + rounded;
        before->second = rounded;
    }
    if (!is_known && codec_ != Codec::kFp32) return std::nullopt;
    const double mean = errors / samples;
    return static_cast<float>(mean + rounding * (1 + mean));
}

}  // namespace dedloc::tool
