// One peer that is behind (the fetcher) and the members that it can fetch from, in virtual time:
// links with bandwidth and latency, members that die, send wrong data, stall or move on to newer
// steps. Voting and coordination are replaced by a prepared history.
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

/// The elements of a leaf of an average; a state has 12 bytes an element, so three leaves.
inline constexpr std::uint64_t kLeafElements = 65'536;
/// The step whose state is fetched.
inline const StepIndex k5{5};

/// The decided states, averages and records by step, made on first use.
class History {
  public:
    /// Every `drift`-th leaf of a state differs from the previous state (1: all leaves).
    History(std::uint64_t elements, std::uint64_t seed, std::uint32_t drift = 1)
        : elements_(elements), drift_(drift), random_(seed) {}

    std::uint64_t elements() const { return elements_; }
    SharedBytes state(StepIndex step);
    Digest state_digest(StepIndex step);
    SharedFloats average(StepIndex step);
    /// The record of the round on state `step`.
    const CommitRecord& record(StepIndex step);
    /// The digest of the record that led to `step`.
    Digest record_before(StepIndex step);
    static Certificate certificate();
    /// The voters' certificate of the state after `step` updates.
    StateCertificate proof(StepIndex step);
    static Digest origin() { return Digest{{std::byte{9}}}; }
    event::SnapshotTaken snapshot(StepIndex step);

    /// Drops the bytes of states and averages before `step`, which are not asked for any more.
    void forget_before(StepIndex step);

    bool round_to_bf16 = false;  ///< averages that are made from now on are bfloat16 numbers

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

/// A member that donates, with its link to the fetcher.
struct Member {
    Member(PeerKey its_key, const RoundRules& rules, std::size_t offered_leaves)
        : key(its_key), donor(rules, workers, offered_leaves) {}

    const PeerKey key;
    const kernels::ThisThread workers{};
    state::Donor donor;
    state::Own own;
    double bytes_per_second = 10e6;
    Duration latency = 10ms;
    bool is_alive = true;
    bool is_voter = false;
    bool is_backbone = false;
    bool is_mute = false;                        ///< receives messages and sends nothing
    std::function<void(wire::Leaf&)> tamper;     ///< changes the leaves that it sends
    std::function<void(wire::Body&)> twist;      ///< changes the offers that it sends
    std::optional<std::uint64_t> messages_left;  ///< it dies after sending this many
    bool is_sending = false;
    std::uint64_t leaves_sent = 0;
    std::uint64_t queries = 0;
    std::uint64_t requests = 0;
};

/// The fetcher, its members and the time.
class TransferWorld {
  public:
    TransferWorld(std::uint64_t elements, std::uint64_t seed, std::uint32_t drift = 1,
                  std::uint32_t kept_averages = 2);
    ~TransferWorld();

    /// A member that holds the state of `step` and the rounds before it.
    Member& add_member(StepIndex step, bool is_voter = false);
    /// The member receives the certificate of the state of this step.
    void certify(Member& member, StepIndex step);
    /// The member dies. Quietly: its link stays open and times out; otherwise it closes at once.
    void kill(Member& member, bool quietly);
    /// All living members decide a round; the fetcher's target follows.
    void advance();
    /// The fetcher holds this state already, except that the `damaged` leaves differ.
    void start_at(StepIndex step, const std::set<std::uint32_t>& damaged = {});
    /// The fetcher receives the target and begins; it begins again whenever it stops before the
    /// target.
    void aim_at(StepIndex step);

    /// Runs until `done()` holds; returns false if `limit` passes first.
    bool run_until(const std::function<bool()>& done, Duration limit);
    bool run_until_current(Duration limit);
    bool is_current() const;
    bool has_note(const std::string& part) const;

    void later(Duration delay, std::function<void()> what);

    RoundRules rules;
    /// Leaf digests in one offer of the members that are added from now on.
    std::size_t offered_leaves = wire::kMaxOfferedLeaves;
    History history;
    TimePoint now{};
    std::vector<std::unique_ptr<Member>> members;
    double download = 0;  ///< bytes per second that the fetcher receives at most; 0: unlimited
    std::unique_ptr<state::CatchUp> catch_up;
    state::Own own;
    SharedBytes own_bytes;
    std::set<std::pair<StepIndex, Digest>> aimed;
    std::vector<action::Load> loads;
    Duration apply_time = 5ms;
    std::uint64_t refuse_loads = 0;  ///< number of next loads that the trainer refuses
    std::vector<StepIndex> rounds;   ///< steps of the rounds that were applied, in order
    std::uint64_t leaf_bytes = 0;    ///< bytes of all leaves that were sent
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
    TimePoint download_free_{};  ///< when the fetcher has received all that was sent to it
    std::uint8_t next_key_ = 1;
};

}  // namespace dedloc::test
