// The expected mean is computed with the same kernel as in the swarm. With a rounding codec its
// elements may differ by a bound: the rounding of each contribution, of the remainder of its peer's
// previous one and of the average, each relative to the largest possible element (gradients are
// below 1).
#include "peer/tool/average_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "peer/tool/synthetic_gradient.hpp"

namespace dedloc::tool {
namespace {

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
    if (!last_ || last_->next() != record.step) residuals_.clear();
    last_ = record.step;
    const auto error = max_error(record);
    if (average.size() != elements_) return false;
    if (!error) return true;
    const FloatVector expected = expected_average(record, elements_);
    if (codec_ == Codec::kFp32) {
        return expected.size() == average.size() &&
               std::memcmp(expected.data(), average.data(), average.size() * sizeof(float)) == 0;
    }
    return std::ranges::equal(expected, average,
                              [&](float x, float y) { return std::abs(x - y) <= *error; });
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
