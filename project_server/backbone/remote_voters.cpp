#include "project_server/backbone/remote_voters.hpp"

#include "peer/base/error.hpp"
#include "peer/platform/key_file.hpp"
#include "project_server/backbone/voters_file.hpp"

namespace dedloc::backbone {

namespace fs = std::filesystem;

fs::path control_key_file(const fs::path& run_folder) {
    return run_folder.parent_path().parent_path() / "keys/control.key";
}

std::vector<control::RemoteEnd> remote_voters(const fs::path& run_folder) {
    std::vector<control::RemoteEnd> found;
    const fs::path key = control_key_file(run_folder);
    const fs::path voters = run_folder / "voters.json";
    if (!fs::exists(key)) return found;
    const auto wanted = read_voters(voters);
    if (!wanted) return found;
    const KeyPair own = platform::read_key(key);
    for (const WantedVoter& voter : wanted->voters) {
        if (voter.control.empty()) continue;
        found.push_back({.address = parse_control(voter.control, voters.string()),
                         .voter = voter.key,
                         .own = own});
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
