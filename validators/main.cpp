// dedloc-validator: judges finished jobs until a signal stops it.
#include <memory>

#include "peer/base/log.hpp"
#include "project_server/daemon.hpp"
#include "validators/boinc_connection.hpp"
#include "validators/validator.hpp"

namespace {

using namespace dedloc;

struct Shift {
    validation::BoincConnection connection;
    validation::Validator validator{connection, validation::ValidatorOptions{}};
    explicit Shift(const std::filesystem::path& project) : connection(project) {}
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
