// Voters of a generation with known keys, and what they sign.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "peer/membership/voter.hpp"

namespace dedloc::membership {

inline KeyPair key_of(std::uint8_t k) {
    std::array<std::byte, 32> seed{};
    seed[0] = static_cast<std::byte>(k);
    return KeyPair::from_seed(seed);
}

/// Keys of `count` voters, ascending by public key.
inline std::vector<KeyPair> known_voters(std::size_t count) {
    std::vector<KeyPair> keys;
    for (std::size_t k = 0; k < count; ++k) keys.push_back(key_of(static_cast<std::uint8_t>(k)));
    std::ranges::sort(keys, {}, &KeyPair::public_key);
    return keys;
}

inline SignedGeneration generation_of(std::uint64_t number, StepIndex step,
                                      const std::vector<KeyPair>& voters,
                                      const KeyPair& signer = key_of(99)) {
    SignedGeneration generation{
        .record = {.generation = number, .step = step, .state = {}, .voters = {}}, .signature = {}};
    generation.record.state.bytes[0] = static_cast<std::byte>(number + 1);
    for (const KeyPair& key : voters) generation.record.voters.push_back(key.public_key());
    generation.signature = signer.sign(digest_of(RunId{}, generation.record).bytes);
    return generation;
}

/// Config of a voter of generation 1, which begins at step 4 and appoints these voters.
inline PeerConfig config_for(const std::vector<KeyPair>& voters) {
    PeerConfig config;
    config.project = key_of(99).public_key();
    config.backbone = key_of(98).public_key();
    config.rules.elements = 1;
    config.rules.last_step = StepIndex{100};
    config.generation = generation_of(1, StepIndex{4}, voters);
    config.voter = first_memory(0, false);
    return config;
}

/// A record that follows `head`; each `variant` gives a different one.
inline CommitRecord record_after(const Head& head, std::uint64_t variant) {
    CommitRecord record{.generation = head.generation,
                        .step = head.step,
                        .previous_record = head.record,
                        .previous_state = {},
                        .members = {},
                        .average = {},
                        .scalars = {}};
    record.members.push_back(
        {.peer = key_of(50).public_key(), .samples = Samples{variant + 1}, .reduced = 1});
    return record;
}

inline Certificate certify(const CommitRecord& record, const Term& term,
                           const std::vector<KeyPair>& voters) {
    Certificate certificate{.term = term, .votes = {}};
    for (const KeyPair& key : voters) {
        certificate.votes.push_back(
            {key.public_key(), key.sign(vote_bytes(RunId{}, term, digest_of(record)))});
    }
    return certificate;
}

inline StateCertificate state_certificate(const Head& head, const Digest& state,
                                          const std::vector<KeyPair>& voters) {
    StateCertificate certificate{.generation = head.generation,
                                 .step = head.step,
                                 .record = head.record,
                                 .state = state,
                                 .votes = {}};
    for (const KeyPair& key : voters) {
        certificate.votes.push_back(
            {key.public_key(), key.sign(state_vote_bytes(RunId{}, certificate))});
    }
    return certificate;
}

inline Term voter_term(std::uint64_t number, const KeyPair& key) {
    return {.number = number, .coordinator = key.public_key()};
}

template <class T>
std::vector<T> first(const std::vector<T>& all, std::size_t count) {
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace dedloc::membership
