// Ledgers: the entries as a codec reads them, and whole files, whose proofs are checked too.
#include <span>

#include "peer/base/check.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/histories.hpp"
#include "tests/peer/ledger/ledger.hpp"

namespace dedloc::fuzz {
namespace {

std::vector<ledger::Entry> entries_of(std::span<const std::byte> bytes) {
    std::vector<ledger::Entry> entries;
    const ledger::Trust trust = fuzz_trust();
    ledger::EntryCodec codec(trust.run, trust.backbone);
    ByteReader in(bytes);
    while (in.remaining() > 0) {
        auto entry = codec.decode(in);
        if (!entry) break;
        entries.push_back(std::move(*entry));
    }
    return entries;
}

}  // namespace

void fuzz_ledger(std::span<const std::byte> input) {
    const std::vector<ledger::Entry> entries = entries_of(input);
    ByteWriter out;
    const ledger::Trust trust = fuzz_trust();
    ledger::EntryCodec codec(trust.run, trust.backbone);
    for (const ledger::Entry& entry : entries) {
        const bool is_encoded =
            std::visit([&](const auto& value) { return codec.encode(value, out); }, entry);
        DEDLOC_CHECK(is_encoded, "what was decoded can be encoded");
    }
    const Buffer again = std::move(out).finish();
    DEDLOC_CHECK(entries_of(again) == entries, "entries survive the codec", entries.size());

    const auto whole = ledger::Ledger::decode(input, trust);
    if (!whole) return;
    whole->check_invariants();
    const auto copy = ledger::Ledger::decode(whole->encode(), trust);
    DEDLOC_CHECK(copy.has_value(), "a ledger survives its file");
    DEDLOC_CHECK(copy->head() == whole->head(), "a ledger's copy ends where it ends");
}

}  // namespace dedloc::fuzz
