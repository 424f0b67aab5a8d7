#include "project_server/views/run_status.hpp"

#include "project_server/views/runs.hpp"

namespace dedloc::server {

RunStatus run_status(Database& database, const std::string& name) {
    const RunView run = read_run(database, name);
    const RunPeers peers = read_peers(database, run.id);
    RunStatus status{.name = run.name,
                     .state = run.state,
                     .steps = static_cast<std::uint64_t>(run.steps),
                     .peers = static_cast<int>(peers.trainers),
                     .samples_per_second = peers.trainer_samples_per_second,
                     .lines = {},
                     .final_digest = run.final_digest,
                     .architecture = run.architecture,
                     .held_out = read_evaluations(database, run.id)};
    for (const Row& row : database.query(
             "select step, loss, samples, seconds, members, equal_digests from dedloc_step "
             "where runid = ? order by step",
             {run.id})) {
        status.lines.push_back({.step = static_cast<std::uint64_t>(row.integer("step")),
                                .loss = row.real("loss"),
                                .samples = static_cast<std::uint64_t>(row.integer("samples")),
                                .seconds = row.real("seconds"),
                                .members = static_cast<int>(row.integer("members")),
                                .equal_digests = static_cast<int>(row.integer("equal_digests"))});
    }
    return status;
}

}  // namespace dedloc::server
