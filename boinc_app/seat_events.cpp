#include "boinc_app/seat_events.hpp"

#include <algorithm>

#include "peer/base/log.hpp"

namespace dedloc {

SeatEvents::SeatEvents(const PeerKey& peer, ReceiptJournal& journal)
    : peer_(peer), journal_(journal) {
    news_.samples = journal.samples();
    news_.last_heard = std::chrono::steady_clock::now();
}

void SeatEvents::committed(const action::Committed& commit) {
    const CommitRecord& record = commit.record;
    const auto ours = std::find_if(record.members.begin(), record.members.end(),
                                   [this](const CommitLine& line) { return line.peer == peer_; });
    Samples brought;
    if (ours != record.members.end() && ours->samples.value() > 0) {
        journal_.append(record.step, ours->samples);
        brought = ours->samples;
    }
    double loss_sum = 0;
    Samples samples;
    for (const CommitLine& line : record.members) {
        loss_sum += line.loss_sum;
        samples += line.samples;
    }
    log_info("step {} committed: loss {:.4f}, {} samples of {} members, {} ours",
             record.step.next().value(), loss_sum / static_cast<double>(samples.value()),
             samples.value(), record.members.size(), brought.value());
    const std::lock_guard lock(mutex_);
    news_.step = record.step.next();
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
