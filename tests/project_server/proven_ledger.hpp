// A backbone's ledger file, checked as anybody can who knows run, project and backbone.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <utility>
#include <variant>

#include "peer/ledger/ledger.hpp"
#include "project_server/backbone/ledger.hpp"

namespace dedloc::backbone {

/// What the file's entries prove when they stand alone; the test fails where they do not.
inline ledger::Ledger proven_ledger(const std::filesystem::path& path, const ledger::Trust& trust) {
    ByteWriter entries;
    entries.append(ledger::Ledger(trust).encode());
    ledger::Codec codec{trust.run, trust.backbone};
    LedgerReader reader{path, {trust.run, trust.backbone}};
    while (const auto record = reader.next()) {
        if (const auto* const commit = std::get_if<LedgerCommit>(&*record)) {
            codec.encode(commit->record, entries);
            if (commit->certificate) codec.encode(*commit->certificate, entries);
        } else if (const auto* const generation = std::get_if<SignedGeneration>(&*record)) {
            codec.encode(*generation, entries);
        } else if (const auto* const certificate = std::get_if<Certificate>(&*record)) {
            codec.encode(*certificate, entries);
        }
    }
    auto read = ledger::Ledger::decode(std::move(entries).finish(), trust);
    if (!read) FAIL(ledger::describe(read.reason()));
    return std::move(read).value();
}

}  // namespace dedloc::backbone
