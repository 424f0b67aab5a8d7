// All numbers are little-endian:
//
//     magic (4)  version (8)  changes (4)  added sources (4)
//     for each added source: digest (32)
//     for each change: from (8), weights (4), each weight (8)
//     signature (64)
//
// The decoder compares each count with its limit and with the bytes that are left before it reads
// so many, so no count can make it allocate more.
#include "peer/wire/mixture.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc {
namespace {

constexpr std::uint32_t kMixtureMagic = 0x314D4C44;  // "DLM1"

void write_changes(ByteWriter& out, const SignedMixture& mixture) {
    out.write(mixture.version);
    out.write(static_cast<std::uint32_t>(mixture.changes.size()));
    out.write(static_cast<std::uint32_t>(mixture.added.size()));
    for (const Digest& source : mixture.added) out.write(source);
    for (const MixtureChange& change : mixture.changes) {
        out.write(change.from.value());
        out.write(static_cast<std::uint32_t>(change.weights.size()));
        for (const std::uint64_t weight : change.weights) out.write(weight);
    }
}

/// Repetitions are looked for among at most kMaxSources digests.
bool are_sound(const std::vector<Digest>& added) {
    if (added.size() > wire::kMaxSources) return false;
    for (auto at = added.begin(); at != added.end(); ++at) {
        if (std::find(added.begin(), at, *at) != at) return false;
    }
    return true;
}

bool is_sound(const SignedMixture& mixture) {
    if (mixture.version < 1 || mixture.changes.size() > wire::kMaxMixtureChanges) return false;
    if (!are_sound(mixture.added)) return false;
    StepIndex last{0};
    std::size_t sources = 1;
    for (const MixtureChange& change : mixture.changes) {
        if (change.from <= last || change.from.value() > wire::kMaxStep) return false;
        last = change.from;
        const auto& weights = change.weights;
        if (weights.size() < sources || weights.size() > wire::kMaxSources) return false;
        sources = weights.size();
        std::uint64_t sum = 0;
        for (const std::uint64_t weight : weights) {
            if (weight > wire::kMaxSourceWeight) return false;
            sum += weight;
        }
        if (sum == 0) return false;
    }
    return true;
}

std::optional<MixtureChange> read_change(ByteReader& in) {
    const auto from = in.read<std::uint64_t>();
    const auto weights = in.read<std::uint32_t>();
    if (!weights || *weights > wire::kMaxSources) return std::nullopt;
    MixtureChange change{.from = StepIndex{*from}, .weights = {}};
    for (std::uint32_t k = 0; k < *weights; ++k) {
        const auto weight = in.read<std::uint64_t>();
        if (!weight) return std::nullopt;
        change.weights.push_back(*weight);
    }
    return change;
}

Digest finished(ByteWriter out) {
    const Buffer bytes = std::move(out).finish();
    return blake2b(bytes);
}

}  // namespace

Digest digest_of(const MixtureChange& change) {
    ByteWriter out;
    out.append(bytes_of(std::string_view{"DeDLOC@home mixture change 1\n"}));
    out.write(change.from.value());
    for (const std::uint64_t weight : change.weights) out.write(weight);
    return finished(std::move(out));
}

const MixtureChange* change_at(const SignedMixture* mixture, StepIndex step) {
    if (mixture == nullptr) return nullptr;
    const auto after = std::ranges::upper_bound(mixture->changes, step, {}, &MixtureChange::from);
    return after == mixture->changes.begin() ? nullptr : &*std::prev(after);
}

std::optional<Digest> mixture_at(const SignedMixture* mixture, StepIndex step) {
    const MixtureChange* const change = change_at(mixture, step);
    return change == nullptr ? std::nullopt : std::optional{digest_of(*change)};
}

Digest mixture_digest(const RunId& run, const SignedMixture& mixture) {
    ByteWriter out;
    out.append(bytes_of(std::string_view{"DeDLOC@home mixture 1\n"}));
    out.append(run.bytes);
    write_changes(out, mixture);
    return finished(std::move(out));
}

SignedMixture sign_mixture(const RunId& run, std::uint64_t version,
                           std::vector<MixtureChange> changes, const KeyPair& project,
                           std::vector<Digest> added) {
    SignedMixture mixture{.version = version,
                          .changes = std::move(changes),
                          .signature = {},
                          .added = std::move(added)};
    DEDLOC_CHECK(is_sound(mixture), "a mixture that is signed is within its bounds", version);
    mixture.signature = project.sign(mixture_digest(run, mixture).bytes);
    return mixture;
}

bool is_signed(const RunId& run, const PeerKey& project, const SignedMixture& mixture) {
    return verify(project, mixture_digest(run, mixture).bytes, mixture.signature);
}

bool fits_sources(const SignedMixture& mixture, std::size_t sources) {
    const std::size_t all = sources + mixture.added.size();
    if (all > wire::kMaxSources || (sources == 0 && all > 0)) return false;
    return std::ranges::all_of(mixture.changes, [&](const MixtureChange& change) {
        return change.weights.size() >= sources && change.weights.size() <= all;
    });
}

Buffer encode_mixture(const SignedMixture& mixture) {
    ByteWriter out;
    out.write(kMixtureMagic);
    write_changes(out, mixture);
    out.append(mixture.signature);
    return std::move(out).finish();
}

std::optional<SignedMixture> decode_mixture(std::span<const std::byte> bytes) {
    if (bytes.size() > wire::kMaxMixtureBytes) return std::nullopt;
    ByteReader in{bytes};
    const auto magic = in.read<std::uint32_t>();
    const auto version = in.read<std::uint64_t>();
    const auto changes = in.read<std::uint32_t>();
    const auto added = in.read<std::uint32_t>();
    if (!added || *magic != kMixtureMagic) return std::nullopt;
    if (*changes > wire::kMaxMixtureChanges || *added > wire::kMaxSources) return std::nullopt;
    SignedMixture mixture{.version = *version, .changes = {}, .signature = {}, .added = {}};
    for (std::uint32_t i = 0; i < *added; ++i) {
        const auto source = in.read<Digest>();
        if (!source) return std::nullopt;
        mixture.added.push_back(*source);
    }
    for (std::uint32_t i = 0; i < *changes; ++i) {
        auto change = read_change(in);
        if (!change) return std::nullopt;
        mixture.changes.push_back(std::move(*change));
    }
    const auto signature = in.read<Signature>();
    if (!signature || in.remaining() != 0) return std::nullopt;
    mixture.signature = *signature;
    if (!is_sound(mixture)) return std::nullopt;
    return mixture;
}

}  // namespace dedloc
