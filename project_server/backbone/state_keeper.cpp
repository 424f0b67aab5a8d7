// Actions become commands in a queue; a caller blocks while it is full. The worker owns the state
// and needs no lock for it: a snapshot shares the state's memory, and is copied before a write if
// it is still held. The event of an update goes out before the checkpoint is written, so that the
// swarm does not wait for the disk. stop() lets queued commands finish and writes a last
// checkpoint. An error empties the queue; a caller that waits for a checkpoint then gets nothing.
#include "project_server/backbone/state_keeper.hpp"

#include <utility>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"

namespace dedloc::backbone {
namespace {

/// The protocol has at most one update, one load and one snapshot in progress. A caller that queues
/// more commands blocks.
constexpr std::size_t kMaxCommands = 16;

}  // namespace

StateKeeper::StateKeeper(std::unique_ptr<state::ModelState> state, const CheckpointStore& store,
                         const kernels::Workers& workers, KeeperOptions options)
    : options_(std::move(options)),
      store_(store),
      workers_(workers),
      state_(std::move(state)),
      shares_(state_->bytes()),
      holds_state_(options_.holds_state) {
    DEDLOC_CHECK(options_.checkpoint_every >= 1, "the checkpoint interval must be at least 1");
    worker_ = std::thread{[this] { run(); }};
}

StateKeeper::~StateKeeper() {
    stop();
}

void StateKeeper::perform(TrainerAction action) {
    std::visit([this](auto& wanted) { take(std::move(wanted)); }, action);
}

void StateKeeper::stop() {
    {
        const std::lock_guard lock{mutex_};
        is_stopping_ = true;
    }
    changed_.notify_all();
    if (worker_.joinable()) worker_.join();
}

std::optional<StepIndex> StateKeeper::checkpoint(std::chrono::milliseconds limit) {
    auto written = std::make_shared<std::promise<std::optional<StepIndex>>>();
    auto step = written->get_future();
    push(Checkpoint{std::move(written)});
    if (step.wait_for(limit) != std::future_status::ready) return std::nullopt;
    try {
        return step.get();
    } catch (const std::future_error&) {
        return std::nullopt;  // the worker has ended
    }
}

void StateKeeper::push(Command command) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return is_stopping_ || commands_.size() < kMaxCommands; });
    if (is_stopping_) return;
    commands_.push_back(std::move(command));
    lock.unlock();
    changed_.notify_all();
}

std::optional<StateKeeper::Command> StateKeeper::pop() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return is_stopping_ || !commands_.empty(); });
    if (commands_.empty()) return std::nullopt;
    Command command = std::move(commands_.front());
    commands_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return command;
}

void StateKeeper::run() {
    try {
        run_commands();
    } catch (const Error& error) {
        {
            const std::lock_guard lock{mutex_};
            is_stopping_ = true;
            commands_.clear();
        }
        changed_.notify_all();
        options_.on_failure(error.what());
    }
}

void StateKeeper::run_commands() {
    if (state_->step() != StepIndex{0}) checkpointed_ = state_->step();
    if (holds_state_) {
        options_.events(
            event::StateReached{.step = state_->step(), .digest = state_->digest(workers_)});
    }
    while (auto command = pop()) {
        std::visit([this](const auto& what) { execute(what); }, *command);
    }
    if (holds_state_ && checkpointed_ != state_->step()) write_checkpoint(state_->digest(workers_));
}

void StateKeeper::execute(const action::Freeze& freeze) {
    options_.events(event::ContributionFrozen{
        .step = freeze.step, .contribution = Contribution{.samples = Samples{0}, .sum = nullptr}});
}

void StateKeeper::execute(const action::Apply& apply) {
    DEDLOC_CHECK(apply.step == state_->step(), "an update must apply to the current state",
                 apply.step.value(), state_->step().value());
    shares_.before_write();
    state_->apply(*apply.average, apply.scalars, workers_);
    reached(state_->digest(workers_));
}

void StateKeeper::execute(const action::TakeSnapshot&) {
    const auto leaves = state_->leaf_digests(workers_);
    options_.events(event::SnapshotTaken{
        .step = state_->step(),
        .digest = state::state_digest(state_->step(), leaves, state_->byte_count()),
        .bytes = shares_.share(),
        .leaves = leaves});
}

void StateKeeper::execute(const action::Load& load) {
    shares_.before_write();
    if (state_->restore(load.step, *load.bytes, load.digest, workers_)) {
        reached(load.digest);
    } else {
        options_.events(event::StateRefused{.step = load.step});
    }
}

void StateKeeper::execute(const Checkpoint& wanted) {
    if (holds_state_ && checkpointed_ != state_->step()) write_checkpoint(state_->digest(workers_));
    wanted.written->set_value(holds_state_ ? std::optional{state_->step()} : std::nullopt);
}

void StateKeeper::reached(const Digest& digest) {
    holds_state_ = true;
    options_.events(event::StateReached{.step = state_->step(), .digest = digest});
    // Written after the event, so that the swarm does not wait for the disk.
    const auto step = state_->step();
    if (step.value() % options_.checkpoint_every == 0 || step == options_.last_step) {
        write_checkpoint(digest);
    }
}

void StateKeeper::write_checkpoint(const Digest& digest) {
    store_.save({.step = state_->step(),
                 .digest = digest,
                 .elements = state_->element_count(),
                 .vectors = state_->vector_count()},
                state_->bytes());
    checkpointed_ = state_->step();
    options_.on_checkpoint();
}

}  // namespace dedloc::backbone
