// What the reactor's host does in a backbone: each commit becomes durable before its update is
// applied, then news for the database and one line of log.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "peer/net/reactor.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/backbone/run_recorder.hpp"

namespace dedloc::backbone {

/// Thread: the network thread.
class RoundLog final : public net::Host {
  public:
    /// `ledger` and `recorder` (may be null) must outlive it. `on_failure` as in BackboneOptions.
    RoundLog(LedgerWriter& ledger, RunRecorder* recorder,
             std::function<void(const std::string&)> on_failure);

    void committed(const action::Committed& commit) override;
    void settled(const action::Settled& settled) override;
    void swarm_seen(const action::SwarmSeen& swarm) override;
    void finished(const action::Finished& finished) override;
    void refused(const action::Refused& refused) override;
    void note(const action::Note& note) override;
    void failed(const std::string& sentence) override;

  private:
    using Clock = std::chrono::steady_clock;
    /// A commit whose line waits for the digest of the state that it led to.
    struct Pending {
        StepIndex reached;
        std::string line;
    };

    LedgerWriter& ledger_;
    RunRecorder* const recorder_;
    const std::function<void(const std::string&)> on_failure_;
    Clock::time_point last_commit_ = Clock::now();
    std::optional<Pending> pending_;
};

}  // namespace dedloc::backbone
