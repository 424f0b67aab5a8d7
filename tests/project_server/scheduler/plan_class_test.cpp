#include "project_server/scheduler/plan_class.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "project_server/xml/xml.hpp"
#include "tests/project_server/scheduler/captured.hpp"

namespace dedloc::server {
namespace {

SchedulerRequest captured_request(const std::string& name) {
    const auto request = parse_scheduler_request(captured(name));
    REQUIRE(request);
    return *request;
}

/// The captured client's machine, with a driver for CUDA 13.
Machine gpu_machine() {
    SchedulerRequest request = captured_request("request-gpu.xml");
    request.nvidia.cuda_version = 13'000;
    return machine_of(request, 0);
}

std::string cuda_refusal(const Machine& machine) {
    const Fit fit = fit_plan_class(kCuda, machine, 0);
    CHECK(fit.usage.has_value() == fit.refusal.empty());
    return fit.refusal;
}

}  // namespace

TEST_CASE("a stock client's GPU and its request for GPU work are parsed", "[server][boinc]") {
    const SchedulerRequest request = captured_request("request-gpu.xml");
    CHECK(request.nvidia.count == 1);
    CHECK(request.nvidia.name == "Fake RTX 4080");
    CHECK(request.nvidia.cuda_version == 12'040);
    CHECK(request.nvidia.driver_version == 0);
    CHECK(request.nvidia.capability == 89);
    CHECK(request.nvidia.memory_bytes == 17179869184.0);
    CHECK(request.nvidia.free_memory_bytes == 16642998272.0);
    CHECK(request.nvidia.peak_flops == 48.64e12);
    CHECK(request.nvidia.wanted_seconds == 864);
    CHECK(request.nvidia.idle == 1);
    CHECK(request.wanted_cpu_seconds == 1728);
    CHECK(request.client_version() == 72'005);
    CHECK(request.preferences.ram_fraction() == 0.9);
    CHECK(request.preferences.cpu_fraction == 1);
    // A client without a GPU, and one whose GPU CUDA cannot use.
    CHECK(captured_request("request-work.xml").nvidia.count == 0);
    const auto unusable = parse_scheduler_request(
        "<scheduler_request><authenticator>a</authenticator><coprocs><coproc_cuda><count>1</count>"
        "<have_cuda>0</have_cuda><req_secs>9</req_secs></coproc_cuda></coprocs>"
        "</scheduler_request>");
    CHECK(unusable->nvidia.count == 0);
}

TEST_CASE("a CUDA version takes one GPU and one core", "[server][boinc]") {
    const Fit fit = fit_plan_class(kCuda, gpu_machine(), 0);
    REQUIRE(fit.usage);
    CHECK(fit.usage->resource == Resource::kNvidia);
    CHECK(fit.usage->cpus == 1);
    CHECK(fit.usage->flops > 1e13);
    CHECK(resource_of(kCuda) == Resource::kNvidia);
    CHECK(resource_of(kMultithread) == Resource::kCpu);
}

TEST_CASE("a GPU that cannot be used is refused with the reason", "[server][boinc]") {
    Machine machine = gpu_machine();
    CHECK(cuda_refusal(machine).empty());
    machine.nvidia.driver_version = 52'560;
    CHECK(cuda_refusal(machine) ==
          "The NVIDIA driver 525.60 is too old for GPU tasks: update it to 580 or newer.");
    machine = gpu_machine();
    machine.nvidia.cuda_version = 12'040;  // Debian's client reports no driver version
    CHECK(
        cuda_refusal(machine) ==
        "The NVIDIA driver supports CUDA 12.4, and GPU tasks need CUDA 13.0: update the driver to "
        "580 or newer.");
    machine = gpu_machine();
    machine.nvidia.capability = 61;
    CHECK(cuda_refusal(machine) ==
          "The GPU Fake RTX 4080 is too old for this project: it has compute capability 6.1, and "
          "GPU tasks need 7.5.");
    machine = gpu_machine();
    machine.nvidia.free_memory_bytes = 1e9;
    CHECK_THAT(cuda_refusal(machine), Catch::Contains("has 1000 MB of usable memory"));
    machine.nvidia = {};
    CHECK(cuda_refusal(machine) == "This computer has no NVIDIA GPU that BOINC can use.");
}

TEST_CASE("a multithread version takes all cores that BOINC may use, but those of GPU tasks",
          "[server][boinc]") {
    SchedulerRequest request = captured_request("request-gpu.xml");
    request.host.cores = 16;
    const auto cpus = [&](std::int64_t max_cpus, std::int64_t gpus_used) {
        return fit_plan_class(kMultithread, machine_of(request, max_cpus), gpus_used).usage->cpus;
    };
    CHECK(cpus(0, 0) == 16);
    CHECK(cpus(0, 2) == 14);
    CHECK(cpus(4, 0) == 4);
    request.preferences.cpu_fraction = 0.5;
    CHECK(cpus(0, 0) == 8);
    request.host.cores = 1;
    CHECK(cpus(0, 1) == 1);
    CHECK(fit_plan_class(kAnyCpu, machine_of(request, 0), 0).usage->cpus == 1);
    request.host.cores = 16;
    CHECK(fit_plan_class(kAnyCpu, machine_of(request, 0), 0).usage->cpus == 1);
}

TEST_CASE("a measured rate replaces benchmark and peak", "[server][boinc]") {
    SchedulerRequest request = captured_request("request-gpu.xml");
    request.nvidia.cuda_version = 13'000;
    const auto flops = [&](std::string_view plan_class, MeasuredRates measured) {
        return fit_plan_class(plan_class, machine_of(request, 0, std::move(measured)), 0)
            .usage->flops;
    };
    const double cores = flops(kMultithread, {});
    const double gpu = flops(kCuda, {});
    CHECK(flops(kMultithread, {{"mt_dedloc", 5e11}}) == 5e11);
    CHECK(flops(kMultithread, {{"mt_dedloc", 1}}) == 1e9);
    CHECK(flops(kMultithread, {{"mt_dedloc", 1e300}}) == 1e15);
    CHECK(flops(kCuda, {{"mt_dedloc", 5e11}}) == gpu);
    CHECK(flops(kCuda, {{"cuda_dedloc", 2e13}}) == 2e13);
    CHECK(flops(kMultithread, {{"", 5e11}, {"cuda_dedloc", 2e13}}) == cores);
    CHECK(flops(kAnyCpu, {{"", 7e10}}) == 7e10);
    CHECK(flops(kNonCpuIntensive, {{"nci_dedloc", 5e11}}) == flops(kNonCpuIntensive, {}));
}

TEST_CASE("numbers of a lying client stay within limits", "[server][boinc]") {
    SchedulerRequest request = captured_request("request-gpu.xml");
    request.nvidia.cuda_version = 13'000;
    request.host.flops = 1e300;
    request.nvidia.peak_flops = 1e300;
    CHECK(fit_plan_class(kCuda, machine_of(request, 0), 0).usage->flops <= 1e16);
    CHECK(fit_plan_class(kAnyCpu, machine_of(request, 0), 0).usage->flops <= 1e12);
    request.nvidia.peak_flops = -1;
    request.host.flops = -1;
    CHECK(fit_plan_class(kCuda, machine_of(request, 0), 0).usage->flops > 0);
    CHECK(fit_plan_class(kMultithread, machine_of(request, 0), 99).usage->cpus == 1);
    CHECK_FALSE(fit_plan_class("opencl_x", machine_of(request, 0), 0).usage);
    CHECK_FALSE(is_plan_class("opencl_x"));
}

TEST_CASE("the official server's plan classes have the same conditions", "[server][boinc]") {
    std::ifstream file{DEDLOC_PLAN_CLASSES};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    const auto root = find_element(text, "plan_classes");
    REQUIRE(root);
    std::vector<std::string> names;
    XmlReader reader{root->body};
    while (const auto element = reader.next()) {
        names.push_back(text_value(find_element(element->body, "name")->body));
        CHECK(is_plan_class(names.back()));
        if (names.back() != kCuda) continue;
        const auto number = [&](const char* name) {
            return real_value(find_element(element->body, name)->body);
        };
        // Exactly at the limits a GPU is accepted, and below each it is not.
        Machine machine = gpu_machine();
        machine.nvidia.free_memory_bytes = 0;
        machine.nvidia.cuda_version = static_cast<std::int64_t>(number("min_cuda_version"));
        const auto capability = static_cast<std::int64_t>(number("min_nvidia_compcap"));
        machine.nvidia.capability = capability / 100 * 10 + capability % 100;
        machine.nvidia.memory_bytes = number("min_gpu_ram_mb") * 1e6;
        CHECK(cuda_refusal(machine).empty());
        for (auto* const value : {&machine.nvidia.cuda_version, &machine.nvidia.capability}) {
            --*value;
            CHECK_FALSE(cuda_refusal(machine).empty());
            ++*value;
        }
        machine.nvidia.memory_bytes -= 1;
        CHECK_FALSE(cuda_refusal(machine).empty());
    }
    CHECK(names == std::vector<std::string>{std::string{kMultithread}, std::string{kCuda},
                                            std::string{kNonCpuIntensive}});
}

TEST_CASE("a venue's preferences for the project replace the general ones", "[server][boinc]") {
    const std::string text =
        "<project_preferences>\n<resource_share>100</resource_share>\n<no_cpu>1</no_cpu>\n"
        "<venue name=\"home\">\n<no_cuda>1</no_cuda>\n<max_cpus>3</max_cpus>\n</venue>\n"
        "<venue name=\"work\"></venue>\n</project_preferences>";
    CHECK_FALSE(parse_project_preferences(text, "").allows_cpu);
    CHECK(parse_project_preferences(text, "").allows_nvidia);
    CHECK_FALSE(parse_project_preferences(text, "school").allows_cpu);
    CHECK(parse_project_preferences(text, "home").allows_cpu);
    CHECK_FALSE(parse_project_preferences(text, "home").allows_nvidia);
    CHECK(parse_project_preferences(text, "home").max_cpus == 3);
    CHECK(parse_project_preferences(text, "work").allows_nvidia);
    CHECK(parse_project_preferences("junk <venue name=", "home").allows_cpu);
    CHECK(parse_computing_preferences("<global_preferences><max_ncpus_pct>0</max_ncpus_pct>"
                                      "<ram_max_used_busy_pct>30</ram_max_used_busy_pct>"
                                      "<ram_max_used_idle_pct>60</ram_max_used_idle_pct>"
                                      "</global_preferences>")
              .ram_fraction() == 0.6);
}

}  // namespace dedloc::server
