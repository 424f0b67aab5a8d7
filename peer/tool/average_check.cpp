// The expected mean is computed with the same kernel as in the swarm. With fp16 its elements may
// differ by a bound: the rounding of each contribution, of the remainder of its peer's previous one
// and of the average, each relative to the largest possible element (gradients are below 1).
#include "peer/tool/average_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "peer/tool/synthetic_gradient.hpp"

namespace dedloc::tool {
namespace {

/// Relative error of rounding to 11 bits, and a little more, since the rounded number already
/// contains such an error.
constexpr double kRounding = 0x1.01p-11;

}  // namespace

bool AverageCheck::holds(const CommitRecord& record, const FloatVector& average) {
    if (!last_ || last_->next() != record.step) counted_.clear();
    last_ = record.step;
    const auto error = max_error(record);
    for (const CommitLine& line : record.members) {
        if (line.samples > Samples{0}) counted_.insert_or_assign(line.peer, line.samples);
    }
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
std::optional<float> AverageCheck::max_error(const CommitRecord& record) const {
    if (codec_ == Codec::kFp32) return 0.0F;
    double rounded = 0;
    double samples = 0;
    for (const CommitLine& line : record.members) {
        if (line.samples == Samples{0}) continue;
        const auto before = counted_.find(line.peer);
        if (before == counted_.end()) return std::nullopt;
        const auto own = static_cast<double>(line.samples.value());
        rounded += own + static_cast<double>(before->second.value());
        samples += own;
    }
    return static_cast<float>(kRounding * (1 + rounded / samples));
}

}  // namespace dedloc::tool
