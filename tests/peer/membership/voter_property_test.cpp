// Safety of Paxos: random losses of messages, random restarts of voters.
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/membership/quorum.hpp"
#include "tests/peer/membership/voter_bench.hpp"

using namespace dedloc;
using namespace dedloc::membership;

namespace {

/// A voter with its disk: promises and votes are durable before they are sent, decisions before
/// those.
struct Node {
    Node(const PeerConfig& its_config, const KeyPair& its_key) : config(its_config), key(its_key) {
        restart();
    }
    void restart() { voter = std::make_unique<Voter>(config, key); }
    void remember() {
        if (const auto change = voter->take_change()) config.voter = change;
    }
    wire::Promise promise(const Term& term) {
        const wire::Promise promise = voter->promise(term);
        remember();
        return promise;
    }
    std::optional<Signature> accept(const Term& term, const CommitRecord& record) {
        const auto signature = voter->accept(term, record);
        remember();
        return signature;
    }
    /// True if it crashes between the two writes.
    void advance(const Decision& decision, bool stops) {
        config.last_decision = decision;
        if (stops) return restart();
        voter->append(decision.record);
        remember();
    }
    const Head& head() const { return voter->head(); }

    PeerConfig config;
    KeyPair key;
    std::unique_ptr<Voter> voter;
};

/// Candidates and voters in memory. Messages are lost, candidates stop half-way, voters restart
/// with what they have remembered, and learn of decisions late, so terms go on over several steps.
class Contest {
  public:
    explicit Contest(std::uint64_t seed)
        : random_(seed), keys_(known_voters(1 + random_.below(5))) {
        for (const KeyPair& key : keys_) nodes_.emplace_back(config_for(keys_), key);
    }
    void event(std::uint64_t variant) {
        Node& node = nodes_[random_.below(nodes_.size())];
        if (random_.below(8) == 0) return node.restart();
        if (random_.below(3) == 0) return hear(node);
        const Term term = voter_term(1 + random_.below(5), node.key);
        if (!led_.contains(term) && !stand(node, term)) return;
        if (node.head().step < led_[term]) return;
        propose(node, term, variant);
    }
    void check_invariants() const {
        for (const Node& node : nodes_) {
            node.voter->check_invariants();
            REQUIRE(node.voter->may_vote());
        }
    }
    std::uint64_t decisions = 0;
    std::uint64_t later_decisions = 0;  ///< decisions after the first step of their term

  private:
    void hear(Node& node) {
        const auto next = decided_.find(node.head().step);
        if (next == decided_.end()) return;
        REQUIRE(node.voter->is_decided(next->second.record, next->second.certificate));
        node.advance(next->second, random_.below(4) == 0);
    }
    bool stand(const Node& candidate, const Term& term) {
        const Head head = candidate.head();
        std::vector<PeerKey> promised;
        std::optional<CommitRecord> inherited;
        Term inherited_in;
        for (Node& node : nodes_) {
            if (random_.below(4) == 0 || node.head().step > head.step) continue;
            const bool is_behind = node.head().step < head.step;
            const auto promise = node.promise(term);
            if (!promise.granted) continue;
            promised.push_back(node.key.public_key());
            if (is_behind || !promise.accepted ||
                (inherited && promise.accepted_in <= inherited_in))
                continue;
            inherited = promise.accepted;
            inherited_in = promise.accepted_in;
        }
        if (!is_majority(head.voters, promised)) return false;
        led_[term] = head.step;
        if (inherited) proposals_[term].emplace(head.step, *inherited);
        return true;
    }
    /// A coordinator proposes one record a step in its term.
    void propose(const Node& coordinator, const Term& term, std::uint64_t variant) {
        const Head head = coordinator.head();
        const CommitRecord record =
            proposals_[term].try_emplace(head.step, record_after(head, variant)).first->second;
        Certificate certificate{.term = term, .votes = {}};
        for (Node& node : nodes_) {
            if (random_.below(3) == 0) continue;
            const auto vote = node.accept(term, record);
            if (vote) certificate.votes.push_back({node.key.public_key(), *vote});
        }
        if (!coordinator.voter->is_decided(record, certificate)) return;
        ++decisions;
        later_decisions += head.step > led_[term] ? 1 : 0;
        const auto at = decided_.try_emplace(record.step, Decision{record, certificate}).first;
        REQUIRE(at->second.record == record);
    }

    Random random_;
    const std::vector<KeyPair> keys_;
    std::deque<Node> nodes_;  ///< voters refer to their configs
    std::map<StepIndex, Decision> decided_;
    std::map<Term, std::map<StepIndex, CommitRecord>> proposals_;
    std::map<Term, StepIndex> led_;  ///< first step of each term
};

}  // namespace

TEST_CASE("at most one record of a step is decided under any losses", "[membership][property]") {
    std::uint64_t decisions = 0;
    std::uint64_t later_decisions = 0;
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        INFO("seed " << seed);
        Contest contest{seed};
        for (std::uint64_t event = 0; event < 60; ++event) contest.event(10 + event);
        contest.check_invariants();
        decisions += contest.decisions;
        later_decisions += contest.later_decisions;
    }
    REQUIRE(decisions > 1'000);
    REQUIRE(later_decisions > 200);
}
