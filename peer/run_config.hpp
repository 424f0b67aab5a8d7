// What a run file says to every peer of its run.
#pragma once

#include "peer/config.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc {

/// A trainer of the run: its keys, rules and schedule, and an unpredictable random_seed. The rest
/// is the caller's.
PeerConfig peer_config(const formats::RunFile& run);

}  // namespace dedloc
