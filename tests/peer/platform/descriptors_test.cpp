#include "peer/platform/descriptors.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>

#include "tests/peer/platform/descriptor_shortage.hpp"

namespace dedloc::platform {
namespace {

TEST_CASE("the soft limit on descriptors is raised to the hard limit and never lowered", "[net]") {
    const SoftLimit low(256);
    CHECK(descriptor_limit() == 256);
    const std::size_t raised = raise_descriptor_limit();
    CHECK(raised == std::min<std::size_t>(low.hard(), 65'536));
    CHECK(descriptor_limit() == raised);
    CHECK(raise_descriptor_limit() == raised);
}

TEST_CASE("sockets leave some descriptors to files, logs and libraries", "[net]") {
    CHECK(socket_budget(65'536) == 65'280);
    CHECK(socket_budget(1'024) == 768);
    CHECK(socket_budget(64) == 48);
}

}  // namespace
}  // namespace dedloc::platform
