// A run without a model but with a vector of any size, for tests and measurements of a swarm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"

namespace dedloc::tool {

/// Parameters of a synthetic run.
struct SyntheticRun {
    std::uint64_t bytes = 0;          ///< least size of the vector in fp32, at least 1
    std::uint64_t steps = 1;          ///< steps of the run
    std::uint64_t target_batch = 1;   ///< samples of one step
    std::uint64_t seed = 0;           ///< distinguishes runs with equal parameters
    bool encrypts = true;             ///< seals frames on links with tickets
    Codec codec = Codec::kFp32;       ///< encoding of contributions and averages
    bool overlaps = false;            ///< computes while a round is on its way
    std::vector<Endpoint> dht_seeds;  ///< may be empty
};

/// The run file, without keys. The size of the vector is rounded up to a multiple of 256 bytes, so
/// that its tensors need no padding. It is split into tensors of 4 MiB (larger ones if there would
/// be more than 1,024), all ones, every other one with weight decay. Errors: InputError (no bytes).
formats::RunFile make_run(const SyntheticRun& synthetic);

}  // namespace dedloc::tool
