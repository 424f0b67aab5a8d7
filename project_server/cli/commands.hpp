// The subcommands of `dedloc`, one file a group. Each adds its options and a callback to the
// parser; callbacks throw InputError (exit 2) or another Error (exit 1), and main prints the
// sentence.
#pragma once

namespace CLI {
class App;
}

namespace dedloc::cli {

void add_project_commands(CLI::App& dedloc);
void add_corpus_commands(CLI::App& dedloc);
void add_app_commands(CLI::App& dedloc);
void add_run_commands(CLI::App& dedloc);
void add_voter_commands(CLI::App& run);  // of `dedloc run`
void add_revocation_commands(CLI::App& dedloc);

}  // namespace dedloc::cli
