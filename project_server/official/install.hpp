// `dedloc install`: puts DeDLOC@home into the project of an official BOINC server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace dedloc::official {

/// Arguments of install(). What is absent stays as it is in config.xml, or gets a default.
struct InstallOptions {
    std::filesystem::path project{};              ///< the project's folder
    std::filesystem::path programs{};             ///< folder of the programs to copy
    std::optional<std::uint16_t> gateway_port{};  ///< default: a free one
    /// If Apache runs on another machine: the address here that it forwards to, and its own
    /// address. Both or none; default: 127.0.0.1.
    std::optional<std::string> gateway_listen{};
    std::optional<std::string> proxy{};
    /// Numeric address that backbones listen on; default: any, unless the URL's host is this
    /// machine alone.
    std::optional<std::string> peer_listen{};
    /// Numeric address where members dial them; default: that of the URL's host.
    std::optional<std::string> peer_address{};
    /// Each run takes two ports from here on; default: 0, any.
    std::optional<std::uint16_t> peer_port{};
    /// Peers that may be linked to a run's backbone at once; default: server::kDefaultLinks.
    std::optional<std::size_t> max_links{};
    /// Jobs of one account that may have tickets at a time; default: the gateway's.
    std::optional<std::uint64_t> seats_per_account{};
    /// The same of one network; default: the gateway's.
    std::optional<std::uint64_t> seats_per_network{};
    bool is_dry = false;  ///< change nothing
};

/// Told for each thing: whether it was "done" now, is "there" already, is "kept" as an
/// administrator has edited it, or "would" be done.
using Report = std::function<void(const std::string& outcome, const std::string& what)>;

/// Puts into the project, unless it is there: the folder dedloc/ with the project's key, tables,
/// programs in bin/, the output template, plan classes, a limit of one job for each host and GPU,
/// a file for Apache to include, and, last, daemons and settings in config.xml. After a kill -9 at
/// any moment the next call completes it. Returns the number of things that it did.
///
/// Errors  as Project; InputError (plan classes of other apps that a new plan_class_spec.xml would
///         disable, programs that are absent), IoError
std::size_t install(const InstallOptions& options, const Report& report);

}  // namespace dedloc::official
