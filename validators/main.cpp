// dedloc-validator: judges finished jobs until a signal stops it.
#include <chrono>
#include <memory>
#include <utility>

#include "peer/base/log.hpp"
#include "project_server/daemon.hpp"
#include "project_server/database/project_config.hpp"
#include "validators/evidence.hpp"
#include "validators/uploads.hpp"
#include "validators/validator.hpp"

namespace {

using namespace dedloc;

/// How often files are looked for that no job was asked for.
constexpr std::chrono::minutes kSearchUnasked{10};

/// Evidence has a connection of its own: it is recorded within the transaction of a verdict, which
/// must not depend on it.
struct Shift {
    const server::ProjectConfig project;
    server::Database database;
    server::Database for_evidence;
    validation::Validator validator;
    validation::Uploads uploads;
    std::chrono::steady_clock::time_point next_search{};
    explicit Shift(server::ProjectConfig config)
        : project(std::move(config)),
          database(project.database),
          for_evidence(project.database),
          validator(
              database, project,
              {.suspect = [this](const validation::RefusedReceipt& receipt) { keep(receipt); }}),
          uploads(database, project) {}

    void pass() {
        validator.pass();
        uploads.pass();
        const auto now = std::chrono::steady_clock::now();
        if (now < next_search) return;
        next_search = now + kSearchUnasked;
        uploads.delete_unasked();
    }

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
        .purpose = "Judges the receipts of finished jobs, and uploaded checkpoints.",
        .once = "Judge the jobs that wait now, then exit",
        .connect = [](const auto& project, const auto&) -> server::LoopDaemon::Look {
            const auto shift = std::make_shared<Shift>(server::load_project_config(project));
            log_info("Judging the jobs of {}", project.string());
            return [shift] { shift->pass(); };
        }};
    return server::run_loop_daemon(argc, argv, daemon);
}
