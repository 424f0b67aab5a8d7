// A short history with real signatures, for targets and seeds that need one.
#pragma once

#include <algorithm>
#include <vector>

#include "peer/membership/quorum.hpp"
#include "tests/peer/ledger/ledger.hpp"
#include "tests/peer/wire/samples.hpp"

namespace dedloc::fuzz {

/// test_key(n) of those that take part, made once. Requires n < 10.
inline const KeyPair& key_pair(std::uint8_t n) {
    static const std::vector<KeyPair> keys = [] {
        std::vector<KeyPair> all;
        for (std::uint8_t i = 0; i < 10; ++i) all.push_back(tests::test_key(i));
        return all;
    }();
    return keys.at(n);
}

/// Whose history it is: the backbone has test_key(1), the project test_key(9).
inline ledger::Trust fuzz_trust() {
    static const ledger::Trust trust{
        .run = {}, .project = key_pair(9).public_key(), .backbone = key_pair(1).public_key()};
    return trust;
}

/// The record after `head`; its members are test_key(1) … test_key(count), and the first of them
/// by key has reduced the vector.
inline CommitRecord record_after(const Head& head, std::uint8_t count, std::uint64_t elements = 8) {
    CommitRecord record;
    record.generation = head.generation;
    record.step = head.step;
    record.previous_record = head.record;
    record.average.bytes.fill(static_cast<std::byte>(head.step.value()));
    for (std::uint8_t n = 1; n <= count; ++n) {
        record.members.push_back({key_pair(n).public_key(), Samples{n * 8u}, n * 50.0, 0});
    }
    std::sort(record.members.begin(), record.members.end(),
              [](const CommitLine& a, const CommitLine& b) { return a.peer < b.peer; });
    record.members.front().reduced = elements;
    record.scalars = {0x3a000000u, 0x3f800000u};
    return record;
}

/// Signed by all of test_key(1) … test_key(voters).
inline Certificate certificate_of(const CommitRecord& record, std::uint8_t voters) {
    const ledger::Trust trust = fuzz_trust();
    Certificate certificate{.term = {.number = 1, .coordinator = trust.backbone}, .votes = {}};
    for (std::uint8_t n = 1; n <= voters; ++n) {
        const KeyPair& key = key_pair(n);
        const auto bytes = vote_bytes(trust.run, certificate.term, digest_of(record));
        certificate.votes.push_back({key.public_key(), key.sign(bytes)});
    }
    std::sort(certificate.votes.begin(), certificate.votes.end(),
              [](const Vote& a, const Vote& b) { return a.voter < b.voter; });
    return certificate;
}

/// `members[i]` peers take part in round i; after the last one the project may appoint three
/// voters.
inline ledger::Ledger short_ledger(const std::vector<std::uint8_t>& members, bool begins_anew) {
    ledger::Ledger ledger(fuzz_trust());
    for (const std::uint8_t count : members) {
        const CommitRecord record = record_after(ledger.head(), count);
        DEDLOC_CHECK(ledger.append({.record = record, .certificate = certificate_of(record, 1)}),
                     "a decided record");
    }
    if (!begins_anew) return ledger;
    SignedGeneration generation;
    generation.record = {.generation = 1, .step = StepIndex{1}, .state = {}, .voters = {}};
    for (std::uint8_t n = 1; n <= 3; ++n) {
        generation.record.voters.push_back(key_pair(n).public_key());
    }
    std::sort(generation.record.voters.begin(), generation.record.voters.end());
    generation.signature = key_pair(9).sign(digest_of(fuzz_trust().run, generation.record).bytes);
    DEDLOC_CHECK(ledger.begin(generation), "the project's generation");
    return ledger;
}

}  // namespace dedloc::fuzz
