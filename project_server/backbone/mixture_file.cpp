#include "project_server/backbone/mixture_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::backbone {

SharedMixture read_mixture(const std::filesystem::path& file, const formats::RunFile& run) {
    if (!std::filesystem::exists(file)) return nullptr;
    const auto refuse = [&](const char* why) {
        throw InputError(fmt::format("{} {}", file.string(), why));
    };
    const auto mixture = decode_mixture(platform::read_file(file, wire::kMaxMixtureBytes));
    if (!mixture) refuse("is no list of changes of a mixture, or damaged");
    const auto& changes = mixture->changes;
    if (!changes.empty() && changes[0].weights.size() != run.sources.size()) {
        refuse("has other sources than the run");
    }
    if (!is_signed(formats::run_id(run), run.project_key, *mixture)) {
        refuse("is not signed by the project for this run");
    }
    return std::make_shared<const SignedMixture>(*mixture);
}

void write_mixture(const std::filesystem::path& file, const SignedMixture& mixture) {
    platform::replace_file(file, encode_mixture(mixture));
}

SignedMixture next_mixture(const SharedMixture& last, const SharedMixture& in_force,
                           const MixtureOrder& order, StepIndex step, const formats::RunFile& run,
                           const KeyPair& project) {
    if (run.sources.empty()) {
        throw InputError(fmt::format("the run {} has no sources to mix", run.name));
    }
    const auto& weights = order.weights;
    const bool is_sound =
        weights.size() == run.sources.size() &&
        std::ranges::all_of(
            weights, [](std::uint64_t weight) { return weight <= wire::kMaxSourceWeight; }) &&
        std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}) > 0;
    if (!is_sound) throw InputError("a mixture has a weight for each source, one of them above 0");
    const std::uint64_t first = step.value() + kMixtureLead;
    const std::uint64_t from = order.from.value_or(first);
    if (from < first) {
        throw InputError(fmt::format(
            "the run {} has done {} steps: a change can begin with step {}, not with {}", run.name,
            step.value(), first, from));
    }
    if (from >= run.steps) {
        throw InputError(fmt::format("the run {} ends with step {}, before a change at step {}",
                                     run.name, run.steps, from));
    }
    std::vector<MixtureChange> changes =
        in_force ? in_force->changes : std::vector<MixtureChange>{};
    std::erase_if(changes,
                  [&](const MixtureChange& change) { return change.from.value() >= from; });
    changes.push_back({.from = StepIndex{from}, .weights = weights});
    if (changes.size() > wire::kMaxMixtureChanges) {
        throw InputError(
            fmt::format("the mixture of a run can change {} times", wire::kMaxMixtureChanges));
    }
    return sign_mixture(formats::run_id(run), last ? last->version + 1 : 1, std::move(changes),
                        project);
}

}  // namespace dedloc::backbone
