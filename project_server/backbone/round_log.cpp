// Handlers write a decision to the disk first and tell recorder, live picture and log of it
// afterwards, so none of them knows of a decision that a crash could undo. The line of a commit
// waits in pending_ until the state after it is settled, or the next commit names its digest.
// look_for_skipped() compares the digests of settled states that follow each other. A generation is
// signed here and goes back as an event; publishing and pausing are calls into the backbone.
#include "project_server/backbone/round_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "project_server/backbone/pause_file.hpp"
#include "project_server/backbone/voter_memory.hpp"
#include "project_server/database/suspicions.hpp"
#include "project_server/run_sources.hpp"

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
                       seconds_of(took));
}

/// Updates in a row that have changed nothing, until the administrator is told, and until the run
/// is paused.
constexpr int kSkippedToNote = 2;
constexpr int kSkippedToPause = 3;

}  // namespace

RoundLog::RoundLog(LedgerWriter& ledger, HistoryReader& reader, const CheckpointStore& store,
                   RunRecorder* recorder, RoundLogOptions options)
    : ledger_(ledger),
      reader_(reader),
      store_(store),
      recorder_(recorder),
      options_(std::move(options)) {}

void RoundLog::perform(const HostAction& action) {
    std::visit([this](const auto& what) { on(what); }, action);
}

void RoundLog::on(const action::Voted& vote) {
    write_voter_memory(options_.voter, vote.state);
}

void RoundLog::on(const action::Committed& commit) {
    const auto now = Clock::now();
    const auto took = std::chrono::round<std::chrono::milliseconds>(now - last_commit_);
    last_commit_ = now;
    ledger_.append(LedgerCommit{.committed_at = std::chrono::round<std::chrono::milliseconds>(
                                    std::chrono::system_clock::now()),
                                .took = took,
                                .decision = {commit.record, commit.certificate}});
    if (pending_) log_info("{}, digest {}", pending_->line, commit.record.previous_state.brief());
    pending_ = Pending{.reached = commit.record.step.next(), .line = describe(commit.record, took)};
    if (recorder_ != nullptr) recorder_->ledger_has_grown();
}

void RoundLog::on(const action::GenerationBegun& begun) {
    const GenerationRecord& record = begun.generation.record;
    if (record.generation <= ledger_.head().generation) return;
    ledger_.append(begun.generation);
    store_.remove_after(record.step);
    pending_.reset();
    log_info("generation {} with {} voters begins at step {}, state {}", record.generation,
             record.voters.size(), record.step.value(), record.state.brief());
    options_.begun(record);
    if (recorder_ == nullptr) return;
    recorder_->ledger_has_grown();
    recorder_->checkpoints_have_changed();
}

void RoundLog::on(const action::GenerationWanted& wanted) {
    if (!options_.project_key) {
        log_error("the project's key is not here: generation {} is not signed",
                  wanted.record.generation);
        return;
    }
    log_info("signing generation {} with {} voters at step {}", wanted.record.generation,
             wanted.record.voters.size(), wanted.record.step.value());
    const Digest digest = digest_of(options_.run, wanted.record);
    options_.events(event::GenerationSigned{
        .generation = {.record = wanted.record,
                       .signature = options_.project_key->sign(digest.bytes)}});
}

void RoundLog::on(const action::PauseChanged& changed) {
    write_pause(options_.pause, changed.pause);
    skipped_ = 0;
    if (recorder_ != nullptr) recorder_->pause_changed(is_paused(changed.pause));
    if (options_.live != nullptr) options_.live->pause_changed(changed);
}

void RoundLog::on(const action::MixtureChanged& changed) {
    server::write_mixture(options_.mixture, *changed.as_signed);
    if (options_.live != nullptr) options_.live->mixture_changed(changed);
}

void RoundLog::on(const action::RevocationsHeard& heard) {
    options_.revocations_heard(heard.list);
}

void RoundLog::on(const action::ReadHistory& wanted) {
    reader_.ask(wanted, std::ranges::binary_search(ledger_.head().voters, wanted.to));
}

void RoundLog::on(const action::Settled& settled) {
    LedgerSettled record{
        .step = settled.step, .reported = settled.reported, .equal = settled.equal, .digest = {}};
    if (settled.step == options_.last_step) record.digest = settled.digest;
    ledger_.append(record);
    if (options_.live != nullptr) options_.live->settled(settled);
    if (options_.project_key) options_.publish(settled, other_voters_);
    if (!pending_ || pending_->reached == settled.step) {
        // A step that was committed before this process started has no pending line.
        const std::string line =
            pending_ ? pending_->line : fmt::format("step {}", settled.step.value());
        log_info("{}, digest {} at {} of {}", line, settled.digest.brief(), settled.equal,
                 settled.reported);
        pending_.reset();
    }
    if (recorder_ != nullptr) recorder_->ledger_has_grown();
    look_for_skipped(settled);
}

/// An update is skipped if the norm of its average is not finite: its state has the same digest as
/// the one before. Members refuse averages with such elements, so this is the last line of defence.
void RoundLog::look_for_skipped(const action::Settled& settled) {
    const bool is_skipped = last_settled_ && last_settled_->generation == settled.generation &&
                            last_settled_->step.next() == settled.step &&
                            last_settled_->digest == settled.digest;
    skipped_ = is_skipped ? skipped_ + 1 : 0;
    last_settled_ = settled;
    if (skipped_ < kSkippedToNote) return;
    const bool pauses = skipped_ >= kSkippedToPause && options_.project_key;
    const std::string line = fmt::format(
        "the last {} updates have changed nothing, because their averages were not "
        "finite{}",
        skipped_, pauses ? ": the run is paused" : "");
    log_warning("{}", line);
    tell({.key = {}, .what = "updates change nothing", .step = settled.step.value(), .text = line});
    if (pauses) options_.pause_run();
}

void RoundLog::on(const action::SwarmSeen& swarm) {
    other_voters_.clear();
    for (const SeatView& seat : swarm.seats) {
        // Only voters' addresses are published: other members could claim any address.
        if (std::ranges::binary_search(ledger_.head().voters, seat.peer)) {
            other_voters_.push_back(seat.endpoint);
        }
    }
    if (recorder_ != nullptr) recorder_->swarm_seen(swarm.seats);
    if (options_.live != nullptr) options_.live->swarm_seen(swarm);
}

void RoundLog::on(const action::Finished& finished) {
    log_info("the run is finished: step {}, digest {}", finished.step.value(),
             finished.digest.hex());
    const Head& head = ledger_.head();
    if (!finished.votes.empty() && finished.step == head.step && !ledger_.has_certificate()) {
        ledger_.append(StateCertificate{.generation = head.generation,
                                        .step = head.step,
                                        .record = head.record,
                                        .state = finished.digest,
                                        .votes = finished.votes});
    }
    if (recorder_ != nullptr) recorder_->run_is_finished(finished.digest);
    if (options_.live != nullptr) options_.live->finished();
}

void RoundLog::on(const action::Refused& refused) {
    options_.on_failure("The swarm refuses this backbone: " + refused.reason);
}

void RoundLog::on(const action::Left&) {
    log_info("left the swarm");
}

void RoundLog::on(const action::Note& note) {
    log_info("{}", note.line);
    if (!note.suspect) return;
    tell({.key = *note.suspect,
          .what = server::kind_of_fault(note.line),
          .step = ledger_.head().step.value(),
          .text = note.line});
}

void RoundLog::tell(const control::Suspicion& suspicion) {
    if (options_.live != nullptr) options_.live->suspected(suspicion);
    if (recorder_ != nullptr) recorder_->suspected(suspicion);
}

void RoundLog::failed(const std::string& sentence) {
    options_.on_failure(sentence);
}

}  // namespace dedloc::backbone
