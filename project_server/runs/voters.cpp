// voters.json lists the voters that the administrator wants, the ledger those that vote now. The
// commands here change only voters.json; the run's own backbone then makes a generation with these
// voters.
#include "project_server/runs/voters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/platform/clock.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/folder_lock.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/wire/limits.hpp"
#include "project_server/backbone/appointment.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/backbone/voters_file.hpp"
#include "project_server/control/place.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/project/project.hpp"
#include "project_server/runs/control.hpp"

namespace dedloc::runs {
namespace {

namespace fs = std::filesystem;
using backbone::WantedVoter;
using backbone::WantedVoters;

constexpr std::size_t kFewestDigits = 4;

/// A run: its folder, run file, and the head of its ledger.
struct Run {
    fs::path folder;
    formats::RunFile file;
    Head head;

    fs::path voters() const { return folder / "voters.json"; }
};

Run read_run(const fs::path& project, const std::string& name) {
    const fs::path folder =
        server::state_folder(project::existing_project(project)) / "runs" / name;
    if (name.empty() || !fs::exists(folder / "run.json")) {
        throw InputError(fmt::format("the project has no run {}", name));
    }
    auto file = formats::parse_run_file(platform::read_text(folder / "run.json"));
    const RunId id = formats::run_id(file);
    Head head = genesis(id, file.backbone_key);
    // The ledger is created when the run starts for the first time.
    if (fs::exists(folder / "ledger")) {
        backbone::LedgerReader reader{folder / "ledger", {id, file.backbone_key}};
        while (reader.next()) {
        }
        head = reader.place().codec.head();
    }
    return {.folder = folder, .file = std::move(file), .head = std::move(head)};
}

/// The voters in voters.json; without that file, those that vote now.
WantedVoters wanted_in(const Run& run) {
    if (auto wanted = backbone::read_voters(run.voters())) return std::move(*wanted);
    WantedVoters wanted;
    for (const PeerKey& key : run.head.voters) wanted.voters.push_back({key, {}});
    return wanted;
}

void check_address(const std::string& text, const char* option) {
    const auto parts = split_host_and_port(text);
    if (!parts || parts->port == 0) {
        throw InputError(fmt::format("{} wants HOST:PORT, not {}", option, text));
    }
}

formats::SignedTicket voter_ticket(const fs::path& project, const formats::RunFile& run,
                                   const PeerKey& key) {
    const KeyPair signer = platform::read_key(
        server::state_folder(project::existing_project(project)) / "keys/project.key");
    if (signer.public_key() != run.project_key) {
        throw InputError("keys/project.key is not the project's key that run.json names");
    }
    const auto now = platform::utc_now();
    return formats::sign({.run = formats::run_id(run),
                          .peer = key,
                          .job = {},
                          .issued = now,
                          .expires = now + server::kVoterTicketLife},
                         signer);
}

backbone::Appointment make_appointment(const AppointOptions& options, const Run& run) {
    if (fs::exists(options.file)) {
        throw InputError(fmt::format("{} exists already", options.file.string()));
    }
    backbone::Appointment appointment{.run = run.file, .key = KeyPair::generate(), .settings = {}};
    auto& settings = appointment.settings;
    settings.ticket = voter_ticket(options.project, run.file, appointment.key.public_key());
    settings.generation = run.head.generation;
    settings.seeds = options.seeds;
    settings.backbone = options.backbone;
    for (const auto& seed : settings.seeds) check_address(seed, "--seed");
    if (!settings.backbone.empty()) check_address(settings.backbone, "--backbone");
    if (!options.control.empty()) (void)control::parse_remote_end(options.control, "--control");
    if (settings.seeds.empty()) {
        for (const Endpoint& seed : run.file.dht_seeds) settings.seeds.push_back(seed.text());
    }
    return appointment;
}

void add(WantedVoters& wanted, const WantedVoter& voter) {
    const auto place = std::ranges::lower_bound(wanted.voters, voter.key, {}, &WantedVoter::key);
    if (place != wanted.voters.end() && place->key == voter.key) return;
    if (wanted.voters.size() == wire::kMaxVoters) {
        throw InputError(fmt::format("a run has at most {} voters", wire::kMaxVoters));
    }
    wanted.voters.insert(place, voter);
}

bool has(const WantedVoters& wanted, const PeerKey& key) {
    return std::ranges::binary_search(wanted.voters, key, {}, &WantedVoter::key);
}

VotersChange appoint_key(const Run& run, WantedVoters wanted, const std::string& digits) {
    PeerKey key;
    if (!from_hex(digits, key.bytes)) {
        throw InputError(fmt::format("--key wants 64 hex digits, not \"{}\"", digits));
    }
    if (key == run.file.backbone_key) {
        // The backbone may create a new vote memory for that generation.
        wanted.min_generation = run.head.generation + 1;
    } else if (has(wanted, key)) {
        throw InputError(fmt::format("{} is a voter already", key.brief()));
    }
    add(wanted, {.key = key, .ticket_expires = {}});
    backbone::write_voters(run.voters(), wanted);
    return {.key = key, .voters = wanted.voters.size()};
}

/// Writes the appointment before voters.json: a wanted voter without a key could never vote.
VotersChange appoint_new(const Run& run, WantedVoters wanted, const AppointOptions& options) {
    const backbone::Appointment appointment = make_appointment(options, run);
    const PeerKey key = appointment.key.public_key();
    add(wanted, {.key = key,
                 .ticket_expires = appointment.settings.ticket.ticket.expires,
                 .control = options.control});
    platform::replace_file(options.file, backbone::write_appointment(appointment), 0600);
    try {
        backbone::write_voters(run.voters(), wanted);
    } catch (...) {
        std::error_code ignored;
        fs::remove(options.file, ignored);
        throw;
    }
    return {.key = key, .voters = wanted.voters.size()};
}

const WantedVoter& find(const WantedVoters& wanted, const std::string& prefix) {
    if (prefix.size() < kFewestDigits) {
        throw InputError(fmt::format("give a key or at least its first {} digits", kFewestDigits));
    }
    const WantedVoter* found = nullptr;
    for (const WantedVoter& voter : wanted.voters) {
        if (!voter.key.hex().starts_with(prefix)) continue;
        if (found != nullptr) {
            throw InputError(fmt::format("the keys of several voters begin with {}", prefix));
        }
        found = &voter;
    }
    if (found == nullptr) {
        throw InputError(fmt::format("no voter's key begins with {}", prefix));
    }
    return *found;
}

/// Revokes a voter's ticket: the run's backbone does it at once, and keeps it for the database
/// while that is away.
void revoke(const fs::path& project, const std::string& run, const PeerKey& voter) {
    const bool is_kept = tell_backbone(
        project, run, {.command = control::Command::kRevoke, .revocation = {.voters = {voter}}});
    try {
        project::ProjectDatabase access{project::existing_project(project)};
        server::revoke_voter(access.database(), voter, platform::utc_now());
    } catch (const server::DatabaseError& error) {
        if (!is_kept || !error.is_away()) throw;
    }
}

}  // namespace

VotersChange appoint(const AppointOptions& options) {
    if (options.file.empty() == options.key.empty()) {
        throw InputError("give --file for a new voter or --key for an existing peer");
    }
    const Run run = read_run(options.project, options.run);
    const platform::FolderLock lock{run.folder.parent_path()};
    WantedVoters wanted = wanted_in(run);
    const VotersChange change = options.key.empty()
                                    ? appoint_new(run, std::move(wanted), options)
                                    : appoint_key(run, std::move(wanted), options.key);
    (void)tell_backbone(options.project, options.run, {.command = control::Command::kReadVoters});
    return change;
}

VotersChange dismiss(const fs::path& project, const std::string& run_name,
                     const std::string& prefix) {
    const Run run = read_run(project, run_name);
    const platform::FolderLock lock{run.folder.parent_path()};
    WantedVoters wanted = wanted_in(run);
    const WantedVoter voter = find(wanted, prefix);
    if (wanted.voters.size() == 1) {
        throw InputError(fmt::format("{} is the last voter of the run {}: appoint another first",
                                     voter.key.brief(), run_name));
    }
    std::erase(wanted.voters, voter);
    // Revoke first: repeating a revocation after a failure does no harm.
    if (voter.ticket_expires > formats::UtcSeconds{}) revoke(project, run_name, voter.key);
    backbone::write_voters(run.voters(), wanted);
    (void)tell_backbone(project, run_name, {.command = control::Command::kReadVoters});
    return {.key = voter.key, .voters = wanted.voters.size()};
}

VotersView voters_of(const fs::path& project, const std::string& run_name) {
    const Run run = read_run(project, run_name);
    const WantedVoters wanted = wanted_in(run);
    VotersView view{.generation = run.head.generation, .lines = {}};
    for (const WantedVoter& voter : wanted.voters) {
        view.lines.push_back({.key = voter.key,
                              .is_wanted = true,
                              .ticket_expires = voter.ticket_expires,
                              .control = voter.control});
    }
    for (const PeerKey& key : run.head.voters) {
        if (!has(wanted, key)) view.lines.push_back({.key = key});
    }
    std::ranges::sort(view.lines, {}, &VoterLine::key);
    for (VoterLine& line : view.lines) {
        line.is_own_backbone = line.key == run.file.backbone_key;
        line.votes = std::ranges::binary_search(run.head.voters, line.key);
    }
    return view;
}

}  // namespace dedloc::runs
