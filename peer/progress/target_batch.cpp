// The estimate is Σ trust × (count + progress in the current micro-batch + rate × (time since the
// report + lead)). gathered() adjusts `lead_` by a quarter of the last round's error, within one
// heartbeat; joined() adjusts trust. reached_at() walks over the times at which rates expire, since
// the estimate is linear between them.
#include "peer/progress/target_batch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dedloc::progress {
namespace {

double as_number(Samples samples) {
    return static_cast<double>(samples.value());
}

/// Upper bound of a plausible rate, samples a second; false claims must not overflow sums.
constexpr double kFastest = 1e9;
/// Trust that a peer regains with each round in which it joins with all that it has reported.
constexpr double kTrustRegained = 0.25;
/// Limit of peers with trust below 1; beyond it the ones with the highest trust are forgotten.
constexpr std::size_t kMaxDistrusted = 4'096;

}  // namespace

void TargetBatch::report(const PeerKey& peer, TimePoint now, StepIndex step, Samples samples,
                         double samples_per_second) {
    const double rate =
        samples_per_second > 0 ? std::min(samples_per_second, kFastest) : 0.0;  // NaN is 0
    const auto [at, is_new] = reports_.try_emplace(peer);
    Report& report = at->second;
    if (is_new || report.step != step || samples < report.samples) {
        report.step = step;
        report.not_yet_at = now;
        report.risen_at = now;
    } else if (samples > report.samples) {
        report.not_yet_at = report.at;
        report.risen_at = now;
    }
    report.at = now;
    report.samples = samples;
    report.samples_per_second = rate;
    report.micro_batch = std::gcd(report.micro_batch, samples.value());
}

void TargetBatch::forget(const PeerKey& peer) {
    reports_.erase(peer);
}

void TargetBatch::begin(StepIndex step) {
    step_ = step;
}

void TargetBatch::called(TimePoint now) {
    expected_ = std::max(estimate(now), rules_.target);
}

void TargetBatch::gathered(Samples joined) {
    constexpr double kShare = 0.25;  // part of a round's error that counts: single rounds vary
    double rate = 0;
    double surplus = 0;
    for (const auto& [peer, report] : reports_) {
        if (report.step != step_) continue;
        rate += report.samples_per_second;
        surplus += static_cast<double>(report.micro_batch) / 2;
    }
    if (!(rate > 0)) return;
    const double error = (as_number(joined) - as_number(expected_) - surplus) / rate;
    const double max = seconds_of(rules_.heartbeat);
    lead_ = std::clamp(lead_ + kShare * std::clamp(error, -max, max), -max, max);
}

void TargetBatch::joined(const PeerKey& peer, Samples samples) {
    const auto report = reports_.find(peer);
    if (report == reports_.end() || report->second.step != step_) return;
    const double reported = as_number(report->second.samples);
    double trust = trust_in(peer);
    trust = samples >= report->second.samples ? trust + kTrustRegained
                                              : std::min(trust, as_number(samples) / reported);
    if (trust >= 1) {
        trust_.erase(peer);
        return;
    }
    trust_[peer] = trust;
    if (trust_.size() <= kMaxDistrusted) return;
    trust_.erase(std::ranges::max_element(trust_, {}, [](const auto& t) { return t.second; }));
}

double TargetBatch::trust_in(const PeerKey& peer) const {
    const auto found = trust_.find(peer);
    return found == trust_.end() ? 1 : found->second;
}

Samples TargetBatch::trusted(const PeerKey& peer, const Report& report) const {
    const double trust = trust_in(peer);
    if (trust >= 1) return report.samples;
    return Samples{static_cast<std::uint64_t>(trust * as_number(report.samples))};
}

/// A peer's samples at its last report, with its progress in the current micro-batch: as far as its
/// rate allows since its count rose, which was somewhere between two reports.
double TargetBatch::at_report(const Report& report) const {
    const double rate = report.samples_per_second;
    const auto whole = static_cast<double>(report.micro_batch);
    const double unseen = rate * seconds_of(report.risen_at - report.not_yet_at);
    const double begun =
        rate * seconds_of(report.at - report.risen_at) + std::min(unseen, whole) / 2;
    return as_number(report.samples) + std::min(begun, whole);
}

double TargetBatch::extrapolated(const Report& report, TimePoint now) const {
    const TimePoint until = std::clamp(now, report.at, rate_ends_at(report));
    return at_report(report) + report.samples_per_second * (seconds_of(until - report.at) + lead_);
}

Samples TargetBatch::estimate(TimePoint now) const {
    double sum = 0;
    for (const auto& [peer, report] : reports_) {
        if (report.step == step_) sum += trust_in(peer) * extrapolated(report, now);
    }
    return std::max(Samples{static_cast<std::uint64_t>(std::max(sum, 0.0) + 0.5)}, reported());
}

Samples TargetBatch::reported() const {
    Samples sum;
    for (const auto& [peer, report] : reports_) {
        if (report.step == step_) sum += trusted(peer, report);
    }
    return sum;
}

TimePoint TargetBatch::reached_at(TimePoint now) const {
    struct End {
        TimePoint at;
        double rate;
    };
    std::vector<End> ends;
    double sum = 0;
    double rate = 0;
    for (const auto& [peer, report] : reports_) {
        if (report.step != step_) continue;
        const double trust = trust_in(peer);
        const double trusted_rate = trust * report.samples_per_second;
        sum += trust * extrapolated(report, now);
        if (trusted_rate > 0 && rate_ends_at(report) > now) {
            ends.push_back({rate_ends_at(report), trusted_rate});
            rate += trusted_rate;
        }
    }
    const double target = as_number(rules_.target);
    if (sum + 0.5 >= target || reported() >= rules_.target) return now;
    std::ranges::sort(ends, {}, &End::at);
    TimePoint time = now;
    for (const End& end : ends) {
        const double until_end = rate * seconds_of(end.at - time);
        if (sum + until_end >= target) {
            const double wait = (target - sum) / rate;
            return time + std::chrono::ceil<Duration>(std::chrono::duration<double>(wait));
        }
        sum += until_end;
        time = end.at;
        rate = std::max(rate - end.rate, 0.0);
    }
    return kNever;
}

}  // namespace dedloc::progress
