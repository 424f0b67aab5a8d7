// The configuration of a peer that follows from a run file.
#pragma once

#include "peer/config.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc {

/// Configuration of a trainer of this run: the run's keys, rules and learning-rate schedule, and an
/// unpredictable random_seed. The caller fills in the rest: ports, bandwidths, a voter's memory.
PeerConfig peer_config(const formats::RunFile& run);

}  // namespace dedloc
