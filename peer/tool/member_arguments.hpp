// Command-line arguments of a member, shared by `join` and `seed`.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "peer/formats/run_file.hpp"
#include "peer/tool/stay.hpp"

namespace dedloc::tool {

/// The arguments as given; empty texts and paths: not given.
struct MemberArguments {
    std::filesystem::path run;      ///< run file
    std::filesystem::path key;      ///< --key: key file
    std::filesystem::path memory;   ///< --memory: folder of a backbone's votes and state
    std::filesystem::path ticket;   ///< --ticket: ticket file
    std::string listen;             ///< --listen: [HOST:]PORT
    bool is_outbound_only = false;  ///< --outbound-only
    bool maps_port = false;         ///< --map-port
    std::size_t max_links = 0;      ///< --max-links; 0: the role's default
    std::string congestion = net::TransportOptions{}.congestion;  ///< --congestion
    std::size_t connections = net::kMaxFlows;                     ///< --connections
    std::size_t threads = 1;         ///< --threads; 0: all of this computer
    double samples_per_second = 0;   ///< --samples-per-second; 0: computes nothing
    double upload_mbit = 0;          ///< --upload-mbit; 0: not known
    double download_mbit = 0;        ///< --download-mbit; 0: not known
    bool is_declared = false;        ///< --declared: bandwidths are not measured
    bool checks = false;             ///< --check: verify every average
    bool is_quiet = false;           ///< --quiet: no line for each step
    std::vector<std::string> seeds;  ///< --seed: HOST:PORT of DHT seeds
};

/// Adds the options that every kind of member has.
void add_member_options(CLI::App& command, MemberArguments& arguments);

/// Converts arguments to options; reads key and ticket, and creates a missing key file (not a
/// backbone's). Errors: InputError (invalid address, a backbone without a key, an option that the
/// role does not allow).
StayOptions stay_options(const MemberArguments& arguments, Role role, const formats::RunFile& run);

}  // namespace dedloc::tool
