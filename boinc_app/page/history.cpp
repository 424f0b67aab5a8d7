// When the list of rounds is full, every second round of its older half is dropped: the newest 256
// rounds are whole, and a week of rounds still fits as a curve.
#include "boinc_app/page/history.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dedloc::page {
namespace {

constexpr std::size_t kRoundsOfRate = 10;

/// Samples of the round's members, most first; this peer is in it if it was a member.
std::vector<SeenMember> members_of(const CommitRecord& record, const PeerKey& us) {
    std::vector<SeenMember> members;
    for (const CommitLine& line : record.members) {
        members.push_back({line.peer.brief(), line.samples.value(), line.peer == us});
    }
    std::stable_sort(members.begin(), members.end(), [](const SeenMember& a, const SeenMember& b) {
        return a.samples > b.samples;
    });
    if (members.size() <= History::kMaxMembers) return members;
    const auto ours = std::find_if(members.begin() + History::kMaxMembers, members.end(),
                                   [](const SeenMember& member) { return member.is_us; });
    if (ours != members.end()) members[History::kMaxMembers - 1] = *ours;
    members.resize(History::kMaxMembers);
    return members;
}

}  // namespace

SeenRound History::add(const CommitRecord& record, Codec codec, const PeerKey& us,
                       std::chrono::steady_clock::time_point now) {
    SeenRound round{
        .step = record.step.next().value(), .members = record.members.size(), .when = now};
    const std::vector<std::uint64_t> averaged = reduced_bytes(record, codec);
    double loss_sum = 0;
    for (std::size_t k = 0; k < record.members.size(); ++k) {
        const CommitLine& line = record.members[k];
        loss_sum += line.loss_sum;
        round.samples += line.samples.value();
        if (line.peer != us) continue;
        round.ours = line.samples.value();
        round.averaged = Bytes{averaged[k]};
    }
    if (round.samples > 0) round.loss = loss_sum / static_cast<double>(round.samples);
    while (!rounds_.empty() && rounds_.back().step >= round.step) rounds_.pop_back();
    if (rounds_.size() == kMaxRounds) {
        std::deque<SeenRound> kept;
        for (std::size_t i = 0; i < rounds_.size(); ++i) {
            if (i >= kMaxRounds / 2 || i % 2 == 0) kept.push_back(rounds_[i]);
        }
        rounds_ = std::move(kept);
    }
    rounds_.push_back(round);
    members_ = members_of(record, us);
    return round;
}

void History::add(std::string line, std::chrono::system_clock::time_point now) {
    if (line.size() > kMaxLine) line.resize(kMaxLine);
    if (events_.size() == kMaxEvents) events_.pop_front();
    events_.push_back({now, std::move(line)});
}

double History::samples_per_second() const {
    if (rounds_.size() < 2) return 0;
    const std::size_t count = std::min(rounds_.size(), kRoundsOfRate + 1);
    const auto first = std::prev(rounds_.end(), static_cast<std::ptrdiff_t>(count));
    double samples = 0;
    for (auto round = std::next(first); round != rounds_.end(); ++round) {
        samples += static_cast<double>(round->samples);
    }
    const std::chrono::duration<double> time = rounds_.back().when - first->when;
    return time.count() > 0 ? samples / time.count() : 0;
}

}  // namespace dedloc::page
