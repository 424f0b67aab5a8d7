// The parts of a BOINC client's scheduler request that this server uses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "project_server/scheduler/preferences.hpp"
#include "project_server/xml/coprocessors.hpp"

namespace dedloc::server {

/// Limits per request; more entries of a kind are ignored. Ignored results are not acknowledged, so
/// the client reports them again. A request with more messages has none stored or acknowledged. The
/// app sends one an hour, so they suffice for an outage of 41 days.
inline constexpr std::size_t kMaxReports = 200;
inline constexpr std::size_t kMaxMessages = 1'000;
inline constexpr std::size_t kMaxOtherResults = 1000;

/// Contents of <host_info>, <time_stats>, <net_stats>, <disk_usage> and <coprocs>.
struct HostReport {
    std::int64_t timezone = 0;     ///< seconds east of UTC
    std::string domain_name;       ///< the host's name, as the client sees it
    std::string ip_address;        ///< as the client sees it
    std::string cpid;              ///< BOINC's cross-project id of the host; secret
    std::int64_t cores = 1;        ///< 1 to 4,096
    std::string processor_vendor;  ///< "GenuineIntel", …
    std::string processor_model;   ///< name, family, model and stepping, as the client writes them
    double flops = 0;              ///< one core's FLOP/s, measured by the client; 0: not yet
    double iops = 0;               ///< integer operations a second of one core
    double memory_bandwidth = 0;   ///< bytes a second
    std::string os_name;           ///< "Linux Debian", "Microsoft Windows 11", …
    std::string os_version;        ///< release of the kernel or system
    std::string product_name;      ///< the machine's, from its maker; may be empty
    // Bytes.
    double memory_bytes = 0;
    double cache_bytes = 0;            ///< cache of a processor
    double swap_bytes = 0;             ///< swap space
    double disk_total = 0;             ///< size of the file system of the client's data
    double disk_free = 0;              ///< free on that file system
    double disk_used_by_boinc = 0;     ///< the client and all projects
    double disk_used_by_project = 0;   ///< this project alone
    double disk_share_of_project = 0;  ///< disk that this project may use; 0: not reported
    // Fractions of time, 0 to 1.
    double on_fraction = 0;
    double connected_fraction = 0;   ///< connected to a network, while the client runs
    double active_fraction = 0;      ///< allowed to compute, while the client runs
    double gpu_active_fraction = 0;  ///< allowed to compute on GPUs, likewise
    // Bytes a second, measured by the client; 0: not yet.
    double upload_bandwidth = 0;
    double download_bandwidth = 0;          ///< for files that the client fetches
    std::vector<Coprocessor> coprocessors;  ///< those of all kinds
    std::string serial;  ///< they and the client's version, as BOINC stores it in host.serialnum
    /// The number of all coprocessors, and the sum of their peak FLOP/s, as BOINC counts GPUs.
    std::int64_t gpus = 0;
    double gpu_flops = 0;  ///< the sum
};

/// The NVIDIA GPUs of a host (<coproc_cuda>). A client describes one of them, the best.
struct NvidiaGpus {
    std::int64_t count = 0;           ///< 0: none, or none that CUDA can use; at most 64
    std::string name;                 ///< the product's name
    std::int64_t cuda_version = 0;    ///< newest CUDA of the driver: 13000 is 13.0
    std::int64_t driver_version = 0;  ///< 58065 is 580.65; 0: not reported
    std::int64_t capability = 0;      ///< compute capability: 75 is 7.5
    double memory_bytes = 0;          ///< memory of one GPU
    double free_memory_bytes = 0;     ///< free when the client started; 0: not reported
    double peak_flops = 0;            ///< FLOP/s of one GPU in fp32, by the client's formula
    double wanted_seconds = 0;        ///< work requested; 0: none
    double idle = 0;                  ///< GPUs without a job
};

/// A <result> that the client has finished.
struct ReportedResult {
    std::string name;                            ///< BOINC's name of the result
    double cpu_seconds = 0;                      ///< processor time
    double elapsed_seconds = 0;                  ///< running time
    std::optional<std::int64_t> exit_status{};   ///< the app's, or BOINC's error number
    std::optional<std::int64_t> client_state{};  ///< BOINC's RESULT_* state; 5: files uploaded
    double peak_working_set = 0;                 ///< bytes
    double peak_swap = 0;                        ///< bytes
    double peak_disk = 0;                        ///< bytes
    std::string standard_error;                  ///< the body of <stderr_out>, cut to 65,000 bytes
    std::string output_files;  ///< the <file_info> elements, for result.xml_doc_out
    /// Whether the report says how the task ended, as every client's does that is not damaged.
    bool is_complete() const { return exit_status.has_value() && client_state.has_value(); }
};

/// A <msg_from_host>: a message of an app (trickle-up).
struct HostMessage {
    std::string result;   ///< name of the result that its app works on
    std::string variety;  ///< kind of message, named by the app
    std::string body;     ///< unchanged, with <result_name> and <time>
};

/// A parsed <scheduler_request>.
struct SchedulerRequest {
    std::string authenticator;  ///< the account's key, or its weak one
    /// The client has the weak account key. find_account_key() puts the account's own key into
    /// `authenticator`, which no reply contains. Such a client may not change the account.
    bool has_weak_key = false;
    std::int64_t host_id = 0;                ///< 0: the client has none yet
    std::optional<std::int64_t> sequence{};  ///< <rpc_seqno>; absent if it cannot be read
    // Version of the client.
    int version_major = 0;
    int version_minor = 0;    ///< 20 of 7.20.5
    int version_release = 0;  ///< 5 of 7.20.5
    /// The client's version as BOINC's tables have it: 72005 is 7.20.5.
    int client_version() const {
        const auto part = [](int number) { return std::clamp(number, 0, 9'999); };
        return part(version_major) * 10'000 + part(version_minor) * 100 + part(version_release);
    }
    bool allows_multiple_clients = false;  ///< several clients may run on this host
    double wanted_cpu_seconds = 0;         ///< work requested; 0: none
    double idle_cores = 0;                 ///< processors without a job
    std::vector<std::string> platforms;    ///< the client's own first
    std::string code_sign_key;             ///< trimmed; empty when the client has none yet
    double duration_correction = 1;        ///< stored with the host, not used
    /// The account's computing preferences that the client has: a <global_preferences> element;
    /// empty if it has none, or none that is whole.
    std::string account_preferences;
    bool lost_preferences = false;        ///< it has some that are damaged
    std::string preferences_email_hash;   ///< MD5 of the e-mail address of that account
    ComputingPreferences preferences;     ///< those that the client follows
    HostReport host;                      ///< the machine
    NvidiaGpus nvidia;                    ///< its NVIDIA GPUs, with the work requested for them
    std::vector<ReportedResult> reports;  ///< at most kMaxReports
    std::vector<HostMessage> messages;    ///< at most kMaxMessages
    std::string message_refusal;          ///< why all messages are refused; empty: they are not
    bool lost_messages = false;           ///< there are others, which cannot be read
    /// Names of the results that the client still has; absent if it does not list them.
    std::optional<std::vector<std::string>> other_results;
};

/// Parses a request. Nothing if the text is not a <scheduler_request> with an authenticator. Time
/// is linear in the size of the text. Of a damaged request one element is lost, and everything
/// outside it is read (README.md).
std::optional<SchedulerRequest> parse_scheduler_request(std::string_view text);

}  // namespace dedloc::server
