// Random histories of a run with real keys and signatures: members come, go, and come back.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/membership/quorum.hpp"
#include "tests/peer/ledger/ledger.hpp"

namespace dedloc::ledger {

struct HistoryOptions {
    std::size_t members = 4;
    double churn = 0.1;         ///< probability that a member joins or leaves at a step
    bool short_losses = false;  ///< losses are binary32 numbers
};

class History {
  public:
    History(std::uint64_t seed, const HistoryOptions& options) : options_(options), random_(seed) {
        for (std::size_t i = 0; i < 2 * options.members; ++i) {
            std::array<std::byte, 32> secret{};
            for (auto& byte : secret) byte = static_cast<std::byte>(random_.below(256));
            keys.push_back(KeyPair::from_seed(secret));
        }
        std::ranges::sort(keys, {}, &KeyPair::public_key);
        backbone_ = random_.below(keys.size());
        for (std::size_t i = 0; i < keys.size(); ++i) present_.push_back(i < options.members);
        present_[backbone_] = true;
        head = genesis(run, keys[backbone_].public_key());
    }

    Trust trust() const { return {run, project.public_key(), keys[backbone_].public_key()}; }

    /// The next record after `head`, drawn by this mixture, by jobs with so many added sources, in
    /// the order of the keys (none: 0); moves the head.
    CommitRecord next(const std::optional<Digest>& mixture = {},
                      const std::vector<std::uint8_t>& added = {}) {
        CommitRecord record;
        record.mixture = mixture;
        record.generation = head.generation;
        record.step = head.step;
        record.previous_record = head.record;
        record.previous_state = digest();
        record.average = digest();
        record.scalars = {std::bit_cast<std::uint32_t>(static_cast<float>(random_.uniform())),
                          std::bit_cast<std::uint32_t>(1.0F)};
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const bool changes =
                random_.uniform() * static_cast<double>(keys.size()) < options_.churn;
            if (changes && i != backbone_) present_[i] = !present_[i];
            if (!present_[i]) continue;
            const double loss = 1e3 * random_.uniform();
            record.members.push_back(
                {.peer = keys[i].public_key(),
                 .samples = Samples{i == backbone_ ? 1 : 8 * (20 + random_.below(20))},
                 .loss_sum = options_.short_losses ? static_cast<float>(loss) : loss,
                 .reduced = random_.below(2) == 0 ? 0 : random_.below(1'000'000),
                 .added = i < added.size() ? added[i] : std::uint8_t{0}});
        }
        record.members.back().reduced += 1;
        before = head;
        head = membership::head_after(head, record);
        return record;
    }

    /// Certificate of a majority of the voters: those with the highest keys.
    Certificate certify(const CommitRecord& record) const {
        Certificate certificate{.term = {head.generation + 1, keys[backbone_].public_key()},
                                .votes = {}};
        const auto bytes = vote_bytes(run, certificate.term, digest_of(record));
        for (std::size_t i = before.voters.size() - majority(); i < before.voters.size(); ++i) {
            const PeerKey& voter = before.voters[i];
            const auto key = std::ranges::lower_bound(keys, voter, {}, &KeyPair::public_key);
            certificate.votes.push_back({voter, key->sign(bytes)});
        }
        return certificate;
    }
    std::size_t majority() const { return before.voters.size() / 2 + 1; }

    Decision decide(const std::optional<Digest>& mixture = {},
                    const std::vector<std::uint8_t>& added = {}) {
        const CommitRecord record = next(mixture, added);
        return {.record = record, .certificate = certify(record)};
    }

    /// A generation that appoints `voters` of the keys, the lowest first.
    SignedGeneration begin_generation(StepIndex step, std::size_t voters = 3) {
        SignedGeneration generation{.record = {head.generation + 1, step, digest(), {}},
                                    .signature = {}};
        for (std::size_t i = 0; i < std::min(voters, keys.size()); ++i) {
            generation.record.voters.push_back(keys[i].public_key());
        }
        generation.signature = project.sign(digest_of(run, generation.record).bytes);
        head = membership::head_after(run, generation.record);
        return generation;
    }

    RunId run{blake2b(bytes_of("ledger test")).bytes};
    KeyPair project = KeyPair::generate();
    std::vector<KeyPair> keys;
    Head before;  ///< the head that the last record extends
    Head head;

  private:
    Digest digest() {
        Digest digest;
        for (auto& byte : digest.bytes) byte = static_cast<std::byte>(random_.below(256));
        return digest;
    }

    HistoryOptions options_;
    Random random_;
    std::size_t backbone_ = 0;
    std::vector<bool> present_;
};

}  // namespace dedloc::ledger
