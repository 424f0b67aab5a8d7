#include "project_server/gateway/run_signer.hpp"

#include <fmt/format.h>

#include "peer/base/log.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/platform/key_file.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/signed_revocations.hpp"
#include "project_server/ticket_key.hpp"

namespace dedloc::gateway {
namespace {

namespace fs = std::filesystem;

/// The project's key, for a run that is older than ticket keys.
KeyPair read_project_key(const fs::path& file, const formats::RunFile& run) {
    KeyPair key = platform::read_key(file);
    if (key.public_key() != run.project_key) {
        throw CannotSign(fmt::format("{} is not the project's key that the run file of {} names",
                                     file.string(), run.name));
    }
    log_warning(
        "the run file of {} names no ticket key: this gateway holds the project's key, which "
        "signs its tickets",
        run.name);
    return key;
}

}  // namespace

RunSigner::RunSigner(const fs::path& state) : state_(state), key_(server::read_ticket_key(state)) {}

RunSigner::KnownRun RunSigner::read(server::Database& database, std::int64_t run) const {
    const auto row = database.query_one("select name, spec from dedloc_run where id = ?", {run});
    if (!row) throw CannotSign(fmt::format("there is no run with the number {}", run));
    const auto file = formats::parse_run_file(row->text("spec"));
    KnownRun known{.name = row->text("name"), .project = std::nullopt};
    if (!file.ticket_key) {
        known.project = read_project_key(state_ / "keys/project.key", file);
    } else if (*file.ticket_key != key_.public_key()) {
        throw CannotSign(fmt::format(
            "keys/ticket.key is not the ticket key that the run file of {} names", known.name));
    }
    return known;
}

RunSigner::KnownRun RunSigner::known(server::Database& database, std::int64_t run) {
    {
        const std::lock_guard lock{mutex_};
        if (const auto found = runs_.find(run); found != runs_.end()) return found->second;
    }
    KnownRun found = read(database, run);
    const std::lock_guard lock{mutex_};
    return runs_.emplace(run, std::move(found)).first->second;
}

RunSigner::Signed RunSigner::sign(server::Database& database, std::int64_t run,
                                  const formats::Ticket& ticket) {
    try {
        const KnownRun its = known(database, run);
        if (its.project) {
            return {.ticket = formats::sign(ticket, *its.project),
                    .revoked = formats::sign(server::recent_revocations(database, ticket.issued),
                                             *its.project)};
        }
        return {.ticket = formats::sign(ticket, key_),
                .revoked = server::read_signed_revocations(state_ / "runs" / its.name)};
    } catch (const InputError& error) {
        throw CannotSign(error.what());
    } catch (const IoError& error) {
        throw CannotSign(error.what());
    }
}

}  // namespace dedloc::gateway
