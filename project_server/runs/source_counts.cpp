// A record names the mixture of its step, and every sample draws its source by that mixture from
// public numbers: run, peer, step and its own number; the record says which added sources the
// member's job has. So the ledger, the run file and the project's signed list of changes say of
// which source each sample was, and no member is asked.
#include "project_server/runs/source_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/sample_draws.hpp"
#include "project_server/run_sources.hpp"

namespace dedloc::runs {
namespace {

/// Sources of the run file.
std::size_t own_sources(const formats::RunFile& run) {
    return run.sources.size() - run.added_sources;
}

/// Added sources of a member's job: what it says of itself, but no more than the list names.
std::size_t added_of(const formats::RunFile& run, const CommitLine& line) {
    return std::min<std::size_t>(line.added, run.added_sources);
}

/// The sources of a job that has so many of the added ones: it has shards of each of these that has
/// any.
formats::SourceSet present_sources(const formats::RunFile& run, std::size_t added) {
    const std::size_t sources = own_sources(run) + added;
    formats::SourceSet present;
    for (const formats::ShardReference& shard : run.shards) {
        if (!shard.is_held_out && shard.source < sources) present.set(shard.source);
    }
    return present;
}

formats::SourceSet present_of(const formats::RunFile& run, const CommitLine& line) {
    return present_sources(run, added_of(run, line));
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
        : files_(files), mixtures_(files), losses_(files.run.sources.size()) {}

    void take(const CommitRecord& record) {
        if (counts_.empty() || record.mixture != mixture_) begin(record);
        MixtureCount& count = counts_.back();
        count.last = record.step;
        for (const CommitLine& line : record.members) {
            const auto samples = sources_of_samples(files_.run, weights_, line, record.step);
            for (std::size_t i = 0; i < samples.size(); ++i) {
                count.sources[i].samples += samples[i];
            }
            count.samples += line.samples.value();
            if (line.added < files_.run.added_sources) {
                count.samples_of_older += line.samples.value();
            }
            expect(line, count);
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
        weights_ = mixtures_.weights(record);
        losses_ = SourceLosses{weights_.size()};
        MixtureCount count{.first = record.step, .last = record.step};
        const std::size_t added = files_.run.added_sources;
        for (const double share : shares_among(present_sources(files_.run, added))) {
            count.sources.push_back({.share = share});
        }
        counts_.push_back(std::move(count));
    }
    /// The shares of these sources by their weights; those of others are 0.
    std::vector<double> shares_among(const formats::SourceSet& present) const {
        double sum = 0;
        for (std::size_t i = 0; i < weights_.size(); ++i) {
            if (present[i]) sum += static_cast<double>(weights_[i]);
        }
        std::vector<double> shares;
        for (std::size_t i = 0; i < weights_.size(); ++i) {
            const double weight = sum > 0 ? static_cast<double>(weights_[i]) / sum
                                          : 1.0 / static_cast<double>(present.count());
            shares.push_back(present[i] ? weight : 0);
        }
        return shares;
    }
    void expect(const CommitLine& line, MixtureCount& count) const {
        const auto shares = shares_among(present_of(files_.run, line));
        for (std::size_t i = 0; i < shares.size(); ++i) {
            const double expected = shares[i] * static_cast<double>(line.samples.value());
            count.sources[i].expected += expected;
            count.sources[i].variance += expected * (1 - shares[i]);
        }
    }
    void end() {
        if (counts_.empty()) return;
        const auto losses = losses_.estimate();
        for (std::size_t i = 0; i < losses.size(); ++i) counts_.back().sources[i].loss = losses[i];
    }
    const backbone::RunFiles& files_;
    const RecordMixtures mixtures_;
    SourceLosses losses_;  // contributions to the last of counts_
    std::optional<Digest> mixture_;
    std::vector<std::uint64_t> weights_;
    std::vector<MixtureCount> counts_;
};

}  // namespace

RecordMixtures::RecordMixtures(const backbone::RunFiles& files)
    : files_(files), changes_(server::read_mixture(files.mixture(), files.run)) {}

std::vector<std::uint64_t> RecordMixtures::weights(const CommitRecord& record) const {
    if (!record.mixture) return run_weights(files_.run);
    if (changes_) {
        for (const MixtureChange& change : changes_->changes) {
            if (digest_of(change) != *record.mixture) continue;
            std::vector<std::uint64_t> weights = change.weights;
            weights.resize(files_.run.sources.size(), 0);
            return weights;
        }
    }
    throw InputError(
        fmt::format("step {} was drawn by a changed mixture, which {} does not list: copy that "
                    "file from the project's run folder",
                    record.step.value(), files_.mixture().string()));
}

std::vector<std::uint64_t> RecordMixtures::weights(const CommitRecord& record,
                                                   const CommitLine& line) const {
    if (!record.mixture) return {};
    std::vector<std::uint64_t> all = weights(record);
    all.resize(own_sources(files_.run) + added_of(files_.run, line));
    return all;
}

std::vector<std::uint64_t> sources_of_samples(const formats::RunFile& run,
                                              const std::vector<std::uint64_t>& weights,
                                              const CommitLine& line, StepIndex step) {
    DEDLOC_CHECK(weights.size() == run.sources.size(), "each source has a weight", weights.size());
    const formats::SourceSet present = present_of(run, line);
    const Random random = formats::step_random(run.seed, line.peer, step);
    const std::uint64_t count = line.samples.value();
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
