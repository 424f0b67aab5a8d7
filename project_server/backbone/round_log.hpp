// What the reactor's host does in a backbone: votes and decisions become durable before anything
// follows from them, then news for the database and one line of log. Where the project's key lies,
// it also signs the generations that the protocol asks for. Other voters get what they have missed
// from the ledger.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "peer/net/reactor.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/backbone/ledger_history.hpp"
#include "project_server/backbone/run_recorder.hpp"

namespace dedloc::backbone {

struct RoundLogOptions {
    RunId run;
    StepIndex last_step;
    std::filesystem::path voter;         ///< file of the last vote
    std::optional<KeyPair> project_key;  ///< absent: the peer asks for no generations
    EventSink events;                    ///< takes event::GenerationSigned, event::HistoryRead
    /// A generation is in the ledger.
    std::function<void(const GenerationRecord&)> begun;
    /// Where the project's key lies: lets all know, with the addresses of the other voters that are
    /// here.
    std::function<void(const action::Settled&, const std::vector<Endpoint>& others)> publish;
    std::function<void(const std::string&)> on_failure;  ///< as in BackboneOptions
};

/// Thread: the network thread.
class RoundLog final : public net::Host {
  public:
    /// `ledger`, its `history`, `store` and `recorder` (may be null) must outlive it.
    RoundLog(LedgerWriter& ledger, LedgerHistory& history, const CheckpointStore& store,
             RunRecorder* recorder, RoundLogOptions options);

    void voted(const action::Voted& vote) override;
    void committed(const action::Committed& commit) override;
    void generation_begun(const action::GenerationBegun& begun) override;
    void generation_wanted(const action::GenerationWanted& wanted) override;
    void read_history(const action::ReadHistory& wanted) override;
    void settled(const action::Settled& settled) override;
    void swarm_seen(const action::SwarmSeen& swarm) override;
    void finished(const action::Finished& finished) override;
    void refused(const action::Refused& refused) override;
    void left(const action::Left& left) override;
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
    LedgerHistory& history_;
    const CheckpointStore& store_;
    RunRecorder* const recorder_;
    const RoundLogOptions options_;
    Clock::time_point last_commit_ = Clock::now();
    std::optional<Pending> pending_;
    std::vector<Endpoint> other_voters_;  ///< as last seen
};

}  // namespace dedloc::backbone
