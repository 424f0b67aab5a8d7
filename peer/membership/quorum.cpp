// Certificates are checked from cheap to expensive: order and membership of the voters first, then
// one Ed25519 signature for each vote. Every input may come from the network; records are bounded
// before anything is summed.
#include "peer/membership/quorum.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "peer/wire/limits.hpp"

namespace dedloc::membership {
namespace {

/// Strictly ascending: no key occurs twice.
bool is_ascending(std::span<const PeerKey> keys) {
    return std::ranges::adjacent_find(keys, std::greater_equal{}) == keys.end();
}

bool are_consistent(std::span<const CommitLine> members) {
    Samples sum;
    std::uint64_t reduced = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
        const CommitLine& line = members[i];
        if (i > 0 && members[i - 1].peer >= line.peer) return false;
        if (!std::isfinite(line.loss_sum)) return false;
        if (line.samples.value() > wire::kMaxSamples) return false;
        if (line.reduced > wire::kMaxElements) return false;
        sum += line.samples;
        reduced += line.reduced;
    }
    return sum > Samples{0} && sum.value() <= wire::kMaxSamples && reduced > 0 &&
           reduced <= wire::kMaxElements;
}

bool has_majority(std::span<const PeerKey> voters, std::span<const Vote> votes,
                  std::span<const std::byte> signed_bytes) {
    std::vector<PeerKey> some;
    some.reserve(votes.size());
    for (const Vote& vote : votes) some.push_back(vote.voter);
    if (!is_majority(voters, some)) return false;
    return std::ranges::all_of(
        votes, [&](const Vote& vote) { return verify(vote.voter, signed_bytes, vote.signature); });
}

}  // namespace

bool is_majority(std::span<const PeerKey> voters, std::span<const PeerKey> some) {
    if (!is_ascending(voters) || !is_ascending(some)) return false;
    return std::ranges::includes(voters, some) && 2 * some.size() > voters.size();
}

bool extends(const Head& head, const CommitRecord& record) {
    if (record.generation != head.generation || record.step != head.step) return false;
    if (record.previous_record != head.record) return false;
    return record.members.size() <= wire::kMaxMembers && are_consistent(record.members);
}

bool is_certified(const RunId& run, const Head& head, const CommitRecord& record,
                  const Certificate& certificate) {
    return extends(head, record) && is_certified(run, head.voters, record, certificate);
}

bool is_certified(const RunId& run, std::span<const PeerKey> voters, const CommitRecord& record,
                  const Certificate& certificate) {
    return has_majority(voters, certificate.votes,
                        vote_bytes(run, certificate.term, digest_of(record)));
}

bool is_certified(const RunId& run, std::span<const PeerKey> voters,
                  const StateCertificate& certificate) {
    return has_majority(voters, certificate.votes, state_vote_bytes(run, certificate));
}

Head head_after(const Head& head, const CommitRecord& record) {
    return {.generation = record.generation,
            .step = record.step.next(),
            .record = digest_of(record),
            .voters = head.voters};
}

Head head_after(const RunId& run, const GenerationRecord& record) {
    return {.generation = record.generation,
            .step = record.step,
            .record = digest_of(run, record),
            .voters = record.voters};
}

bool is_signed(const RunId& run, const PeerKey& project, const SignedGeneration& generation) {
    return verify(project, digest_of(run, generation.record).bytes, generation.signature);
}

}  // namespace dedloc::membership
