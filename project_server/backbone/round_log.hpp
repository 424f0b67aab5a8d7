// The reactor's host in a backbone. It writes votes and decisions to the disk before the peer acts
// on them, then notifies the recorder and logs one line. If it has the project's key, it also signs
// the generations that the protocol asks for.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "peer/net/reactor.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/history_reader.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/backbone/live_run.hpp"
#include "project_server/backbone/run_recorder.hpp"

namespace dedloc::backbone {

/// Settings of a RoundLog.
struct RoundLogOptions {
    RunId run;                           ///< the run's id
    StepIndex last_step;                 ///< the run ends with this state
    std::filesystem::path voter;         ///< file of the voter's memory
    std::filesystem::path pause;         ///< file of the pause
    std::filesystem::path mixture;       ///< file of the mixture
    LiveRun* live = nullptr;             ///< gets every event; null: none are published
    std::optional<KeyPair> project_key;  ///< absent: signs no generations, publishes nothing
    EventSink events;                    ///< takes event::GenerationSigned
    /// Called when a generation is in the ledger.
    std::function<void(const GenerationRecord&)> begun;
    /// Called with a list of revocations that another voter has sent: untrusted.
    std::function<void(const Buffer&)> revocations_heard;
    /// Publishes the run's head with the addresses of the other voters that are linked. Called only
    /// with the project's key.
    std::function<void(const action::Settled&, const std::vector<Endpoint>& others)> publish;
    std::function<void(const std::string&)> on_failure;  ///< as in BackboneOptions
    /// Pauses the run; called again for as long as it is needed.
    std::function<void()> pause_run;
};

/// The backbone's net::Host. Thread: the network thread.
class RoundLog final : public net::Host {
  public:
    /// `ledger`, the `reader` of its history, `store` and `recorder` (may be null) must outlive it.
    RoundLog(LedgerWriter& ledger, HistoryReader& reader, const CheckpointStore& store,
             RunRecorder* recorder, RoundLogOptions options);

    /// Throws IoError if something durable cannot be written.
    void perform(const HostAction& action) override;
    /// Calls on_failure.
    void failed(const std::string& sentence) override;

  private:
    using Clock = std::chrono::steady_clock;
    /// A commit whose log line waits for the digest of the state after it.
    struct Pending {
        StepIndex reached;
        std::string line;
    };

    /// Writes the voter's memory.
    void on(const action::Voted& vote);
    /// Appends the decision to the ledger.
    void on(const action::Committed& commit);
    /// Appends the generation to the ledger, unless it is there, and removes void checkpoints.
    void on(const action::GenerationBegun& begun);
    /// Signs the generation with the project's key and answers with event::GenerationSigned.
    void on(const action::GenerationWanted& wanted);
    /// Writes the pause.
    void on(const action::PauseChanged& changed);
    void on(const action::MixtureChanged& changed);
    void on(const action::TurnChanged&) {}  ///< a backbone is no trainer
    void on(const action::RevocationsHeard& heard);
    /// Queues the query; the reader answers.
    void on(const action::ReadHistory& wanted);
    /// Appends the digest reports to the ledger and publishes the run's head. The third update in a
    /// row that has changed nothing pauses the run, which would burn its steps.
    void on(const action::Settled& settled);
    /// Remembers the addresses of the other voters; the recorder gets all seats.
    void on(const action::SwarmSeen& swarm);
    /// Logs the end; the recorder marks the run as finished.
    void on(const action::Finished& finished);
    /// A failure of the backbone, as failed().
    void on(const action::Refused& refused);
    void on(const action::Left&);  ///< logs it
    /// Logs the line; the recorder gets it if it accuses a peer.
    void on(const action::Note& note);
    void look_for_skipped(const action::Settled& settled);
    void tell(const control::Suspicion& suspicion);

    LedgerWriter& ledger_;
    HistoryReader& reader_;
    const CheckpointStore& store_;
    RunRecorder* const recorder_;
    const RoundLogOptions options_;
    Clock::time_point last_commit_ = Clock::now();
    std::optional<Pending> pending_;
    std::optional<action::Settled> last_settled_;
    int skipped_ = 0;                     ///< last updates in a row that have changed nothing
    std::vector<Endpoint> other_voters_;  ///< as of the last action::SwarmSeen
};

}  // namespace dedloc::backbone
