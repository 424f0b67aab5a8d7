// A commit is entered in the history, then written to the journal, then published as news. The lock
// is free while the journal is written, so main never waits for the disk. A failed write is
// reported once and again when the disk has recovered; it stops nothing. The last few decisions of
// the present generation are kept with that generation, so that place_of() can still name the place
// of a state whose copy arrives some commits later. Resuming or a new generation replaces them.
#include "boinc_app/seat/events.hpp"

#include <fmt/format.h>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"

namespace dedloc::seat {
namespace {

/// A state is copied before the decision after the next one is applied.
constexpr std::size_t kMaxDecisions = 4;

}  // namespace

Events::Events(const PeerKey& peer, Codec codec, ReceiptJournal& journal)
    : peer_(peer), codec_(codec), journal_(journal) {
    news_.work.samples = journal.samples();
    news_.last_heard = std::chrono::steady_clock::now();
}

template <class Change>
void Events::journal(Change change) {
    try {
        change();
        if (is_journal_late_) tell("the disk takes the journal of contributions again");
        is_journal_late_ = false;
    } catch (const IoError& error) {
        if (!is_journal_late_) {
            tell(fmt::format("{}; this job goes on, and its work is counted all the same",
                             error.what()));
        }
        is_journal_late_ = true;
    }
}

void Events::perform(const HostAction& action) {
    std::visit([this](const auto& what) { on(what); }, action);
}

void Events::on(const action::Committed& commit) {
    const CommitRecord& record = commit.record;
    const page::SeenRound round = [&] {
        const std::lock_guard lock(mutex_);
        return history_.add(record, codec_, peer_, std::chrono::steady_clock::now());
    }();
    if (round.ours > 0) {
        journal([&] { journal_.append(record.step, Samples{round.ours}); });
    }
    const std::string averaged =
        round.averaged == Bytes{} ? ""
                                  : fmt::format("; {:.3f} MB averaged here",
                                                static_cast<double>(round.averaged.value()) / 1e6);
    log_info("step {} committed: loss {:.4f}, {} samples of {} members, {} ours{}", round.step,
             round.loss, round.samples, round.members, round.ours, averaged);
    const std::lock_guard lock(mutex_);
    decisions_.push_back({commit.record, commit.certificate});
    if (decisions_.size() > kMaxDecisions) decisions_.pop_front();
    news_.step = record.step.next();
    news_.work.samples = journal_.samples();
    news_.work.averaged += round.averaged;
    news_.has_joined = true;
}

void Events::on(const action::GenerationBegun& begun) {
    const GenerationRecord& record = begun.generation.record;
    journal([&] { journal_.rewind(record.step); });
    tell(fmt::format("generation {} begins at step {}", record.generation, record.step.value()));
    const std::lock_guard lock(mutex_);
    generation_ = begun.generation;
    decisions_.clear();
    news_.generation = record.generation;
    news_.first_step = record.step;
    news_.step = record.step;
    news_.work.samples = journal_.samples();
}

void Events::resumed(const StatePlace& place) {
    const std::lock_guard lock(mutex_);
    generation_ = place.generation;
    decisions_ = {place.decision};
    news_.generation = place.number();
    news_.first_step = place.generation ? place.generation->record.step : StepIndex{0};
    news_.step = place.step();
}

std::optional<StatePlace> Events::place_of(StepIndex step) const {
    const std::lock_guard lock(mutex_);
    for (const Decision& decision : decisions_) {
        if (decision.record.step.next() == step) return StatePlace{generation_, decision};
    }
    return std::nullopt;
}

void Events::on(const action::Finished& finished) {
    tell(fmt::format("the run is finished: step {}, digest {}", finished.step.value(),
                     finished.digest.hex()));
    const std::lock_guard lock(mutex_);
    news_.step = finished.step;
    news_.is_finished = true;
    changed_.notify_all();
}

void Events::on(const action::Refused& refused) {
    const std::lock_guard lock(mutex_);
    news_.refusal = refused.reason;
    changed_.notify_all();
}

void Events::on(const action::Left&) {
    tell("left the swarm");
}

void Events::on(const action::Note& note) {
    tell(note.line);
}

void Events::tell(const std::string& line) {
    log_info("{}", line);
    const std::lock_guard lock(mutex_);
    history_.add(line, std::chrono::system_clock::now());
}

void Events::on(const action::PauseChanged& changed) {
    const std::lock_guard lock(mutex_);
    news_.is_paused = changed.pause.count % 2 == 1;
}

void Events::on(const action::TurnChanged& changed) {
    const std::lock_guard lock(mutex_);
    news_.turn = changed.kind == TurnKind::kEveryRound ? std::string{} : changed.why;
}

void Events::joining() {
    const std::lock_guard lock(mutex_);
    news_.has_joined = false;
    news_.last_heard = std::chrono::steady_clock::now();
}

void Events::heard() {
    const std::lock_guard lock(mutex_);
    news_.last_heard = std::chrono::steady_clock::now();
}

void Events::failed(const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    if (!news_.failure) news_.failure = sentence;
    changed_.notify_all();
}

News Events::news() const {
    const std::lock_guard lock(mutex_);
    return news_;
}

page::History Events::history() const {
    const std::lock_guard lock(mutex_);
    return history_;
}

News Events::wait(std::chrono::milliseconds limit) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [this] { return is_over(); });
    return news_;
}

}  // namespace dedloc::seat
