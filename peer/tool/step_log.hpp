// The host of the tool's peer: a line of JSON on standard output for every state reached, and news
// for main. README.md says what the fields mean.
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

namespace dedloc::tool {

struct StepLogOptions {
    RunId run;
    std::uint64_t elements = 0;
    Codec codec = Codec::kFp32;
    /// Of a backbone that may sign generations, and where their events go.
    std::optional<KeyPair> project;
    EventSink events;
    std::function<void(const action::Settled&)> publish;  ///< what such a backbone lets all know
    const BackboneMemory* memory = nullptr;  ///< of a backbone that wants to remember; borrowed
    bool is_quiet = false;                   ///< no lines for steps, only the last one
};

/// Why a stay is over.
struct StayEnd {
    bool is_finished = false;            ///< the run has its last step, and we hold it
    std::optional<std::string> failure;  ///< refused, or something of ours cannot go on; a sentence
};

/// Thread: any; calls of net::Host come from the network thread.
class StepLog final : public net::Host {
  public:
    /// `watch` outlives it.
    StepLog(RoundWatch& watch, StepLogOptions options);

    void voted(const action::Voted& vote) override;
    void committed(const action::Committed& commit) override;
    void generation_begun(const action::GenerationBegun& begun) override;
    void generation_wanted(const action::GenerationWanted& wanted) override;
    void read_history(const action::ReadHistory& wanted) override;
    void settled(const action::Settled& settled) override;
    void swarm_seen(const action::SwarmSeen&) override {}
    void finished(const action::Finished& finished) override;
    void refused(const action::Refused& refused) override;
    void left(const action::Left&) override {}
    void note(const action::Note& note) override;
    void failed(const std::string& sentence) override;

    /// The trainer holds this state: prints its line.
    void reached(const event::StateReached& reached);
    /// Fails the stay unless this is the average that the record of the step promises, as far as
    /// AverageCheck can tell. After committed(), and from one thread only, which is the trainer's.
    void check(StepIndex step, const FloatVector& average);
    /// First line: who we are.
    void print_start(const PeerKey& peer, std::uint16_t port);
    /// Last line.
    void print_end(const std::string& reason);

    /// Nothing in it while the stay goes on.
    StayEnd end() const;

  private:
    void print(const std::string& line);
    std::string line_of(const event::StateReached& reached) const;

    RoundWatch& watch_;
    const StepLogOptions options_;
    const double started_ = seconds_now();
    AverageCheck average_check_;  ///< the trainer's own

    mutable std::mutex mutex_;  ///< guards all below
    StayEnd end_;
    std::map<StepIndex, Decision> decided_;  ///< the last few
    std::uint64_t generation_ = 0;
    std::uint64_t rounds_ = 0;  ///< that we were in to the end
    StepIndex step_;
    Digest digest_;
    Traffic sent_;      ///< at the last line
    Traffic received_;  ///< at the last line
    double cpu_ = 0;    ///< at the last line
};

}  // namespace dedloc::tool
