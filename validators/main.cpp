// dedloc-validator: judges finished jobs until a signal stops it.
#include <memory>
#include <utility>

#include "peer/base/log.hpp"
#include "project_server/daemon.hpp"
#include "project_server/database/project_config.hpp"
#include "validators/evidence.hpp"
#include "validators/validator.hpp"

namespace {

using namespace dedloc;

/// Evidence has a connection of its own: it is recorded within the transaction of a verdict, which
/// must not depend on it.
struct Shift {
    const server::ProjectConfig project;
    server::Database database;
    server::Database for_evidence;
    validation::Validator validator;
    explicit Shift(server::ProjectConfig config)
        : project(std::move(config)),
          database(project.database),
          for_evidence(project.database),
          validator(
              database, project,
              {.suspect = [this](const validation::RefusedReceipt& receipt) { keep(receipt); }}) {}

    /// A verdict does not wait for its evidence.
    void keep(const validation::RefusedReceipt& receipt) {
        try {
            for_evidence.ensure_connected();
            validation::keep_evidence(for_evidence, project.directory / "evidence", receipt);
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
            const auto shift = std::make_shared<Shift>(server::load_project_config(project));
            log_info("Judging the jobs of {}", project.string());
            return [shift] { shift->validator.pass(); };
        }};
    return server::run_loop_daemon(argc, argv, daemon);
}
