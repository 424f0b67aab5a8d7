// World: a host's disk. An action that must be durable before later ones take effect (Voted,
// Committed, Settled, GenerationBegun, PauseChanged, MixtureChanged) is written before the next
// action of the same event, after Profile::disk_latency. A checkpoint is written beside the peer's
// thread. What a crash interrupts is not written.
#include <utility>

#include "peer/simulation/node.hpp"
#include "peer/simulation/world.hpp"

namespace dedloc::simulation {
namespace {

constexpr std::size_t kCheckpointsKept = 3;

}  // namespace

/// Gives the trainer the model state that the peer starts with, if any.
void World::load_disk(Id id, Memory memory) {
    Node& host = node(id);
    const auto& checkpoints = host.disk.checkpoints;
    if (memory != Memory::kLost && !checkpoints.empty()) {
        const auto& written = memory == Memory::kDisk ? checkpoints.back() : checkpoints.front();
        host.state_generation = written.generation;
        host.trainer->start_from(written.state);
    } else if (host.role == Role::kBackbone || host.profile.holds_first_state) {
        host.trainer->start_at_the_beginning();
    }
}

/// Writes a checkpoint after event::StateReached; the host keeps the newest three.
void World::write_checkpoint(Id id, StepIndex step) {
    Node& host = node(id);
    const std::uint64_t every = host.profile.checkpoint_every;
    if (every == 0 || step.value() % every != 0 || host.trainer->is_tainted() ||
        host.trainer->state().step() != step || host.disk.is_full) {
        return;
    }
    const auto keep = [this, id, life = host.life](Disk::Written checkpoint) {
        Node& then = node(id);
        if (!then.is_alive || then.life != life) return;
        auto& checkpoints = then.disk.checkpoints;
        checkpoints.push_back(std::move(checkpoint));
        if (checkpoints.size() > kCheckpointsKept) checkpoints.erase(checkpoints.begin());
    };
    Disk::Written checkpoint{host.state_generation, host.trainer->checkpoint()};
    if (host.profile.disk_latency == Duration{0}) return keep(std::move(checkpoint));
    after(host.profile.disk_latency, [keep, checkpoint] { keep(checkpoint); });
}

bool World::writes(const Node& host, const Action& action) {
    if (host.role != Role::kBackbone) return false;
    return std::holds_alternative<action::Voted>(action) ||
           std::holds_alternative<action::Committed>(action) ||
           std::holds_alternative<action::Settled>(action) ||
           std::holds_alternative<action::GenerationBegun>(action) ||
           std::holds_alternative<action::PauseChanged>(action) ||
           std::holds_alternative<action::MixtureChanged>(action);
}

/// Requires writes().
void World::do_write(Id id, const Action& action) {
    Disk& disk = node(id).disk;
    if (const auto* voted = std::get_if<action::Voted>(&action)) {
        disk.voter = voted->state;
    } else if (const auto* committed = std::get_if<action::Committed>(&action)) {
        disk.ledger.emplace_back(Decision{committed->record, committed->certificate});
    } else if (const auto* begun = std::get_if<action::GenerationBegun>(&action)) {
        disk.ledger.emplace_back(begun->generation);
        disk.settled.reset();
    } else if (const auto* settled = std::get_if<action::Settled>(&action)) {
        disk.settled = settled->step;
    } else if (const auto* changed = std::get_if<action::PauseChanged>(&action)) {
        disk.pause = changed->pause;
    } else if (const auto* mixed = std::get_if<action::MixtureChanged>(&action)) {
        disk.mixture = mixed->as_signed;
    }
}

std::optional<SignedGeneration> World::last_generation(const Disk& disk) const {
    for (auto entry = disk.ledger.rbegin(); entry != disk.ledger.rend(); ++entry) {
        if (const auto* begun = std::get_if<SignedGeneration>(&*entry)) return *begun;
    }
    return {};
}

std::optional<Decision> World::last_decision(const Disk& disk) const {
    if (disk.ledger.empty()) return {};
    const auto* decision = std::get_if<Decision>(&disk.ledger.back());
    return decision != nullptr ? std::optional{*decision} : std::nullopt;
}

/// Answers with the ledger entries that follow this generation and step.
void World::read_history(Id id, const action::ReadHistory& wanted) {
    event::HistoryRead read{.to = wanted.to, .entries = {}};
    std::uint64_t generation = 0;
    StepIndex step;
    bool is_found = false;
    for (const auto& entry : node(id).disk.ledger) {
        is_found = is_found || (generation == wanted.generation && step == wanted.step);
        if (is_found && read.entries.size() < wanted.max_entries) read.entries.push_back(entry);
        if (const auto* begun = std::get_if<SignedGeneration>(&entry)) {
            generation = begun->record.generation;
            step = begun->record.step;
        } else {
            step = std::get<Decision>(entry).record.step.next();
        }
    }
    after(node(id).profile.disk_latency, [this, id, life = node(id).life, read] {
        if (node(id).life == life) deliver(id, read);
    });
}

}  // namespace dedloc::simulation
