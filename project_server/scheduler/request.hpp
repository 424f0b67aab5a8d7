// What a BOINC client says in a scheduler request, as far as this server listens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::server {

/// More of a kind in one request are left out; what is not acknowledged comes again with the next
/// one.
inline constexpr std::size_t kMaxReports = 200;
inline constexpr std::size_t kMaxMessages = 100;
inline constexpr std::size_t kMaxOtherResults = 1000;

/// <host_info>, <time_stats>, <net_stats>, <disk_usage> and a line about the coprocessors.
struct HostReport {
    std::int64_t timezone = 0;
    std::string domain_name;
    std::string ip_address;
    std::string cpid;
    std::int64_t cores = 1;
    std::string processor_vendor;
    std::string processor_model;
    double flops = 0;  ///< of one core, by the client's benchmark
    double iops = 0;
    double memory_bandwidth = 0;
    std::string os_name;
    std::string os_version;
    std::string product_name;
    double memory_bytes = 0;
    double cache_bytes = 0;
    double swap_bytes = 0;
    double disk_total = 0;
    double disk_free = 0;
    double disk_used_by_boinc = 0;
    double disk_used_by_project = 0;
    double disk_share_of_project = 0;
    double on_fraction = 0;
    double connected_fraction = 0;
    double active_fraction = 0;
    double gpu_active_fraction = 0;
    double upload_bandwidth = 0;
    double download_bandwidth = 0;
    std::int64_t gpus = 0;
    std::string coprocessors;  ///< as BOINC's servers store it in host.serialnum
};

struct ReportedResult {
    std::string name;
    double cpu_seconds = 0;
    double elapsed_seconds = 0;
    std::int64_t exit_status = 0;
    std::int64_t client_state = 0;
    double peak_working_set = 0;
    double peak_swap = 0;
    double peak_disk = 0;
    std::string standard_error;  ///< with the client's frame, cut to what the column holds
    std::string output_files;    ///< the <file_info> elements, for result.xml_doc_out
};

struct HostMessage {
    std::string variety;
    std::string body;  ///< unchanged, with <result_name> and <time>
};

struct SchedulerRequest {
    std::string authenticator;
    std::int64_t host_id = 0;
    std::int64_t sequence = 0;  ///< <rpc_seqno>
    int version_major = 0;
    int version_minor = 0;
    int version_release = 0;
    bool allows_multiple_clients = false;
    double wanted_cpu_seconds = 0;
    double idle_cores = 0;
    std::vector<std::string> platforms;  ///< the client's own first
    std::string code_sign_key;           ///< trimmed; empty when the client has none yet
    double duration_correction = 1;
    HostReport host;
    std::vector<ReportedResult> reports;
    std::vector<HostMessage> messages;
    /// Names of the results that the client still has; absent if it does not say.
    std::optional<std::vector<std::string>> other_results;
};

/// Nothing unless the text is a <scheduler_request> with an authenticator. Linear in the size of
/// the text.
std::optional<SchedulerRequest> parse_scheduler_request(std::string_view text);

}  // namespace dedloc::server
