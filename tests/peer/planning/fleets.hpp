// Fleets for tests of the planner: random ones from a seed, and those of the literature.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "peer/base/random.hpp"
#include "peer/planning/planner.hpp"

namespace dedloc::planning {

inline constexpr std::uint64_t kMegabit = 125'000;    // bytes
inline constexpr std::uint64_t kAlbert = 18'000'000;  // elements, 288 Mbit in fp16

/// Chunks follow from the vector's length and the members.
inline void set_vector(PlanRequest& request, std::uint64_t elements, const WireSize& codec) {
    request.elements = elements;
    request.contribution = codec;
    request.average = codec;
    request.chunk_elements = chunk_elements_for(request);
}

/// `count` equal members.
struct Group {
    std::size_t count = 1;
    std::uint64_t up_mbit = 0;    // 0: unknown
    std::uint64_t down_mbit = 0;  // 0: unknown
    bool is_trainer = true;
    bool is_reachable = true;
};

inline PlanRequest fleet_of(std::initializer_list<Group> groups, std::uint64_t elements,
                            const WireSize& codec) {
    PlanRequest request;
    for (const Group& group : groups) {
        const Member member{.upload = known_bandwidth(group.up_mbit * kMegabit),
                            .download = known_bandwidth(group.down_mbit * kMegabit),
                            .contributes = group.is_trainer,
                            .receives = group.is_trainer,
                            .is_reachable = group.is_reachable};
        request.members.insert(request.members.end(), group.count, member);
    }
    set_vector(request, elements, codec);
    return request;
}

/// 2¹⁰ to 2³⁰ bytes per second, uniform over octaves.
inline Bandwidth random_speed(Random& random) {
    const std::uint64_t octave = 10 + random.below(20);
    const std::uint64_t within = 1'024 + random.below(1'024);
    return Bandwidth{(within << octave) / 1'024};
}

struct FleetShape {
    std::size_t max_members = 48;
    std::uint64_t min_elements = 1'000'000;
    std::uint64_t max_elements = 100'000'000;
};

/// Every kind of member, codec and size; at least one member can be dialled.
inline PlanRequest random_fleet(Random& random, const FleetShape& shape = {}) {
    PlanRequest request;
    const std::size_t count = 1 + random.below(shape.max_members);
    const bool is_symmetric = random.below(3) == 0;
    const bool all_train = random.below(3) == 0;
    for (std::size_t k = 0; k < count; ++k) {
        Member member{.upload = random_speed(random), .download = random_speed(random)};
        if (is_symmetric) member.download = member.upload;
        if (!all_train) {
            member.contributes = random.below(4) != 0;
            member.receives = random.below(4) != 0;
        }
        member.is_reachable = random.below(4) != 0;
        request.members.push_back(member);
    }
    request.members[random.below(count)].is_reachable = true;
    const std::uint64_t range = shape.max_elements - shape.min_elements;
    set_vector(request, shape.min_elements + random.below(range + 1), kFp32);
    const WireSize codecs[] = {kFp32, kHalf, kInt8};
    request.contribution = codecs[random.below(3)];
    request.average = codecs[random.below(3)];
    return request;
}

}  // namespace dedloc::planning
