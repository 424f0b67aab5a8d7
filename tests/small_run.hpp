// The run file of a run that no peer trains: a model of a few numbers, and one vector as its state.
#pragma once

#include <cstdint>

#include "peer/formats/run_file.hpp"

namespace dedloc::tests {

/// Keys, DHT seeds and a gateway are the caller's to add.
inline formats::RunFile small_run(std::uint64_t elements = 100) {
    formats::RunFile run;
    run.name = "demo";
    run.model = formats::AlbertSpec{.vocabulary = 100,
                                    .embedding = 8,
                                    .hidden = 8,
                                    .layers = 1,
                                    .heads = 2,
                                    .ffn = 8,
                                    .positions = 16};
    run.sequence_length = formats::albert_of(run).positions;
    run.target_batch = 40;
    run.steps = 100;
    run.optimizer.learning_rate = 0.01;
    run.flops_per_sample = 1e6;
    run.shards = {{.name = "shard_a", .digest = {}, .bytes = 5}};
    run.tensors = {{.name = "w",
                    .shape = {elements},
                    .initial = formats::Initial::kOne,
                    .deviation = 0,
                    .decays = false}};
    return run;
}

}  // namespace dedloc::tests
