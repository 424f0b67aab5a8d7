// Leaves of an average in the codec in which it travelled. The digest tree is over floats, and the
// floats of a decided average are rounded to the run's codec, so that codec holds them without
// loss: a peer that fetches a missed round receives as many bytes as a member of that round did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "peer/base/bytes.hpp"
#include "peer/config.hpp"
#include "peer/wire/types.hpp"

namespace dedloc::state {

/// Bytes of `elements` packed floats; with fp32 those of the floats themselves.
std::uint64_t packed_bytes(Codec codec, std::uint64_t elements);

/// A state's bytes ÷ an average's, rounded up, plus two. A peer that loads a whole state is about
/// so many rounds behind when it has it, if its link carries averages just as fast as rounds make
/// them; a slower link cannot follow at all. So this many retained averages are enough.
std::uint32_t rounds_of_a_state(const RoundRules& rules);

/// Packs some elements of an average. Nothing with fp32, and if unpack() would not restore every
/// bit. Cost: three passes over the elements.
std::optional<Buffer> pack(Codec codec, std::span<const float> values);

/// Inverse of pack(). Returns false if `packed` has another size than `values` packed; any bytes of
/// that size are accepted, so check the digest of `values`.
bool unpack(Codec codec, std::span<const std::byte> packed, std::span<float> values);

}  // namespace dedloc::state
