// The subcommands of `dedloc`, one source file for each group. Each function adds options and a
// callback to the parser. Callbacks throw InputError (exit status 2) or another Error (exit status
// 1), and main prints its message.
#pragma once

namespace CLI {
class App;
}

namespace dedloc::cli {

// Each adds one group of subcommands to `dedloc`.
void add_project_commands(CLI::App& dedloc);
void add_backup_commands(CLI::App& project);  ///< `project` is the subcommand `dedloc project`
void add_corpus_commands(CLI::App& dedloc);
void add_tokenizer_commands(CLI::App& corpus);  ///< `corpus` is the subcommand `dedloc corpus`
void add_app_commands(CLI::App& dedloc);
void add_key_commands(CLI::App& app);  ///< `app` is the subcommand `dedloc app`
void add_run_commands(CLI::App& dedloc);
void add_live_commands(CLI::App& run);    ///< `run` is the subcommand `dedloc run`
void add_source_commands(CLI::App& run);  ///< `run` is the subcommand `dedloc run`
void add_voter_commands(CLI::App& run);   ///< `run` is the subcommand `dedloc run`
void add_model_commands(CLI::App& run);   ///< `run` is the subcommand `dedloc run`
void add_ban_commands(CLI::App& dedloc);
void add_team_commands(CLI::App& dedloc);
void add_report_commands(CLI::App& dedloc, CLI::App& run);    ///< `run` as above
void add_activity_commands(CLI::App& dedloc, CLI::App& run);  ///< `run` as above
void add_news_commands(CLI::App& dedloc);
void add_invite_commands(CLI::App& dedloc);
void add_accounts_command(CLI::App& project);  ///< `project` as above
void add_install_commands(CLI::App& dedloc);

}  // namespace dedloc::cli
