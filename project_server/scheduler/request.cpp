// Tables (Fields) map the names of elements to members, and parse_fields() goes through the
// elements of one level once. Of equal names the first counts unless a table says otherwise,
// because remains of a damaged element come behind it. Lists stop at their limits, and numbers are
// clamped. Names that the reader reports as lost decide at the end what is taken as absent:
// preferences are taken whole or not at all, and messages are then not acknowledged.
#include "project_server/scheduler/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include "peer/base/markup.hpp"
#include "project_server/xml/encodings.hpp"
#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxBlob = 65'000;    // bytes; libsched's buffers hold 65,536
constexpr std::size_t kMaxMessage = 4'096;  // bytes of one trickle-up; the app's have about 100
constexpr std::size_t kMaxPlatforms = 8;
constexpr std::size_t kMaxSerial = 254;  // bytes of host.serialnum
constexpr std::int64_t kMaxGpus = 64;

/// What is done with an element.
template <class Target>
struct Field {
    std::function<void(Target&, const XmlElement&)> read;
    bool repeats = false;  ///< all elements of the name are read, not only the first
};

/// Elements by name; others are ignored.
template <class Target>
using Fields = std::unordered_map<std::string_view, Field<Target>>;

/// Reads the fields of an element. Of two elements of one name the first counts: what a damaged
/// element contained comes behind it. Returns the names of the elements that are lost.
template <class Target>
std::vector<std::string_view> parse_fields(std::string_view text, Target& target,
                                           const Fields<Target>& fields) {
    std::set<std::string_view> seen;
    XmlReader reader{text};
    while (const auto element = reader.next()) {
        const auto field = fields.find(element->name);
        if (field == fields.end()) continue;
        if (field->second.repeats || seen.insert(element->name).second) {
            field->second.read(target, *element);
        }
    }
    return reader.lost();
}

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

template <class Target>
Field<Target> text(std::string Target::*member) {
    return {[member](Target& target, const XmlElement& e) { target.*member = text_value(e.body); }};
}
// A number that cannot be read is as good as absent.
template <class Target>
Field<Target> real(double Target::*member) {
    return {[member](Target& target, const XmlElement& e) {
        if (const auto number = real_number(e.body)) target.*member = *number;
    }};
}
template <class Target, class Number>
Field<Target> integer(Number Target::*member) {
    return {[member](Target& target, const XmlElement& e) {
        const auto number = whole_number(e.body);
        if (!number) return;
        target.*member =
            static_cast<Number>(std::clamp<std::int64_t>(*number, INT32_MIN, INT32_MAX));
    }};
}
template <class Target>
Field<Target> integer(std::optional<std::int64_t> Target::*member) {
    return {[member](Target& target, const XmlElement& e) {
        const auto number = whole_number(e.body);
        if (number) target.*member = std::clamp<std::int64_t>(*number, INT32_MIN, INT32_MAX);
    }};
}

const Fields<HostReport>& host_fields() {
    using H = HostReport;
    static const Fields<H> fields{
        {"timezone", integer(&H::timezone)},
        {"domain_name", text(&H::domain_name)},
        {"ip_addr", text(&H::ip_address)},
        {"host_cpid", text(&H::cpid)},
        {"p_ncpus", integer(&H::cores)},
        {"p_vendor", text(&H::processor_vendor)},
        {"p_model", text(&H::processor_model)},
        {"p_fpops", real(&H::flops)},
        {"p_iops", real(&H::iops)},
        {"p_membw", real(&H::memory_bandwidth)},
        {"os_name", text(&H::os_name)},
        {"os_version", text(&H::os_version)},
        {"product_name", text(&H::product_name)},
        {"m_nbytes", real(&H::memory_bytes)},
        {"m_cache", real(&H::cache_bytes)},
        {"m_swap", real(&H::swap_bytes)},
        {"d_total", real(&H::disk_total)},
        {"d_free", real(&H::disk_free)},
        {"d_boinc_used_total", real(&H::disk_used_by_boinc)},
        {"d_boinc_used_project", real(&H::disk_used_by_project)},
        {"d_project_share", real(&H::disk_share_of_project)},
        {"on_frac", real(&H::on_fraction)},
        {"connected_frac", real(&H::connected_fraction)},
        {"active_frac", real(&H::active_fraction)},
        {"gpu_active_frac", real(&H::gpu_active_fraction)},
        {"bwup", real(&H::upload_bandwidth)},
        {"bwdown", real(&H::download_bandwidth)},
    };
    return fields;
}

/// A number of a version, 0 to 99.
std::int64_t small(std::string_view body) {
    return std::clamp<std::int64_t>(integer_value(body), 0, 99);
}

void parse_nvidia(NvidiaGpus& gpus, const XmlElement& coproc_cuda) {
    using G = NvidiaGpus;
    // What <coproc_opencl> leaves behind when it is damaged has none of these names but <name>.
    const auto last = [](Field<G> field) {
        field.repeats = true;
        return field;
    };
    static const Fields<G> fields{
        {"count", last(integer(&G::count))},
        {"name", text(&G::name)},
        {"cudaVersion", last(integer(&G::cuda_version))},
        {"drvVersion", last(integer(&G::driver_version))},
        {"totalGlobalMem", last(real(&G::memory_bytes))},
        {"available_ram", last(real(&G::free_memory_bytes))},
        {"peak_flops", last(real(&G::peak_flops))},
        {"req_secs", last(real(&G::wanted_seconds))},
        {"req_instances", last(real(&G::idle))},
        {"major", last({[](G& g, const XmlElement& e) {
             g.capability = 10 * small(e.body) + g.capability % 10;
         }})},
        {"minor", last({[](G& g, const XmlElement& e) {
             g.capability = g.capability / 10 * 10 + std::min<std::int64_t>(small(e.body), 9);
         }})},
    };
    parse_fields(coproc_cuda.body, gpus, fields);
    gpus.count = std::clamp<std::int64_t>(gpus.count, 0, kMaxGpus);
    // Absent in the requests of old clients.
    const auto usable = find_element(coproc_cuda.body, "have_cuda");
    if (usable && !flag_value(*usable)) gpus.count = 0;
}

void add_coprocessors(SchedulerRequest& request, const XmlElement& coprocs) {
    request.host.coprocessors = parse_coprocessors(coprocs.body);
    for (const Coprocessor& coprocessor : request.host.coprocessors) {
        if (is_gpu(coprocessor)) request.host.gpus += coprocessor.count;
        request.host.gpu_flops += static_cast<double>(coprocessor.count) * coprocessor.peak_flops;
    }
    if (const auto cuda = find_element(coprocs.body, "coproc_cuda")) {
        request.nvidia.count = 1;  // unless it can be read
        parse_nvidia(request.nvidia, *cuda);
    }
}

void add_output_file(ReportedResult& result, const XmlElement& element) {
    if (result.output_files.size() + element.whole.size() > kMaxBlob) return;
    result.output_files += valid_text(element.whole);
    result.output_files += '\n';
}

void parse_report(SchedulerRequest& request, const XmlElement& element) {
    using R = ReportedResult;
    static const Fields<R> fields{
        {"name", text(&R::name)},
        {"final_cpu_time", real(&R::cpu_seconds)},
        {"final_elapsed_time", real(&R::elapsed_seconds)},
        {"exit_status", integer(&R::exit_status)},
        {"state", integer(&R::client_state)},
        {"final_peak_working_set_size", real(&R::peak_working_set)},
        {"final_peak_swap_size", real(&R::peak_swap)},
        {"final_peak_disk_usage", real(&R::peak_disk)},
        {"stderr_out", {[](R& r, const XmlElement& e) {
             r.standard_error = valid_text(utf8_lines_of(cut_text(e.body, kMaxBlob)));
         }}},
        {"file_info", {add_output_file, true}},
    };
    if (request.reports.size() == kMaxReports) return;
    ReportedResult result;
    parse_fields(element.body, result, fields);
    if (!result.name.empty()) request.reports.push_back(std::move(result));
}

void parse_message(SchedulerRequest& request, const XmlElement& element) {
    if (element.body.size() > kMaxMessage) {
        request.message_refusal = fmt::format("a message of {} bytes is larger than {}",
                                              element.body.size(), kMaxMessage);
        return;
    }
    if (request.messages.size() == kMaxMessages) {
        request.message_refusal = fmt::format("more than {} messages at once", kMaxMessages);
        return;
    }
    using M = HostMessage;
    static const Fields<M> fields{{"result_name", text(&M::result)},
                                  {"variety", text(&M::variety)}};
    HostMessage message;
    const auto lost = parse_fields(element.body, message, fields);
    if (contains(lost, "result_name") || contains(lost, "variety")) {
        request.lost_messages = true;
        return;
    }
    message.body = valid_text(element.body);
    request.messages.push_back(std::move(message));
}

void parse_other_results(SchedulerRequest& request, const XmlElement& element) {
    auto& names = request.other_results.emplace();
    XmlReader reader{element.body};
    while (const auto other = reader.next()) {
        if (other->name != "other_result" || names.size() == kMaxOtherResults) continue;
        if (const auto name = find_element(other->body, "name")) {
            names.push_back(text_value(name->body));
        }
    }
}

void add_platform(SchedulerRequest& request, std::string_view body) {
    if (request.platforms.size() < kMaxPlatforms) request.platforms.push_back(text_value(body));
}

/// They are copied into the reply to the same account and may replace the account's, so they are
/// taken whole or not at all.
void take_account_preferences(SchedulerRequest& request, const XmlElement& element) {
    XmlReader reader{element.body};
    while (reader.next()) continue;
    request.lost_preferences = !reader.lost().empty() || element.whole.size() > kMaxBlob;
    if (!request.lost_preferences) request.account_preferences = valid_text(element.whole);
}

const Fields<SchedulerRequest>& request_fields() {
    using S = SchedulerRequest;
    const Field<S> host{
        [](S& s, const XmlElement& e) { parse_fields(e.body, s.host, host_fields()); }};
    static const Fields<S> fields{
        {"authenticator", text(&S::authenticator)},
        {"hostid", integer(&S::host_id)},
        {"rpc_seqno", integer(&S::sequence)},
        {"core_client_major_version", integer(&S::version_major)},
        {"core_client_minor_version", integer(&S::version_minor)},
        {"core_client_release", integer(&S::version_release)},
        {"duration_correction_factor", real(&S::duration_correction)},
        {"allow_multiple_clients",
         {[](S& s, const XmlElement& e) { s.allows_multiple_clients = flag_value(e); }}},
        {"cpu_req_secs", real(&S::wanted_cpu_seconds)},
        {"cpu_req_instances", real(&S::idle_cores)},
        {"platform_name", {[](S& s, const XmlElement& e) { add_platform(s, e.body); }}},
        {"alt_platform",
         {[](S& s, const XmlElement& e) {
              if (const auto name = find_element(e.body, "name")) add_platform(s, name->body);
          },
          true}},
        {"code_sign_key",
         {[](S& s, const XmlElement& e) { s.code_sign_key = text_value(e.body, 4096); }}},
        {"host_info", host},
        {"time_stats", host},
        {"net_stats", host},
        {"disk_usage", host},
        {"coprocs", {add_coprocessors}},
        {"global_preferences", {take_account_preferences}},
        {"global_prefs_source_email_hash", text(&S::preferences_email_hash)},
        {"working_global_preferences",
         {[](S& s, const XmlElement& e) { s.preferences = parse_computing_preferences(e.body); }}},
        {"result", {parse_report, true}},
        {"msg_from_host", {parse_message, true}},
        {"other_results", {parse_other_results}},
    };
    return fields;
}

}  // namespace

std::optional<SchedulerRequest> parse_scheduler_request(std::string_view text) {
    const auto root = find_element(text, "scheduler_request");
    if (!root) return std::nullopt;
    SchedulerRequest request;
    const auto lost = parse_fields(root->body, request, request_fields());
    if (request.authenticator.empty()) return std::nullopt;
    request.lost_messages = request.lost_messages || contains(lost, "msg_from_host");
    // The preferences that the client follows contain an element of the same name as the account's.
    if (contains(lost, "global_preferences") || contains(lost, "working_global_preferences")) {
        request.account_preferences.clear();
        request.lost_preferences = true;
    }
    HostReport& host = request.host;
    host.cores = std::clamp<std::int64_t>(host.cores, 1, 4096);
    const std::string version = fmt::format("[BOINC|{}.{}.{}]", request.version_major,
                                            request.version_minor, request.version_release);
    host.serial = serial_text(host.coprocessors, kMaxSerial - version.size()) + version;
    return request;
}

}  // namespace dedloc::server
