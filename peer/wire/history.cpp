// A record is one FlatBuffers table of messages.fbs with a file identifier of its kind. Both
// directions check the same bounds as for messages: encode() aborts, decode returns nothing.
#include "peer/wire/history.hpp"

#include "peer/base/check.hpp"
#include "peer/wire/message_codec.hpp"

namespace dedloc::wire {
namespace {

template <class Value>
Buffer encoded(const Value& value) {
    DEDLOC_CHECK(is_within_bounds(value), "every field of the record is within its bounds");
    return pack(value);
}

template <class Value>
std::optional<Value> bounded(std::optional<Value> value) {
    if (value && !is_within_bounds(*value)) value.reset();
    return value;
}

}  // namespace

Buffer encode(const VoterState& state) {
    return encoded(state);
}
Buffer encode(const SignedGeneration& generation) {
    return encoded(generation);
}
Buffer encode(const Decision& decision) {
    return encoded(decision);
}

std::optional<VoterState> decode_voter_state(std::span<const std::byte> bytes) {
    return bounded(unpack_voter_state(bytes));
}
std::optional<SignedGeneration> decode_generation(std::span<const std::byte> bytes) {
    return bounded(unpack_generation(bytes));
}
std::optional<Decision> decode_decision(std::span<const std::byte> bytes) {
    return bounded(unpack_decision(bytes));
}

}  // namespace dedloc::wire
