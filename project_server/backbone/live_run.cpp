// Each change becomes an event with the next number, is applied to the picture and published under
// one lock, so a subscriber can join picture and events by the number. There is no socket before
// open(): the ledger's old records only build the picture. The digest of an old step stands in the
// commit after it, so its report is kept until then. swarm_seen() walks the old and the new member
// list together, both in order of keys, and publishes only the differences and the progress.
#include "project_server/backbone/live_run.hpp"

#include <utility>
#include <variant>

#include "peer/config.hpp"
#include "project_server/backbone/pause_file.hpp"
#include "project_server/backbone/role_name.hpp"
#include "project_server/control/picture.hpp"
#include "project_server/database/database.hpp"

namespace dedloc::backbone {
namespace {

using control::RunState;

control::MemberView view_of(const SeatView& seat) {
    return {.key = seat.peer,
            .role = role_name(seat.role),
            .user = seat.user,
            .has_state = seat.has_state};
}

}  // namespace

LiveRun::LiveRun(const formats::RunFile& run, const std::optional<SignedPause>& pause,
                 const SharedMixture& mixture)
    : pause_(pause), mixture_{.as_signed = mixture, .in_force = mixture} {
    picture_.session =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                       std::chrono::system_clock::now().time_since_epoch())
                                       .count());
    picture_.run = run.name;
    picture_.steps = run.steps;
    picture_.target_batch = run.target_batch;
    picture_.state = state();
}

RunState LiveRun::state() const {
    if (is_finished_) return RunState::kFinished;
    return is_paused(pause_) ? RunState::kPaused : RunState::kRunning;
}

void LiveRun::happen(control::Happening what) {
    const std::lock_guard lock{mutex_};
    happen_locked(std::move(what));
}

void LiveRun::happen_locked(control::Happening what) {
    const control::Event event{.session = picture_.session,
                               .sequence = picture_.sequence + 1,
                               .time = server::unix_now(),
                               .what = std::move(what)};
    (void)control::apply(picture_, event);
    if (socket_) socket_->publish(control::write(event));
    changed_.notify_all();
}

void LiveRun::open(const std::string& path) {
    const std::lock_guard lock{mutex_};
    socket_.emplace(control::Socket::Kind::kPublish).listen(path);
}

void LiveRun::take(const LedgerRecord& record) {
    if (const auto* commit = std::get_if<LedgerCommit>(&record)) {
        take_commit(*commit);
    } else if (const auto* settled = std::get_if<LedgerSettled>(&record)) {
        settled_ = *settled;
    } else if (const auto* generation = std::get_if<SignedGeneration>(&record)) {
        const std::lock_guard lock{mutex_};
        happen_locked(control::StepsVoid{generation->record.step.value()});
        if (!std::exchange(is_finished_, false)) return;
        happen_locked(control::StateChanged{state()});
    } else if (std::holds_alternative<StateCertificate>(record)) {
        finished();
    }
}

void LiveRun::take_commit(const LedgerCommit& commit) {
    const CommitRecord& record = commit.decision.record;
    // An old step's digest is in the next commit; a new step is settled before that.
    if (settled_ && settled_->step == record.step) {
        happen(control::StepSettled{.step = record.step.value(),
                                    .digest = record.previous_state,
                                    .reported = settled_->reported,
                                    .equal = settled_->equal});
    }
    Samples samples;
    double loss_sum = 0;
    for (const auto& line : record.members) {
        samples += line.samples;
        loss_sum += line.loss_sum;
    }
    happen(control::StepCommitted{
        {.step = record.step.next().value(),
         .samples = samples.value(),
         .loss = samples == Samples{0} ? 0.0 : loss_sum / static_cast<double>(samples.value()),
         .seconds = seconds_of(commit.took),
         .members = record.members.size(),
         .digest = {}}});
}

void LiveRun::settled(const action::Settled& settled) {
    settled_.reset();
    happen(control::StepSettled{.step = settled.step.value(),
                                .digest = settled.digest,
                                .reported = settled.reported,
                                .equal = settled.equal});
}

void LiveRun::swarm_seen(const action::SwarmSeen& swarm) {
    control::ProgressView progress{.step = swarm.step.value(),
                                   .samples = swarm.samples.value(),
                                   .coordinator = swarm.coordinator};
    const std::lock_guard lock{mutex_};
    // Both lists ascend by key.
    const auto before = picture_.members;
    auto known = before.begin();
    for (const SeatView& seat : swarm.seats) {
        while (known != before.end() && known->key < seat.peer) {
            happen_locked(control::MemberLeft{(known++)->key});
        }
        const bool is_known = known != before.end() && known->key == seat.peer;
        if (!is_known || *known != view_of(seat)) {
            happen_locked(control::MemberJoined{view_of(seat)});
        }
        if (is_known) ++known;
        if (seat.role != Role::kTrainer || !seat.has_state) continue;
        ++progress.trainers;
        progress.samples_per_second += seat.samples_per_second;
    }
    while (known != before.end()) happen_locked(control::MemberLeft{(known++)->key});
    happen_locked(control::Progress{progress});
}

void LiveRun::pause_changed(const action::PauseChanged& changed) {
    const std::lock_guard lock{mutex_};
    pause_ = changed.pause;
    if (state() != picture_.state) happen_locked(control::StateChanged{state()});
}

void LiveRun::mixture_changed(const action::MixtureChanged& changed) {
    const std::lock_guard lock{mutex_};
    mixture_ = changed;
    changed_.notify_all();
}

void LiveRun::finished() {
    const std::lock_guard lock{mutex_};
    is_finished_ = true;
    if (state() != picture_.state) happen_locked(control::StateChanged{state()});
}

void LiveRun::suspected(const control::Suspicion& suspicion) {
    happen(suspicion);
}

control::Snapshot LiveRun::picture() const {
    const std::lock_guard lock{mutex_};
    return picture_;
}

std::optional<SignedPause> LiveRun::pause() const {
    const std::lock_guard lock{mutex_};
    return pause_;
}

action::MixtureChanged LiveRun::mixture() const {
    const std::lock_guard lock{mutex_};
    return mixture_;
}

bool LiveRun::await_mixture(std::uint64_t version, std::chrono::milliseconds limit) const {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, limit, [&] {
        return mixture_.as_signed != nullptr && mixture_.as_signed->version >= version;
    });
}

RunState LiveRun::await_pause(bool is_paused, std::chrono::milliseconds limit) const {
    const RunState wanted = is_paused ? RunState::kPaused : RunState::kRunning;
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, limit, [&] {
        return picture_.state == wanted || picture_.state == RunState::kFinished;
    });
    return picture_.state;
}

}  // namespace dedloc::backbone
