// dedloc-credit: grants credit for the contributions in the ledger until a signal stops it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>

#include "peer/base/log.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/daemon.hpp"
#include "project_server/database/project_config.hpp"
#include "validators/creditor.hpp"

namespace {

using namespace dedloc;

using Clock = std::chrono::steady_clock;

/// Seconds between the first two passes. Each pause is twice as long, up to --every, so that what
/// is contributed soon after a start is paid soon.
constexpr double kFirstPause = 15;

struct Shift {
    server::Database database;
    validation::Creditor creditor;
    Clock::time_point next_pass{};
    double pause = kFirstPause;  ///< seconds until the pass after the next one
    Shift(const server::ProjectConfig& project, const platform::StopSignals& signals)
        : database(project.database),
          creditor(database, {.must_stop = [&signals] { return signals.arrived(); },
                              .credit_by_app = project.credit_by_app}) {}
};

void tell(const validation::CreditReport& report) {
    if (report.contributions == 0) return;
    log_info("{:.6f} credits for {} contributions of {} seats", report.credit, report.contributions,
             report.seats);
}

void look(Shift& shift, double every) {
    tell(shift.creditor.heed_messages());
    if (Clock::now() < shift.next_pass) return;
    const double pause = std::min(shift.pause, every);
    shift.pause = 2 * pause;
    shift.next_pass = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                         std::chrono::duration<double>{pause});
    tell(shift.creditor.pass());
}

}  // namespace

int main(int argc, char** argv) {
    double every = 600;
    const server::LoopDaemon daemon{
        .name = "dedloc-credit",
        .purpose = "Grants credit for the samples that the ledger proves, while jobs run.",
        .once = "Credit what is pending now, then exit",
        .interval_seconds = 5,
        .add_options =
            [&](CLI::App& app) {
                app.add_option("--every", every,
                               "Seconds between two passes over all contributions, fewer soon "
                               "after a start; messages of jobs are looked at every --interval "
                               "seconds")
                    ->check(CLI::Range(1.0, 86'400.0))
                    ->capture_default_str();
            },
        .connect = [&](const auto& project, const auto& signals) -> server::LoopDaemon::Look {
            const auto shift =
                std::make_shared<Shift>(server::load_project_config(project), signals);
            log_info("Crediting the contributions of {} every {} s", project.string(), every);
            return [shift, every] { look(*shift, every); };
        }};
    return server::run_loop_daemon(argc, argv, daemon);
}
