// The Host of the tool's peer: prints a line of JSON on standard output for every state reached and
// records why the stay ends. README.md describes the fields.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "peer/base/digest.hpp"
#include "peer/net/reactor.hpp"
#include "peer/tool/average_check.hpp"
#include "peer/tool/backbone_memory.hpp"
#include "peer/tool/round_watch.hpp"
#include "peer/tool/synthetic_trainer.hpp"

namespace dedloc::tool {

/// Parameters of a StepLog.
struct StepLogOptions {
    RunId run;                       ///< for signed generations and the first line
    PeerKey peer;                    ///< this peer, whose part in a round is printed
    std::uint64_t elements = 0;      ///< length of the run's vector
    Codec codec = Codec::kFp32;      ///< for the check of averages
    std::optional<KeyPair> project;  ///< the project's key, if this backbone has it
    EventSink events;                ///< gets the answers to the core's requests
    /// Publishes the swarm's head; called only if there is a project key.
    std::function<void(const action::Settled&)> publish;
    const BackboneMemory* memory = nullptr;    ///< null: votes are not kept; must outlive it
    std::function<ComputingTime()> computing;  ///< what its trainer has computed so far
    bool is_quiet = false;                     ///< prints no lines for steps
};

/// Why a stay is over; both fields are empty while it goes on.
struct StayEnd {
    bool is_finished = false;            ///< the run is complete
    std::optional<std::string> failure;  ///< the swarm's refusal or a failure here, as a sentence
};

/// Thread: any; calls of net::Host come from the network thread.
class StepLog final : public net::Host {
  public:
    /// `watch` must outlive it.
    StepLog(RoundWatch& watch, StepLogOptions options);

    void perform(const HostAction& action) override;
    void failed(const std::string& sentence) override;

    /// The trainer has reached this state: prints its line.
    void reached(const event::StateReached& reached);
    /// Verifies an average with AverageCheck; if it is wrong, the stay fails. Call it after
    /// action::Committed, from the trainer's thread only.
    void check(StepIndex step, const FloatVector& average);
    /// Prints the first line.
    void print_start(const PeerKey& peer, std::uint16_t port);
    /// Prints the last line.
    void print_end(const std::string& reason);

    /// Whether and why the stay is over.
    StayEnd end() const;

  private:
    void on(const action::Voted& vote);
    void on(const action::Committed& commit);
    void on(const action::GenerationBegun& begun);
    void on(const action::GenerationWanted& wanted);
    void on(const action::ReadHistory& wanted);
    void on(const action::Settled& settled);
    void on(const action::Finished&);
    void on(const action::Refused& refused);
    void on(const action::Note& note);
    void on(const auto&) {}  ///< the others change no line
    void print(const std::string& line);
    std::string line_of(const event::StateReached& reached) const;

    RoundWatch& watch_;
    const StepLogOptions options_;
    const double started_ = seconds_now();
    AverageCheck average_check_;  ///< used by the trainer's thread only

    mutable std::mutex mutex_;  ///< guards the members below
    StayEnd end_;
    bool has_ended_ = false;                 ///< the last line is printed
    std::map<StepIndex, Decision> decided_;  ///< the last kKeptDecisions
    std::uint64_t generation_ = 0;
    std::uint64_t rounds_ = 0;  ///< states reached whose decision was known
    StepIndex step_;
    Digest digest_;
    Traffic sent_;      ///< at the last line
    Traffic received_;  ///< at the last line
    double cpu_ = 0;    ///< at the last line
};

}  // namespace dedloc::tool
