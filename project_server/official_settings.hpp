// What an official BOINC server's config.xml says about DeDLOC@home: elements that `dedloc install`
// adds to its <config>, and that the administrator may change.
#pragma once

#include <filesystem>

#include "project_server/setting_values.hpp"

namespace dedloc::server {

// Names of these elements.
inline constexpr const char* kGatewayPortElement = "dedloc_gateway_port";
inline constexpr const char* kGatewayListenElement = "dedloc_gateway_listen";
inline constexpr const char* kGatewayProxyElement = "dedloc_gateway_proxy";
inline constexpr const char* kPeerListenElement = "dedloc_peer_listen";
inline constexpr const char* kPeerAddressElement = "dedloc_peer_address";
inline constexpr const char* kPeerPortElement = "dedloc_peer_port";
inline constexpr const char* kMaxLinksElement = "dedloc_max_links";
inline constexpr const char* kSeatsPerAccountElement = "dedloc_seats_per_account";
inline constexpr const char* kSeatsPerNetworkElement = "dedloc_seats_per_network";
inline constexpr const char* kFlopsPerGpuElement = "dedloc_flops_per_gpu";
inline constexpr const char* kFlopsPerCoreElement = "dedloc_flops_per_core";

/// Reads them, <long_name> and <master_url>. Errors: InputError (no such file, not well-formed XML,
/// or the name of the element that is absent or invalid).
Settings read_official_settings(const std::filesystem::path& config);

}  // namespace dedloc::server
