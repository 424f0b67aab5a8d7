// One loop over LocalTrainer and the evaluator. Everything is computed on the main thread, except
// what torch and the kernels give to their own threads.
#include "boinc_app/local_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "boinc_app/training/evaluation.hpp"
#include "boinc_app/training/footprint.hpp"
#include "boinc_app/training/local_trainer.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/thread_workers.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/checkpoint_head.hpp"
#include "peer/formats/contribution_list.hpp"
#include "peer/formats/optimizer.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/mapped_file.hpp"
#include "peer/platform/stop_signals.hpp"

namespace dedloc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMaxNotFinite = 10;
constexpr std::size_t kMaxListBytes = std::size_t{4} << 30;
constexpr int kInterrupted = 130;  // the shells' status after Ctrl-C

PeerKey key_of(const std::string& digits) {
    PeerKey key;
    if (!digits.empty() && !from_hex(digits, key.bytes)) {
        throw InputError{fmt::format("--peer wants {} hex digits", 2 * key.bytes.size())};
    }
    return key;
}

double seconds_since(Clock::time_point begin) {
    return seconds_of(Clock::now() - begin);
}

void print_step(StepIndex step, const training::LocalStep& done, double seconds) {
    const auto samples = static_cast<double>(done.samples.value());
    const std::string norm =
        done.update.was_applied
            ? fmt::format("gradient norm {:.4f}", done.update.gradient_norm)
            : "the gradient is not finite, so the parameters are those of the step before";
    fmt::print("step {}: loss {:.4f}, {}, {} samples in {:.2f} s, {:.2f} a second\n", step.value(),
               done.loss_sum / samples, norm, done.samples.value(), seconds, samples / seconds);
    std::fflush(stdout);
}

/// Writes the state as a checkpoint of the run. No ledger proves it.
void write_checkpoint(const std::filesystem::path& path, const formats::RunFile& run,
                      training::Replica& replica, const Digest& digest) {
    const training::StateCopy copy = replica.copy();
    const std::uint64_t elements = replica.element_count();
    const formats::CheckpointHead head{
        .step = replica.step(),
        .digest = digest,
        .elements = elements,
        .vectors = static_cast<std::uint32_t>(copy.bytes.size() / (elements * sizeof(float)))};
    const Buffer first = formats::encode_checkpoint_head(formats::run_id(run), head);
    const std::array<std::span<const std::byte>, 2> pieces{first, copy.bytes};
    platform::replace_file(path, pieces);
    fmt::print("checkpoint {}, which no ledger proves\n", path.string());
}

/// Loads the state of a checkpoint. Errors: InputError: not one of the run, or damaged.
void read_checkpoint(const std::filesystem::path& path, const formats::RunFile& run,
                     training::Replica& replica) {
    const platform::MappedFile file{path};
    const auto bytes = file.bytes();
    const auto head = formats::decode_checkpoint_head(
        bytes.first(std::min(bytes.size(), formats::kCheckpointHeadBytes)), formats::run_id(run),
        path.string());
    const bool is_whole = head.elements == replica.element_count() &&
                          head.vectors == formats::state_vectors(run.optimizer.name) &&
                          bytes.size() == formats::kCheckpointHeadBytes + head.state_bytes();
    if (!is_whole) {
        throw InputError{fmt::format("{} is not a whole state of run {}", path.string(), run.name)};
    }
    if (!replica.load(head.step, bytes.subspan(formats::kCheckpointHeadBytes), head.digest)) {
        throw InputError{
            fmt::format("{} is damaged: its bytes are not the state with the digest "
                        "{} that it names",
                        path.string(), head.digest.brief())};
    }
}

/// The shares of each step: always the same one, or those of a list.
class StepShares {
  public:
    StepShares(const formats::RunFile& run, const LocalOptions& options)
        : unit_(formats::samples_together(run)),
          sources_(run.sources.size()),
          share_{.peer = key_of(options.peer), .samples = Samples{run.target_batch}},
          path_(options.contributions) {
        if (path_.empty()) return;
        list_ =
            formats::parse_contributions(platform::read_text(path_, kMaxListBytes), path_.string());
    }

    /// The step after the last one of the list; nothing: there is no list.
    std::optional<std::uint64_t> end() const {
        if (list_.empty()) return std::nullopt;
        return list_.back().step.value() + 1;
    }

    /// Errors: InputError: the list does not have the step, or no whole units of samples.
    std::vector<training::Share> of(StepIndex step) const {
        if (list_.empty()) return {share_};
        std::vector<training::Share> shares;
        auto line = std::ranges::lower_bound(list_, step, {}, &formats::CountedSamples::step);
        for (; line != list_.end() && line->step == step; ++line) {
            if (line->samples.value() % unit_ != 0) {
                throw InputError{fmt::format(
                    "{}: the {} samples of a peer in step {} are no whole micro-batches of {}",
                    path_.string(), line->samples.value(), step.value(), unit_)};
            }
            shares.push_back(
                {.peer = line->peer, .samples = line->samples, .weights = weights_of(*line)});
        }
        if (shares.empty()) {
            throw InputError{
                fmt::format("{} has no contribution to step {}", path_.string(), step.value())};
        }
        return shares;
    }

  private:
    formats::SharedWeights weights_of(const formats::CountedSamples& line) const {
        if (line.weights.empty()) return nullptr;
        if (line.weights.size() <= sources_) {
            return std::make_shared<const std::vector<std::uint64_t>>(line.weights);
        }
        throw InputError{fmt::format(
            "{}: step {} was drawn from {} sources, but the run has {}: --source names those that "
            "were added to it",
            path_.string(), line.step.value(), line.weights.size(), sources_)};
    }

    const std::uint64_t unit_;
    const std::size_t sources_;
    const training::Share share_;
    const std::filesystem::path path_;
    std::vector<formats::CountedSamples> list_;  // ascending by step
};

/// The parameters of the replica's state, in host memory.
AlignedFloats parameters_of(training::Replica& replica) {
    const Buffer bytes = replica.copy().bytes;
    AlignedFloats parameters(replica.element_count());
    std::memcpy(parameters.data(), bytes.data(), parameters.size() * sizeof(float));
    return parameters;
}

/// One process that trains the run.
class LocalRun {
  public:
    LocalRun(const formats::RunFile& run, const training::Task& task,
             const OpenEvaluator& open_evaluator, const LocalOptions& options)
        : options_(options),
          architecture_(formats::architecture_of(run)),
          shares_(run, options),
          threads_(static_cast<unsigned>(kernels::threads_within_reach(options.threads))),
          workers_(threads_),
          compute_(
              device::make_compute(options.device, run, task, workers_, {.threads = threads_})),
          micro_batch_(training::micro_batch_for(run, compute_.device, options.micro_batch)),
          trainer_(run, workers_, *compute_.replica, micro_batch_) {
        if (open_evaluator) evaluator_ = open_evaluator(micro_batch_);
        if (!options.from.empty()) read_checkpoint(options.from, run, *compute_.replica);
        fmt::print("{}\non {}\n", training::memory_line(run, micro_batch_, 0, compute_.device),
                   compute_.name);
    }

    /// Trains until this step, by default (0) that of the contributions or the run's last. False
    /// when a signal arrived; the state is then that after the last whole step.
    bool train(std::uint64_t wanted, std::uint64_t of_run) {
        const std::uint64_t steps = wanted != 0 ? wanted : shares_.end().value_or(of_run);
        if (!evaluate()) return false;
        while (step() < steps) {
            const auto begin = Clock::now();
            const auto done = trainer_.step(shares_.of(replica().step()), is_interrupted_);
            if (!done) return false;
            print_step(replica().step(), *done, seconds_since(begin));
            refuse_divergence(done->update.was_applied);
            const bool is_due = step() == steps || (options_.evaluate_every != 0 &&
                                                    step() % options_.evaluate_every == 0);
            if (is_due && !evaluate()) return false;
        }
        return true;
    }

    training::Replica& replica() { return *compute_.replica; }

  private:
    std::uint64_t step() { return replica().step().value(); }

    /// Errors: InputError after kMaxNotFinite steps in a row without a finite gradient.
    void refuse_divergence(bool was_applied) {
        not_finite_ = was_applied ? 0 : not_finite_ + 1;
        if (not_finite_ < kMaxNotFinite) return;
        throw InputError{
            fmt::format("the gradients of {} steps in a row are not finite: the model has "
                        "diverged; a lower learning rate, more warm-up or clipping may help",
                        kMaxNotFinite)};
    }

    /// Prints the figures of the state on held-out samples, if there are any. False when a signal
    /// arrived.
    bool evaluate() {
        if (!evaluator_) return true;
        const auto begin = Clock::now();
        const auto figures = evaluator_->evaluate(parameters_of(replica()), is_interrupted_);
        if (!figures) return false;
        fmt::print("step {}: {}; {} samples in {:.2f} s\n", step(),
                   training::figures_line(*figures, architecture_), figures->samples,
                   seconds_since(begin));
        std::fflush(stdout);
        return true;
    }

    const LocalOptions& options_;
    const std::string_view architecture_;
    const platform::StopSignals signals_;  // before threads start
    const training::IsInterrupted is_interrupted_ = [this] { return signals_.arrived(); };
    const StepShares shares_;
    const unsigned threads_;
    const kernels::ThreadWorkers workers_;
    const device::Compute compute_;
    const std::uint64_t micro_batch_;
    training::LocalTrainer trainer_;
    std::unique_ptr<training::HeldOutEvaluator> evaluator_;  ///< null: nothing is measured
    int not_finite_ = 0;  ///< steps in a row without a finite gradient
};

}  // namespace

int train_locally(const formats::RunFile& run, const training::Task& task,
                  const OpenEvaluator& open_evaluator, const LocalOptions& options) {
    training::set_compute_threads(
        static_cast<unsigned>(kernels::threads_within_reach(options.threads)));
    LocalRun local{run, task, open_evaluator, options};
    const bool is_whole = local.train(options.steps, run.steps);
    training::Replica& replica = local.replica();
    const Digest digest = replica.digest();
    fmt::print("state {} after step {}\n", digest.hex(), replica.step().value());
    if (!options.out.empty()) write_checkpoint(options.out, run, replica, digest);
    return is_whole ? 0 : kInterrupted;
}

}  // namespace dedloc
