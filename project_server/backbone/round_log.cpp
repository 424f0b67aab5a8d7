#include "project_server/backbone/round_log.hpp"

#include <fmt/format.h>

#include <utility>

#include "peer/base/log.hpp"

namespace dedloc::backbone {
namespace {

std::string describe(const CommitRecord& record, std::chrono::milliseconds took) {
    Samples samples;
    double loss_sum = 0;
    for (const auto& line : record.members) {
        samples += line.samples;
        loss_sum += line.loss_sum;
    }
    const double loss =
        samples == Samples{0} ? 0.0 : loss_sum / static_cast<double>(samples.value());
    return fmt::format("step {}: loss {:.4f}, {} samples, {} members, {:.2f} s",
                       record.step.next().value(), loss, samples.value(), record.members.size(),
                       std::chrono::duration<double>(took).count());
}

}  // namespace

RoundLog::RoundLog(LedgerWriter& ledger, RunRecorder* recorder,
                   std::function<void(const std::string&)> on_failure)
    : ledger_(ledger), recorder_(recorder), on_failure_(std::move(on_failure)) {}

void RoundLog::committed(const action::Committed& commit) {
    const auto now = Clock::now();
    const auto took = std::chrono::round<std::chrono::milliseconds>(now - last_commit_);
    last_commit_ = now;
    ledger_.append(LedgerCommit{.committed_at = std::chrono::round<std::chrono::milliseconds>(
                                    std::chrono::system_clock::now()),
                                .took = took,
                                .signed_frame = *commit.signed_frame});
    if (pending_) log_info("{}, digest {}", pending_->line, commit.record.previous_state.brief());
    pending_ = Pending{.reached = commit.record.step.next(), .line = describe(commit.record, took)};
    if (recorder_ != nullptr) recorder_->ledger_has_grown();
}

void RoundLog::settled(const action::Settled& settled) {
    ledger_.append(LedgerSettled{.step = settled.step,
                                 .digest = settled.digest,
                                 .reported = settled.reported,
                                 .equal = settled.equal});
    if (pending_ && pending_->reached == settled.step) {
        log_info("{}, digest {} at {} of {}", pending_->line, settled.digest.brief(), settled.equal,
                 settled.reported);
        pending_.reset();
    }
    if (recorder_ != nullptr) recorder_->ledger_has_grown();
}

void RoundLog::swarm_seen(const action::SwarmSeen& swarm) {
    if (recorder_ != nullptr) recorder_->swarm_seen(swarm.seats);
}

void RoundLog::finished(const action::Finished& finished) {
    log_info("the run is finished: step {}, digest {}", finished.step.value(),
             finished.digest.hex());
    if (recorder_ != nullptr) recorder_->run_is_finished(finished.digest);
}

void RoundLog::refused(const action::Refused& refused) {
    on_failure_("The swarm refuses its own backbone: " + refused.reason);
}

void RoundLog::note(const action::Note& note) {
    log_info("{}", note.line);
}

void RoundLog::failed(const std::string& sentence) {
    on_failure_(sentence);
}

}  // namespace dedloc::backbone
