// A whole peer among strangers that say anything, in any order, correctly signed.
#include <span>

#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/peer_world.hpp"

namespace dedloc::fuzz {

void fuzz_peer(std::span<const std::byte> input) {
    PeerWorld world(input);
    world.run();
}

}  // namespace dedloc::fuzz
