// A run without a model: a vector of any size, so that a swarm can be measured and tested.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"

namespace dedloc::tool {

struct SyntheticRun {
    std::uint64_t bytes = 0;  ///< of the vector in fp32, a multiple of 4, at least 4
    std::uint64_t steps = 1;
    std::uint64_t target_batch = 1;  ///< samples
    std::uint64_t micro_batch = 1;   ///< samples
    std::uint64_t seed = 0;          ///< makes runs of equal size different ones
    bool encrypts = true;            ///< links between members that show tickets
    Codec codec = Codec::kFp32;
    std::vector<Endpoint> dht_seeds;
};

/// Tensors of at most 4 MiB, all ones, every other one with weight decay. The keys are left open.
/// Errors: InputError (a number that no run file holds).
formats::RunFile make_run(const SyntheticRun& synthetic);

}  // namespace dedloc::tool
