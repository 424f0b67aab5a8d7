// All numbers are little-endian:
//
//     magic (4)  version (8)  changes (4)  sources (4)
//     for each change: from (8), sources × weight (8)
//     signature (64)
//
// The decoder compares the size of the bytes with the two counts before it reads a change, so the
// counts cannot make it allocate more.
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
    const std::size_t sources = mixture.changes.empty() ? 0 : mixture.changes[0].weights.size();
    out.write(static_cast<std::uint32_t>(sources));
    for (const MixtureChange& change : mixture.changes) {
        out.write(change.from.value());
        for (const std::uint64_t weight : change.weights) out.write(weight);
    }
}

bool is_sound(const SignedMixture& mixture) {
    if (mixture.version < 1 || mixture.changes.size() > wire::kMaxMixtureChanges) return false;
    StepIndex last{0};
    for (const MixtureChange& change : mixture.changes) {
        if (change.from <= last || change.from.value() > wire::kMaxStep) return false;
        last = change.from;
        const auto& weights = change.weights;
        if (weights.empty() || weights.size() > wire::kMaxSources) return false;
        if (weights.size() != mixture.changes[0].weights.size()) return false;
        std::uint64_t sum = 0;
        for (const std::uint64_t weight : weights) {
            if (weight > wire::kMaxSourceWeight) return false;
            sum += weight;
        }
        if (sum == 0) return false;
    }
    return true;
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
                           std::vector<MixtureChange> changes, const KeyPair& project) {
    SignedMixture mixture{.version = version, .changes = std::move(changes), .signature = {}};
    DEDLOC_CHECK(is_sound(mixture), "a mixture that is signed is within its bounds", version);
    mixture.signature = project.sign(mixture_digest(run, mixture).bytes);
    return mixture;
}

bool is_signed(const RunId& run, const PeerKey& project, const SignedMixture& mixture) {
    return verify(project, mixture_digest(run, mixture).bytes, mixture.signature);
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
    const auto sources = in.read<std::uint32_t>();
    if (!sources || *magic != kMixtureMagic) return std::nullopt;
    if (*changes > wire::kMaxMixtureChanges || *sources > wire::kMaxSources) return std::nullopt;
    if ((*changes == 0) != (*sources == 0)) return std::nullopt;
    const std::size_t size = wire::mixture_bytes(*changes, *sources);
    if (bytes.size() != size) return std::nullopt;
    SignedMixture mixture{.version = *version, .changes = {}, .signature = {}};
    for (std::uint32_t i = 0; i < *changes; ++i) {
        MixtureChange& change = mixture.changes.emplace_back();
        change.from = StepIndex{*in.read<std::uint64_t>()};
        for (std::uint32_t k = 0; k < *sources; ++k) {
            change.weights.push_back(*in.read<std::uint64_t>());
        }
    }
    mixture.signature = *in.read<Signature>();
    if (!is_sound(mixture)) return std::nullopt;
    return mixture;
}

}  // namespace dedloc
