// One peer that is behind and the members it can fetch from, in virtual time: links with bandwidth
// and latency, members that die, lie, stall and step on. The protocol around it (who decides, who
// coordinates) is replaced by a history that is written down in advance.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "peer/state/catch_up.hpp"
#include "peer/state/donor.hpp"

namespace dedloc::test {

using namespace std::chrono_literals;

/// What was decided: states, averages and records by step. Made when first asked for.
class History {
  public:
    /// Of each state's leaves, every `drift`-th differs from the state before (1: all).
    History(std::uint64_t elements, std::uint64_t seed, std::uint32_t drift = 1)
        : elements_(elements), drift_(drift), random_(seed) {}

    std::uint64_t elements() const { return elements_; }
    SharedBytes state(StepIndex step);
    Digest state_digest(StepIndex step);
    SharedFloats average(StepIndex step);
    /// Of the round on state `step`.
    const CommitRecord& record(StepIndex step);
    /// The digest of the decision that led to `step`.
    Digest record_before(StepIndex step);
    static Certificate certificate();
    /// Of the state after `step` updates: what the voters have signed.
    StateCertificate proof(StepIndex step);
    static Digest origin() { return Digest{{std::byte{9}}}; }
    event::SnapshotTaken snapshot(StepIndex step);

  private:
    struct Step {
        SharedBytes state;
        Digest state_digest;
        std::vector<Digest> leaves;
        SharedFloats average;
        CommitRecord record;
    };
    Step& at(StepIndex step);
    Step make(const Step* before);

    const std::uint64_t elements_;
    const std::uint32_t drift_;
    Random random_;
    std::vector<std::unique_ptr<Step>> steps_;
};

struct Member {
    Member(PeerKey its_key, const RoundRules& rules) : key(its_key), donor(rules, workers) {}

    const PeerKey key;
    const kernels::ThisThread workers{};
    state::Donor donor;
    state::Own own;
    double bytes_per_second = 10e6;
    Duration latency = 10ms;
    bool is_alive = true;
    bool is_voter = false;
    bool is_mute = false;                        ///< takes everything, sends nothing
    std::function<void(wire::Leaf&)> tamper;     ///< what it does to its leaves
    std::function<void(wire::Body&)> twist;      ///< and to its offers
    std::optional<std::uint64_t> messages_left;  ///< dies after so many
    bool is_sending = false;
    std::uint64_t leaves_sent = 0;
    std::uint64_t queries = 0;
    std::uint64_t requests = 0;
};

class TransferWorld {
  public:
    TransferWorld(std::uint64_t elements, std::uint64_t seed, std::uint32_t drift = 1,
                  std::uint32_t kept_averages = 2);
    ~TransferWorld();

    /// A member that holds the state of `step` and the rounds before it.
    Member& add_member(StepIndex step, bool is_voter = false);
    /// The member hears what proves the state of this step.
    void certify(Member& member, StepIndex step);
    /// At once noticed (its link closes), or quietly (after the silence limit).
    void kill(Member& member, bool quietly);
    /// All living members decide a round; the fetcher's aim follows.
    void advance();
    /// The fetcher holds this state already. Damaged: these leaves differ.
    void start_at(StepIndex step, std::set<std::uint32_t> damaged = {});
    /// The fetcher hears the aim and begins; it begins again whenever it stopped short of the aim.
    void aim_at(StepIndex step);

    /// False when `limit` passed first.
    bool run_until(const std::function<bool()>& done, Duration limit);
    bool run_until_current(Duration limit);
    bool is_current() const;
    bool has_note(const std::string& part) const;

    void later(Duration delay, std::function<void()> what);

    RoundRules rules;
    History history;
    TimePoint now{};
    std::vector<std::unique_ptr<Member>> members;
    std::unique_ptr<state::CatchUp> catch_up;
    state::Own own;
    SharedBytes own_bytes;
    std::set<std::pair<StepIndex, Digest>> aimed;
    std::vector<action::Load> loads;
    Duration apply_time = 5ms;
    std::uint64_t refuse_loads = 0;  ///< so many of the next ones
    std::vector<StepIndex> rounds;   ///< applied one by one
    std::vector<std::string> notes;

  private:
    void step();
    void pump();
    void flush();
    void deliver(Member& member, const OutgoingMessage& message);
    void deliver_back(const PeerKey& from, StepIndex step, const wire::Body& body);
    void flush_member(Member& member, Outbox& out);
    void send_leaves(Member& member);
    bool spend(Member& member);
    void load(const action::Load& load);
    void reach(StepIndex step, const Digest& state, SharedBytes bytes);
    Member* find(const PeerKey& key);

    Outbox out_;
    Random random_;
    std::uint64_t sequence_ = 0;
    std::map<std::pair<TimePoint, std::uint64_t>, std::function<void()>> queue_;
    bool wants_current_ = false;
    bool is_applying_ = false;
    std::uint8_t next_key_ = 1;
};

}  // namespace dedloc::test
