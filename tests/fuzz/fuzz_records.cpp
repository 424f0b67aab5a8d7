// The records that a backbone keeps: a voter's state, generations, decisions; heads in the DHT; and
// what the project signs: tickets and revocations.
#include <span>

#include "peer/base/check.hpp"
#include "peer/formats/ticket.hpp"
#include "peer/wire/history.hpp"
#include "peer/wire/swarm_head.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

using formats::encode;
using wire::encode;

template <class Decode>
void check_round_trip(std::span<const std::byte> input, Decode decode) {
    const auto value = decode(input);
    if (!value) return;
    const auto again = decode(encode(*value));
    DEDLOC_CHECK(again == value, "a record survives its file");
}

}  // namespace

void fuzz_records(std::span<const std::byte> input) {
    check_round_trip(input, wire::decode_voter_state);
    check_round_trip(input, wire::decode_generation);
    check_round_trip(input, wire::decode_decision);
    check_round_trip(input, formats::decode_ticket);
    check_round_trip(input, formats::decode_revocations);
    check_round_trip(input, wire::decode_swarm_head);
}

}  // namespace dedloc::fuzz
