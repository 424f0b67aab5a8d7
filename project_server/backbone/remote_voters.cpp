#include "project_server/backbone/remote_voters.hpp"

#include "peer/base/error.hpp"
#include "project_server/backbone/voters_file.hpp"

namespace dedloc::backbone {

namespace fs = std::filesystem;

std::vector<control::RemoteEnd> remote_voters(const fs::path& run_folder) {
    std::vector<control::RemoteEnd> found;
    const fs::path voters = run_folder / "voters.json";
    const auto wanted = read_voters(voters);
    if (!wanted) return found;
    for (const WantedVoter& voter : wanted->voters) {
        if (voter.control.empty()) continue;
        found.push_back(control::parse_remote_end(voter.control, voters.string()));
    }
    return found;
}

control::Places places_of(const fs::path& run_folder) {
    return [run_folder] {
        std::vector<control::Place> places{run_folder};
        try {
            for (auto& voter : remote_voters(run_folder)) places.emplace_back(std::move(voter));
        } catch (const Error&) {
            // The run's own backbone logs what is wrong with the file.
        }
        return places;
    };
}

}  // namespace dedloc::backbone
