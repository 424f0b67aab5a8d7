#include "peer/membership/quorum.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "peer/wire/limits.hpp"

namespace dedloc::membership {
namespace {

/// Without repetition.
bool is_ascending(std::span<const PeerKey> keys) {
    return std::ranges::adjacent_find(keys, std::greater_equal{}) == keys.end();
}

const PeerKey& distinguished(std::span<const PeerKey> view, const PeerKey& backbone) {
    return std::ranges::binary_search(view, backbone) ? backbone : view.front();
}

bool are_consistent(std::span<const CommitLine> members) {
    Samples sum;
    for (std::size_t i = 0; i < members.size(); ++i) {
        const CommitLine& line = members[i];
        if (i > 0 && members[i - 1].peer >= line.peer) return false;
        if (!std::isfinite(line.loss_sum)) return false;
        if (line.samples.value() > wire::kMaxSamples) return false;
        sum += line.samples;
    }
    return sum.value() <= wire::kMaxSamples;
}

}  // namespace

bool is_quorum(std::span<const PeerKey> view, const PeerKey& backbone,
               std::span<const PeerKey> voters) {
    if (view.empty() || !is_ascending(view) || !is_ascending(voters)) return false;
    if (!std::ranges::includes(view, voters)) return false;
    if (2 * voters.size() != view.size()) return 2 * voters.size() > view.size();
    return std::ranges::binary_search(voters, distinguished(view, backbone));
}

bool extends(const Head& head, const CommitRecord& record) {
    if (record.generation != head.generation || record.step != head.step) return false;
    if (record.previous_record != head.record) return false;
    if (record.members.size() > wire::kMaxMembers || !are_consistent(record.members)) return false;
    return std::ranges::any_of(record.members, &CommitLine::stays);
}

bool is_certified(const RunId& run, const Head& head, const PeerKey& backbone,
                  const CommitRecord& record, const Certificate& certificate) {
    if (!extends(head, record)) return false;
    std::vector<PeerKey> voters;
    voters.reserve(certificate.votes.size());
    for (const Vote& vote : certificate.votes) voters.push_back(vote.voter);
    if (!is_quorum(head.view, backbone, voters)) return false;
    const auto signed_bytes = vote_bytes(run, certificate.term, digest_of(record));
    return std::ranges::all_of(certificate.votes, [&](const Vote& vote) {
        return verify(vote.voter, signed_bytes, vote.signature);
    });
}

Head head_after(const CommitRecord& record) {
    return {.generation = record.generation,
            .step = record.step.next(),
            .record = digest_of(record),
            .view = view_after(record)};
}

Head head_after(const RunId& run, const GenerationRecord& record) {
    return {.generation = record.generation,
            .step = record.step,
            .record = digest_of(run, record),
            .view = {record.backbone}};
}

bool is_signed(const RunId& run, const PeerKey& project, const SignedGeneration& generation) {
    return verify(project, digest_of(run, generation.record).bytes, generation.signature);
}

}  // namespace dedloc::membership
