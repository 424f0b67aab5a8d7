#include "boinc_app/seat_events.hpp"

#include "peer/base/log.hpp"

namespace dedloc {

SeatEvents::SeatEvents(const PeerKey& peer, ReceiptJournal& journal)
    : peer_(peer), journal_(journal) {
    news_.samples = journal.samples();
    news_.last_heard = std::chrono::steady_clock::now();
}

void SeatEvents::committed(const action::Committed& commit) {
    const CommitRecord& record = commit.record;
    Samples ours;
    Samples samples;
    double loss_sum = 0;
    for (const CommitLine& line : record.members) {
        loss_sum += line.loss_sum;
        samples += line.samples;
        if (line.peer == peer_) ours = line.samples;
    }
    if (ours > Samples{}) journal_.append(record.step, ours);
    const double loss =
        samples == Samples{} ? 0.0 : loss_sum / static_cast<double>(samples.value());
    log_info("step {} committed: loss {:.4f}, {} samples of {} members, {} ours",
             record.step.next().value(), loss, samples.value(), record.members.size(),
             ours.value());
    const std::lock_guard lock(mutex_);
    news_.step = record.step.next();
    news_.samples = journal_.samples();
}

void SeatEvents::generation_begun(const action::GenerationBegun& begun) {
    const GenerationRecord& record = begun.generation.record;
    journal_.rewind(record.step);
    log_info("generation {} begins at step {}", record.generation, record.step.value());
    const std::lock_guard lock(mutex_);
    news_.step = record.step;
    news_.samples = journal_.samples();
}

void SeatEvents::finished(const action::Finished& finished) {
    log_info("the run is finished: step {}, digest {}", finished.step.value(),
             finished.digest.hex());
    const std::lock_guard lock(mutex_);
    news_.step = finished.step;
    news_.is_finished = true;
    changed_.notify_all();
}

void SeatEvents::refused(const action::Refused& refused) {
    const std::lock_guard lock(mutex_);
    news_.refusal = refused.reason;
    changed_.notify_all();
}

void SeatEvents::left(const action::Left&) {
    log_info("left the swarm");
}

void SeatEvents::note(const action::Note& note) {
    log_info("{}", note.line);
}

void SeatEvents::heard() {
    const std::lock_guard lock(mutex_);
    news_.last_heard = std::chrono::steady_clock::now();
}

void SeatEvents::failed(const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    if (!news_.failure) news_.failure = sentence;
    changed_.notify_all();
}

SeatNews SeatEvents::news() const {
    const std::lock_guard lock(mutex_);
    return news_;
}

SeatNews SeatEvents::wait(std::chrono::milliseconds limit) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [this] { return is_over(); });
    return news_;
}

}  // namespace dedloc
