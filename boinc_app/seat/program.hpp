// What the mains of dedloc_train and dedloc_aggregate have in common: the command line of a seat,
// its files, one stay in the swarm, and how the process ends.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "boinc_app/runtime/volunteer_runtime.hpp"
#include "boinc_app/seat/seat.hpp"
#include "boinc_app/seat/worker.hpp"
#include "peer/formats/run_file.hpp"

namespace CLI {
class App;
}

namespace dedloc::seat {

inline constexpr int kFailure = 1;       ///< exit status of a job that has failed
inline constexpr int kBadArguments = 2;  ///< exit status of a terminal's typo

/// The command line of a seat.
struct Arguments {
    std::string run = "run.json";  ///< open name of the run file
    /// Files of the sources that were added to the run; empty: source_0, source_1 … of the slot.
    std::vector<std::string> sources{};
    std::string receipt = "receipt";  ///< open name of the job's output
    std::string listen{};             ///< HOST:PORT; empty: a free port
    std::string ticket{};             ///< file; empty: from the gateway, if the run has one
    unsigned threads = 0;             ///< CPUs to use outside BOINC; 0: all
    double hours = 0;                 ///< 0: until the run ends
    std::string fault{};              ///< parse_fault(); empty: none
    int message_seconds = 3'600;      ///< Options::message_interval
    Options seat{};                   ///< the rest
};

/// What differs between the two apps.
struct Program {
    std::string name;  ///< the program's, in the log and in errors
    /// Returns what makes the worker. Called once when the log and the run file are open; the run
    /// outlives the worker.
    std::function<MakeWorker(const formats::RunFile& run, runtime::VolunteerRuntime& runtime)>
        worker;
    /// Whether the job may succeed later, and is not to fail now.
    std::function<bool(const std::exception& error)> is_temporary = [](const std::exception&) {
        return false;
    };
};

/// Adds the options of a seat. `arguments` must outlive `app`.
void add_options(CLI::App& app, Arguments& arguments);

/// Parses the command line. In a BOINC slot unknown words are ignored, because a typo in a
/// volunteer's app_config.xml must not fail jobs. Returns the exit status if the program has
/// nothing more to do.
std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv, const Program& program);

/// Reads a run file. Errors: DamagedInput if it is no run file of this version; IoError.
formats::RunFile read_run_file(const std::filesystem::path& path);

/// Appends the sources of these files to the run's, in their order. Errors: DamagedInput if one is
/// no such file or does not fit the run; IoError.
void add_sources(formats::RunFile& run, const std::vector<std::filesystem::path>& files);

/// Takes a seat, under BOINC or in a terminal, and stays until the end of the run or until the
/// machine wants to be left alone. `app` has parsed the command line. Returns the exit status if
/// the seat cannot even begin, else ends the process.
int take_seat(const Program& program, const CLI::App& app, Arguments arguments);

}  // namespace dedloc::seat
