// Votes are kept by voter, so their number is bounded by the number of voters; certificates by
// step, the newest few, which is as far back as a peer may still compare its state.
#include "peer/core/state_certificates.hpp"

namespace dedloc {
namespace {

constexpr std::size_t kMaxCertificates = 8;

bool is_for_same_state(const StateCertificate& a, const StateCertificate& b) {
    return a.generation == b.generation && a.step == b.step && a.record == b.record &&
           a.state == b.state;
}

}  // namespace

std::optional<StateCertificate> StateCertificates::count(const PeerKey& voter,
                                                         const StateCertificate& vote) {
    votes_[voter] = vote;
    StateCertificate certificate = vote;
    certificate.votes.clear();
    for (const auto& [other, latest] : votes_) {
        if (is_for_same_state(latest, vote)) certificate.votes.push_back(latest.votes.front());
    }
    if (!voter_.is_proven(certificate)) return std::nullopt;
    return certificate;
}

bool StateCertificates::add(const StateCertificate& certificate) {
    if (!certificates_.try_emplace(certificate.step, certificate).second) return false;
    if (certificates_.size() > kMaxCertificates) certificates_.erase(certificates_.begin());
    return true;
}

void StateCertificates::clear() {
    certificates_.clear();
    votes_.clear();
}

const StateCertificate* StateCertificates::at(StepIndex step) const {
    const auto found = certificates_.find(step);
    return found == certificates_.end() ? nullptr : &found->second;
}

const StateCertificate* StateCertificates::newest() const {
    return certificates_.empty() ? nullptr : &certificates_.rbegin()->second;
}

const StateCertificate* StateCertificates::vote_of(const PeerKey& voter) const {
    const auto found = votes_.find(voter);
    return found == votes_.end() ? nullptr : &found->second;
}

}  // namespace dedloc
