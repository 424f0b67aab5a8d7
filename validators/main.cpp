// dedloc-validator: judges finished jobs until a signal stops it.
#include <memory>

#include "peer/base/log.hpp"
#include "project_server/daemon.hpp"
#include "project_server/database/project_config.hpp"
#include "validators/boinc_connection.hpp"
#include "validators/evidence.hpp"
#include "validators/validator.hpp"

namespace {

using namespace dedloc;

/// A connection of libsched for verdicts, and one of our own for evidence.
struct Shift {
    validation::BoincConnection connection;
    server::Database database;
    validation::Validator validator;
    explicit Shift(const std::filesystem::path& project)
        : connection(project),
          database(server::load_project_config(project).database),
          validator(connection, {.suspect = [this, folder = project / "evidence"](
                                                const validation::RefusedReceipt& receipt) {
                        keep(folder, receipt);
                    }}) {}

    /// A verdict does not wait for its evidence.
    void keep(const std::filesystem::path& folder, const validation::RefusedReceipt& receipt) {
        try {
            database.ensure_connected();
            validation::keep_evidence(database, folder, receipt);
        } catch (const Error& error) {
            log_warning("The refused receipt of {} is not kept: {}", receipt.result_name,
                        error.what());
        }
    }
};

}  // namespace

int main(int argc, char** argv) {
    const server::LoopDaemon daemon{
        .name = "dedloc-validator",
        .purpose = "Judges the receipts of finished jobs.",
        .once = "Judge the jobs that wait now, then exit",
        .connect = [](const auto& project, const auto&) -> server::LoopDaemon::Look {
            const auto shift = std::make_shared<Shift>(project);
            log_info("Judging the jobs of {}", project.string());
            return [shift] { shift->validator.pass(); };
        }};
    return server::run_loop_daemon(argc, argv, daemon);
}
