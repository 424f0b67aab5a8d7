// Verifies a backbone's ledger file with only the public keys of run, project and backbone.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <utility>
#include <variant>

#include "project_server/backbone/ledger.hpp"
#include "tests/peer/ledger/ledger.hpp"

namespace dedloc::backbone {

/// The history that the file's entries prove on their own; the test fails if they do not verify.
inline ledger::Ledger proven_ledger(const std::filesystem::path& path, const ledger::Trust& trust) {
    ByteWriter entries;
    entries.append(ledger::Ledger(trust).encode());
    ledger::EntryCodec codec{trust.run, trust.backbone};
    LedgerReader reader{path, {trust.run, trust.backbone}};
    while (const auto record = reader.next()) {
        bool is_encoded = true;
        if (const auto* const commit = std::get_if<LedgerCommit>(&*record)) {
            is_encoded = codec.encode(commit->decision, entries);
        } else if (const auto* const generation = std::get_if<SignedGeneration>(&*record)) {
            is_encoded = codec.encode(*generation, entries);
        }
        REQUIRE(is_encoded);
    }
    auto read = ledger::Ledger::decode(std::move(entries).finish(), trust);
    if (!read) FAIL(ledger::describe(read.reason()));
    return std::move(read).value();
}

}  // namespace dedloc::backbone
