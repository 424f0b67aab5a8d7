// The project's list of changes of a mixture: as it comes, and as if the project had signed it.
#include <algorithm>
#include <span>

#include "peer/base/check.hpp"
#include "peer/wire/limits.hpp"
#include "peer/wire/mixture.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/peer/wire/samples.hpp"

namespace dedloc::fuzz {

void fuzz_mixture(std::span<const std::byte> input) {
    static const KeyPair key = tests::test_key();
    const auto mixture = decode_mixture(input);
    if (!mixture) return;
    const Buffer again = encode_mixture(*mixture);
    DEDLOC_CHECK(std::ranges::equal(again, input), "a list has one encoding", again.size());
    (void)is_signed(RunId{}, key.public_key(), *mixture);
    const SignedMixture ours =
        sign_mixture(RunId{}, mixture->version, mixture->changes, key, mixture->added);
    DEDLOC_CHECK(is_signed(RunId{}, key.public_key(), ours), "what was signed is signed");
    for (std::size_t sources = 0; sources <= wire::kMaxSources; ++sources) {
        if (!fits_sources(*mixture, sources)) continue;
        DEDLOC_CHECK(sources + mixture->added.size() <= wire::kMaxSources, "sources are few");
    }
    for (const MixtureChange& change : mixture->changes) {
        const MixtureChange* const there = change_at(&*mixture, change.from);
        DEDLOC_CHECK(there != nullptr && *there == change, "a change is in force from its step on");
    }
}

}  // namespace dedloc::fuzz
