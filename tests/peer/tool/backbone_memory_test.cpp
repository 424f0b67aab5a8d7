// The durable memory of the tool's backbone.
#include "peer/tool/backbone_memory.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "peer/base/error.hpp"
#include "tests/temporary_directory.hpp"

using namespace dedloc;
using namespace dedloc::tool;

namespace {

const Digest kDigest{{std::byte{5}}};
const Buffer kBytes(120, std::byte{7});

SignedGeneration generation_at(std::uint64_t step) {
    return {
        .record = {.generation = 1, .step = StepIndex{step}, .state = {}, .voters = {PeerKey{}}},
        .signature = {}};
}

}  // namespace

TEST_CASE("a restarted backbone reads its newest state", "[tool]") {
    const TemporaryDirectory folder;
    const BackboneMemory memory(folder.path() / "memory");
    REQUIRE_FALSE(memory.state());
    memory.keep(StepIndex{3}, Digest{}, Buffer(12));
    memory.keep(StepIndex{4}, kDigest, kBytes);
    const auto kept = BackboneMemory(folder.path() / "memory").state();
    REQUIRE(kept);
    CHECK(kept->step == StepIndex{4});
    CHECK(kept->digest == kDigest);
    CHECK(kept->bytes == kBytes);
}

TEST_CASE("a state that a new generation voids is removed", "[tool]") {
    const TemporaryDirectory folder;
    const BackboneMemory memory(folder.path());
    memory.keep(StepIndex{4}, kDigest, kBytes);
    memory.keep(generation_at(4));
    REQUIRE(memory.state());
    memory.keep(generation_at(3));
    REQUIRE_FALSE(memory.state());
}

TEST_CASE("a state file that is too short is ignored", "[tool]") {
    const TemporaryDirectory folder;
    const BackboneMemory memory(folder.path());
    std::ofstream(folder.path() / "state") << "short";
    REQUIRE_FALSE(memory.state());
}
