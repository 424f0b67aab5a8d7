#include "project_server/backbone/round_log.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/base/log.hpp"
#include "peer/wire/history.hpp"
#include "project_server/backbone/durable_file.hpp"

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

RoundLog::RoundLog(LedgerWriter& ledger, const CheckpointStore& store, RunRecorder* recorder,
                   RoundLogOptions options)
    : ledger_(ledger), store_(store), recorder_(recorder), options_(std::move(options)) {}

void RoundLog::voted(const action::Voted& vote) {
    const Buffer bytes = wire::encode(vote.state);
    const std::array<std::span<const std::byte>, 1> pieces{bytes};
    write_file_atomically(options_.voter, pieces);
}

void RoundLog::committed(const action::Committed& commit) {
    const auto now = Clock::now();
    const auto took = std::chrono::round<std::chrono::milliseconds>(now - last_commit_);
    last_commit_ = now;
    // The ledger keeps few certificates; who restarts has to prove the last decision to the others.
    const Buffer decision =
        wire::encode(Decision{.record = commit.record, .certificate = commit.certificate});
    const std::array<std::span<const std::byte>, 1> pieces{decision};
    write_file_atomically(options_.last_decision, pieces);
    ledger_.append(LedgerCommit{.committed_at = std::chrono::round<std::chrono::milliseconds>(
                                    std::chrono::system_clock::now()),
                                .took = took,
                                .record = commit.record,
                                .certificate = commit.certificate});
    if (pending_) log_info("{}, digest {}", pending_->line, commit.record.previous_state.brief());
    pending_ = Pending{.reached = commit.record.step.next(), .line = describe(commit.record, took)};
    if (recorder_ != nullptr) recorder_->ledger_has_grown();
}

void RoundLog::generation_begun(const action::GenerationBegun& begun) {
    const GenerationRecord& record = begun.generation.record;
    if (record.generation <= ledger_.head().generation) return;
    ledger_.append(begun.generation);
    store_.remove_after(record.step);
    pending_.reset();
    log_warning("generation {} begins at step {}, state {}", record.generation, record.step.value(),
                record.state.brief());
    if (recorder_ == nullptr) return;
    recorder_->ledger_has_grown();
    recorder_->checkpoints_have_changed();
}

void RoundLog::generation_wanted(const action::GenerationWanted& wanted) {
    DEDLOC_CHECK(options_.project_key.has_value(),
                 "a generation is wanted of a host that has said it cannot sign one");
    log_warning("too few members are left to decide anything: signing generation {} at step {}",
                wanted.record.generation, wanted.record.step.value());
    const Digest digest = digest_of(options_.run, wanted.record);
    options_.events(event::GenerationSigned{
        .generation = {.record = wanted.record,
                       .signature = options_.project_key->sign(digest.bytes)}});
}

void RoundLog::settled(const action::Settled& settled) {
    LedgerSettled record{
        .step = settled.step, .reported = settled.reported, .equal = settled.equal, .digest = {}};
    if (settled.step == options_.last_step) record.digest = settled.digest;
    ledger_.append(record);
    if (options_.project_key) options_.publish(settled);
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
    options_.on_failure("The swarm refuses its own backbone: " + refused.reason);
}

void RoundLog::left(const action::Left&) {
    log_info("the swarm is left");
}

void RoundLog::note(const action::Note& note) {
    log_info("{}", note.line);
}

void RoundLog::failed(const std::string& sentence) {
    options_.on_failure(sentence);
}

}  // namespace dedloc::backbone
