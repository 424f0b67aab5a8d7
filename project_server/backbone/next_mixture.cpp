#include "project_server/backbone/next_mixture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/wire/limits.hpp"
#include "project_server/run_sources.hpp"

namespace dedloc::backbone {

SignedMixture next_mixture(const SharedMixture& last, const SharedMixture& in_force,
                           const MixtureOrder& order, StepIndex step, const formats::RunFile& run,
                           const KeyPair& project) {
    if (run.sources.empty()) {
        throw InputError(fmt::format("the run {} has no sources to mix", run.name));
    }
    const std::size_t added = last ? last->added.size() : 0;
    const std::size_t sources = run.sources.size() - run.added_sources + added;
    const auto& weights = order.weights;
    const bool is_sound =
        weights.size() == sources &&
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
                        project, last ? last->added : std::vector<Digest>{});
}

std::optional<SignedMixture> next_addition(const SharedMixture& last, const SharedMixture& in_force,
                                           const Digest& source,
                                           const std::filesystem::path& folder,
                                           const formats::RunFile& run, const KeyPair& project) {
    std::vector<Digest> added = last ? last->added : std::vector<Digest>{};
    if (std::ranges::find(added, source) != added.end()) return std::nullopt;
    formats::RunFile all = run;
    for (const Digest& known : added) formats::add_source(all, server::read_source(folder, known));
    const formats::AddedSource another = server::read_source(folder, source);
    formats::add_source(all, another);
    server::require_shards(folder, another);
    added.push_back(source);
    return sign_mixture(formats::run_id(run), last ? last->version + 1 : 1,
                        in_force ? in_force->changes : std::vector<MixtureChange>{}, project,
                        std::move(added));
}

}  // namespace dedloc::backbone
