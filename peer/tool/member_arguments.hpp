// What both `join` and `seed` may be told about a member.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "peer/formats/run_file.hpp"
#include "peer/tool/stay.hpp"

namespace dedloc::tool {

struct MemberArguments {
    std::filesystem::path run;
    std::filesystem::path key;
    std::filesystem::path memory;
    std::filesystem::path ticket;
    std::string listen;
    bool is_outbound_only = false;
    bool maps_port = false;
    double samples_per_second = 0;
    double upload_mbit = 0;
    double download_mbit = 0;
    bool is_declared = false;
    bool checks = false;
    bool is_quiet = false;
    std::vector<std::string> seeds;
    std::string misbehaviour;
};

/// Those that do not depend on the kind of member.
void add_member_options(CLI::App& command, MemberArguments& arguments);

/// Errors: InputError (an address is none, no key where one is needed).
StayOptions stay_options(const MemberArguments& arguments, Role role, const formats::RunFile& run);

}  // namespace dedloc::tool
