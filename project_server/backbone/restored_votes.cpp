#include "project_server/backbone/restored_votes.hpp"

#include <array>
#include <span>
#include <utility>

#include "peer/platform/files.hpp"
#include "peer/wire/history.hpp"
#include "project_server/backbone/voters_file.hpp"

namespace dedloc::backbone {

std::size_t begin_votes_anew(const std::filesystem::path& folder, std::uint64_t generation,
                             const Head& head) {
    const std::filesystem::path file = folder / "voters.json";
    WantedVoters wanted;
    if (auto known = read_voters(file)) {
        wanted = std::move(*known);
    } else {
        for (const PeerKey& key : head.voters) wanted.voters.push_back({key, {}});
    }
    wanted.min_generation = generation;
    VoterState nothing;  // it may not vote in the generations up to this one
    nothing.generation = generation - 1;
    const Buffer memory = wire::encode(nothing);
    const std::array<std::span<const std::byte>, 1> pieces{memory};
    platform::replace_file(folder / "voter", pieces);
    write_voters(file, wanted);
    return wanted.voters.size();
}

}  // namespace dedloc::backbone
