// Commits that a keeper of history (backbone) has missed. A voter that is ahead says so in its
// heartbeats; that is only a reason to ask it. The commits come one after the other, each with its
// certificate, from the ledger of the voter's host.
#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "peer/core/core.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc {

/// A voter says that it is ahead: whether it is, its commits prove.
void Peer::Core::note_ahead(const PeerKey& voter) {
    if (!keeps_history() || !voter_.is_voter(voter)) return;
    const membership::Known* known = links_.find(voter);
    if (known != nullptr) missed_.note_ahead(voter, std::max(known->step, head().step.next()));
}

void Peer::Core::ask_for_history() {
    if (pending_ && head().step >= pending_->record.step) {
        begin_generation(*std::exchange(pending_, {}));
    }
    std::vector<PeerKey> backbones;
    if (pending_) {
        // A generation has begun without us: any backbone may have the commits that led to it.
        for (const auto& [peer, known] : links_.known()) {
            if (known.role == Role::kBackbone) backbones.push_back(peer);
        }
    }
    const auto peer = missed_.peer_to_ask(now_, backbones);
    if (peer) out_.send(*peer, head().step, wire::CommitQuery{});
}

void Peer::Core::take(const wire::Message& m, const wire::CommitQuery&) {
    if (!keeps_history() || !links_.has_space(m.sender, config_.rules.window_bytes)) return;
    if (!missed_.may_answer(now_, m.sender)) return;
    out_.act(action::ReadHistory{.to = m.sender,
                                 .generation = m.generation,
                                 .step = m.step,
                                 .max_entries = wire::kMaxCommitsPerQuery});
}

void Peer::Core::on(const event::HistoryRead& event) {
    for (const auto& entry : event.entries) {
        if (const auto* generation = std::get_if<SignedGeneration>(&entry)) {
            out_.send(event.to, head().step, wire::Generation{*generation});
            continue;
        }
        const auto& decision = std::get<Decision>(entry);
        out_.send(event.to, decision.record.step, wire::full_commit(decision));
    }
}

}  // namespace dedloc
