// dedloc-credit: grants credit for the contributions in the ledger until a signal stops it.
#include <memory>

#include "peer/base/log.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/daemon.hpp"
#include "validators/boinc_connection.hpp"
#include "validators/creditor.hpp"

namespace {

using namespace dedloc;

constexpr double kTenMinutes = 600;

struct Shift {
    validation::BoincConnection connection;
    validation::Creditor creditor;
    Shift(const std::filesystem::path& project, const platform::StopSignals& signals)
        : connection(project),
          creditor(connection, {.must_stop = [&signals] { return signals.arrived(); }}) {}
};

void run_pass(validation::Creditor& creditor) {
    const auto report = creditor.pass();
    if (report.contributions == 0) return;
    log_info("{:.6f} credits for {} contributions of {} seats", report.credit, report.contributions,
             report.seats);
}

}  // namespace

int main(int argc, char** argv) {
    const server::LoopDaemon daemon{
        .name = "dedloc-credit",
        .purpose = "Grants credit for the samples that the ledger proves, while jobs run.",
        .once = "Credit what is pending now, then exit",
        .interval_seconds = kTenMinutes,
        .connect = [](const auto& project, const auto& signals) -> server::LoopDaemon::Look {
            const auto shift = std::make_shared<Shift>(project, signals);
            log_info("Crediting the contributions of {}", project.string());
            return [shift] { run_pass(shift->creditor); };
        }};
    return server::run_loop_daemon(argc, argv, daemon);
}
