// Copies what every peer of a run must have in common from the run file. All limits and timeouts
// that a run file does not name keep the defaults of RoundRules, so that all peers have the same.
#include "peer/run_config.hpp"

#include "peer/base/random.hpp"
#include "peer/state/run_state.hpp"

namespace dedloc {

PeerConfig peer_config(const formats::RunFile& run) {
    PeerConfig config;
    config.run = formats::run_id(run);
    config.project = run.project_key;
    config.backbone = run.backbone_key;
    config.initial_state = run.initial_state;
    config.rules.elements = formats::element_count(run);
    config.rules.target_batch = Samples{run.target_batch};
    config.rules.last_step = StepIndex{run.steps};
    config.rules.codec = run.codec;
    config.rules.overlaps = run.overlaps;
    config.rules.state_vectors = formats::state_vectors(run.optimizer.name);
    config.sources = run.sources.size() - run.added_sources;
    config.added_sources = static_cast<std::uint8_t>(run.added_sources);
    config.random_seed = unpredictable_seed();
    config.scalars_of = [settings = state::optimizer_settings(run)](StepIndex step) {
        return state::update_scalars(settings, step);
    };
    return config;
}

}  // namespace dedloc
