// Messages of every kind, for tests and as seeds of the fuzzer.
#pragma once

#include <vector>

#include "project_server/control/messages.hpp"

namespace dedloc::control {

inline PeerKey key(std::uint64_t number) {
    PeerKey key;
    for (std::size_t i = 0; i < 8; ++i) {
        key.bytes[i] = static_cast<std::byte>((number >> (56 - 8 * i)) & 0xFF);
    }
    return key;
}

inline std::vector<Event> sample_events() {
    const Digest digest{key(77).bytes};
    const std::vector<Happening> all{
        StateChanged{RunState::kPaused},
        StepCommitted{
            {.step = 4, .samples = 130, .loss = 7.25, .seconds = 1.5, .members = 3, .digest = {}}},
        StepSettled{.step = 4, .digest = digest, .reported = 3, .equal = 3},
        StepsVoid{.after = 9},
        MemberJoined{{.key = key(1), .role = "aggregator", .user = 8, .has_state = true}},
        MemberJoined{{.key = key(2)}},
        MemberLeft{key(1)},
        Progress{{.step = 4,
                  .samples = 12,
                  .samples_per_second = 3.5,
                  .trainers = 2,
                  .coordinator = key(3)}},
        StateChanged{RunState::kRunning},
        StateChanged{RunState::kFinished},
        Suspicion{.key = key(2),
                  .what = "does not send",
                  .step = 9,
                  .text = "00000000 joined and does not send"}};
    std::vector<Event> events;
    for (const Happening& what : all) {
        events.push_back({.session = 1'764'032'431'123'456,
                          .sequence = events.size() + 1,
                          .time = 1'764'032'437.25,
                          .what = what});
    }
    return events;
}

inline Snapshot sample_snapshot() {
    return {.session = 3,
            .sequence = 12,
            .run = "first",
            .steps = 1'000,
            .target_batch = 64,
            .state = RunState::kPaused,
            .progress = {.step = 2, .samples = 5, .samples_per_second = 2, .trainers = 1},
            .recent = {{.step = 1, .loss = 2, .digest = Digest{}, .reported = 2, .equal = 2},
                       {.step = 2, .loss = 1.5, .digest = {}}},
            .members = {{.key = key(1), .has_state = true}, {.key = key(2), .role = "backbone"}}};
}

}  // namespace dedloc::control
