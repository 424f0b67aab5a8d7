// A record names the mixture of its step, and every sample draws its source by that mixture from
// public numbers: run, peer, step and its own number. So the ledger, the run file and the project's
// signed list of changes say of which source each sample was, and no member is asked.
#include "project_server/runs/source_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/sample_draws.hpp"
#include "project_server/backbone/mixture_file.hpp"

namespace dedloc::runs {
namespace {

/// Every job has shards of each source that has any.
formats::SourceSet present_sources(const formats::RunFile& run) {
    formats::SourceSet present;
    for (const formats::ShardReference& shard : run.shards) {
        if (!shard.is_held_out) present.set(shard.source);
    }
    return present;
}

std::vector<std::uint64_t> run_weights(const formats::RunFile& run) {
    std::vector<std::uint64_t> weights;
    for (const formats::SourceSpec& source : run.sources) weights.push_back(source.weight);
    return weights;
}

/// Counts consecutive rounds.
class Counter {
  public:
    explicit Counter(const backbone::RunFiles& files)
        : files_(files),
          changes_(backbone::read_mixture(files.mixture(), files.run)),
          losses_(files.run.sources.size()) {}

    void take(const CommitRecord& record) {
        if (counts_.empty() || record.mixture != mixture_) begin(record);
        MixtureCount& count = counts_.back();
        count.last = record.step;
        for (const CommitLine& line : record.members) {
            const auto samples = sources_of_samples(files_.run, weights_, line.peer, record.step,
                                                    line.samples.value());
            for (std::size_t i = 0; i < samples.size(); ++i) {
                count.sources[i].samples += samples[i];
            }
            count.samples += line.samples.value();
            losses_.add(record.step.value(), samples, line.loss_sum);
        }
    }
    std::vector<MixtureCount> finish() {
        end();
        return std::move(counts_);
    }

  private:
    void begin(const CommitRecord& record) {
        end();
        mixture_ = record.mixture;
        weights_ = weights_of(record);
        losses_ = SourceLosses{weights_.size()};
        MixtureCount count{.first = record.step, .last = record.step};
        const formats::SourceSet present = present_sources(files_.run);
        double sum = 0;
        for (std::size_t i = 0; i < weights_.size(); ++i) {
            const double weight = present[i] ? static_cast<double>(weights_[i]) : 0;
            count.sources.push_back({.share = weight});
            sum += weight;
        }
        for (std::size_t i = 0; i < weights_.size(); ++i) {
            double& share = count.sources[i].share;
            share = sum > 0 ? share / sum
                            : (present[i] ? 1.0 / static_cast<double>(present.count()) : 0);
        }
        counts_.push_back(std::move(count));
    }
    void end() {
        if (counts_.empty()) return;
        const auto losses = losses_.estimate();
        for (std::size_t i = 0; i < losses.size(); ++i) counts_.back().sources[i].loss = losses[i];
    }
    std::vector<std::uint64_t> weights_of(const CommitRecord& record) const {
        if (!record.mixture) return run_weights(files_.run);
        if (changes_) {
            for (const MixtureChange& change : changes_->changes) {
                if (digest_of(change) == *record.mixture) return change.weights;
            }
        }
        throw InputError(
            fmt::format("step {} was drawn by a changed mixture, which {} does not list: copy that "
                        "file from the project's run folder",
                        record.step.value(), files_.mixture().string()));
    }

    const backbone::RunFiles& files_;
    const SharedMixture changes_;
    SourceLosses losses_;  // contributions to the last of counts_
    std::optional<Digest> mixture_;
    std::vector<std::uint64_t> weights_;
    std::vector<MixtureCount> counts_;
};

}  // namespace

std::vector<std::uint64_t> sources_of_samples(const formats::RunFile& run,
                                              const std::vector<std::uint64_t>& weights,
                                              const PeerKey& peer, StepIndex step,
                                              std::uint64_t count) {
    DEDLOC_CHECK(weights.size() == run.sources.size(), "each source has a weight", weights.size());
    const formats::SourceSet present = present_sources(run);
    const Random random = formats::step_random(run.seed, peer, step);
    std::vector<std::uint64_t> counts(weights.size(), 0);
    const std::uint64_t drawn = std::min(count, kMaxDrawnSamples);
    for (std::uint64_t i = 0; i < drawn; ++i) {
        Random sample = random.split(i);
        ++counts[formats::draw_source(sample, weights, present)];
    }
    if (drawn == count) return counts;
    std::uint64_t rest = count;
    for (std::uint64_t& of_source : counts) {
        of_source =
            static_cast<std::uint64_t>(static_cast<double>(of_source) / static_cast<double>(drawn) *
                                       static_cast<double>(count));
        of_source = std::min(of_source, rest);
        rest -= of_source;
    }
    *std::ranges::max_element(counts) += rest;
    return counts;
}

std::vector<MixtureCount> count_sources(const backbone::RunFiles& files,
                                        const backbone::LedgerProof& proof) {
    if (files.run.sources.empty()) {
        throw InputError(
            fmt::format("the run {} has no sources: dedloc corpus build --source makes a corpus of "
                        "several",
                        files.run.name));
    }
    Counter counter{files};
    proof.visit_decisions(proof.head().step,
                          [&](const CommitRecord& record) { counter.take(record); });
    return counter.finish();
}

}  // namespace dedloc::runs
