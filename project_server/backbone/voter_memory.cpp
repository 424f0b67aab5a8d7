#include "project_server/backbone/voter_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/durable_file.hpp"
#include "peer/platform/files.hpp"
#include "peer/wire/history.hpp"
#include "project_server/backbone/voters_file.hpp"

namespace dedloc::backbone {
namespace {

std::optional<VoterState> read(const std::filesystem::path& path) {
    const platform::DurableFile file{path, platform::DurableFile::Mode::kRead};
    Buffer bytes(file.size());
    bytes.resize(file.read_at(0, bytes));
    return wire::decode_voter_state(bytes);
}

/// Whether voters.json appoints this backbone for a generation that has not begun yet.
bool is_appointed_anew(const RunFolder& run, std::uint64_t generation) {
    try {
        const auto wanted = read_voters(run.wanted_voters());
        return wanted && wanted->min_generation > generation &&
               std::ranges::binary_search(wanted->voters, run.key.public_key(), {},
                                          &WantedVoter::key);
    } catch (const Error& error) {
        log_warning("{}: not used", error.what());
        return false;
    }
}

std::string remedy(const RunFolder& run) {
    if (!run.is_own_backbone()) {
        return "let the project dismiss this key and appoint a new one (dedloc run dismiss, dedloc "
               "run appoint)";
    }
    return fmt::format(
        "let the project appoint it again with dedloc run appoint --name {} --key "
        "{}, then dedloc run pause and resume",
        run.run.name, run.key.public_key().hex());
}

}  // namespace

void write_voter_memory(const std::filesystem::path& file, const VoterState& memory) {
    const Buffer bytes = wire::encode(memory);
    const std::array<std::span<const std::byte>, 1> pieces{bytes};
    platform::replace_file(file, pieces);
}

std::optional<VoterState> voter_memory(const RunFolder& run, const LedgerWriter& ledger) {
    const bool is_there = std::filesystem::exists(run.voter());
    if (is_there) {
        if (auto memory = read(run.voter())) return memory;
    }
    const std::uint64_t generation = ledger.head().generation;
    const bool is_new = !is_there && ledger.is_empty() && run.is_own_backbone();
    if (is_new || (run.is_own_backbone() && is_appointed_anew(run, generation))) {
        const VoterState memory = first_memory(generation, is_new);
        write_voter_memory(run.voter(), memory);
        return memory;
    }
    log_error(
        "This backbone does not vote, because {}, the memory of its promises, is {}. It keeps the "
        "ledger and serves the state; to make it vote again, {}.",
        run.voter().string(), is_there ? "damaged" : "missing", remedy(run));
    return std::nullopt;
}

}  // namespace dedloc::backbone
