// dedloc: the command line of a project's administrator.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/base/version.hpp"
#include "project_server/cli/commands.hpp"

namespace {

constexpr int kFailure = 1;
constexpr int kWrongArguments = 2;

/// The first line of CLI11's message, which is a sentence without a full stop.
std::string one_sentence(const CLI::Error& error) {
    const std::string message = error.what();
    return message.substr(0, message.find('\n'));
}

int run(int count, char** words) {
    CLI::App dedloc{"Run a DeDLOC@home project: volunteers train one model together."};
    dedloc.name("dedloc");
    dedloc.set_version_flag("--version", "dedloc " + dedloc::version());
    dedloc.require_subcommand(1);
    dedloc::cli::add_project_commands(dedloc);
    dedloc::cli::add_corpus_commands(dedloc);
    dedloc::cli::add_app_commands(dedloc);
    dedloc::cli::add_run_commands(dedloc);
    dedloc::cli::add_ban_commands(dedloc);
    dedloc::cli::add_team_commands(dedloc);
    dedloc::cli::add_news_commands(dedloc);
    dedloc::cli::add_invite_commands(dedloc);
    dedloc::cli::add_install_commands(dedloc);
    try {
        dedloc.parse(count, words);
        return 0;
    } catch (const CLI::Success& help) {
        return dedloc.exit(help);
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "dedloc: %s (see dedloc --help)\n", one_sentence(error).c_str());
        return kWrongArguments;
    }
}

}  // namespace

int main(int count, char** words) {
    dedloc::start_log("dedloc");
    try {
        return run(count, words);
    } catch (const dedloc::InputError& error) {
        std::fprintf(stderr, "dedloc: %s\n", error.what());
        return kWrongArguments;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "dedloc: %s\n", error.what());
        return kFailure;
    }
}
