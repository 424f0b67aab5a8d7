#include "project_server/xml/coprocessors.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "project_server/scheduler/request.hpp"

namespace dedloc::server {
namespace {

constexpr const char* kOpenCl =
    "<coproc_opencl><name>Device &lt;x&gt;</name><vendor>v</vendor><global_mem_size>8589934592"
    "</global_mem_size><opencl_device_version>OpenCL 3.0 CUDA</opencl_device_version>"
    "<opencl_driver_version>31.0.101</opencl_driver_version></coproc_opencl>";

/// One device of each kind that a client writes, in the form in which it does.
const std::string kAllKinds =
    std::string{
        "<coproc_cuda><count>2</count><name>NVIDIA RTX 4080</name><available_ram>1</available_ram>"
        "<have_cuda>1</have_cuda><req_secs>5</req_secs><peak_flops>4e13</peak_flops>"
        "<drvVersion>58065</drvVersion><totalGlobalMem>17179869184</totalGlobalMem>"} +
    kOpenCl +
    "</coproc_cuda><coproc_ati><count>1</count><name>RX [7900] XT</name><req_secs>7</req_secs>"
    "<peak_flops>5e13</peak_flops><CALVersion>1.4.1848</CALVersion><localRAM>20464</localRAM>" +
    kOpenCl +
    "</coproc_ati><coproc_intel_gpu><count>1</count><name>Intel(R) Arc(TM) A770</name>"
    "<peak_flops>1e13</peak_flops>" +
    kOpenCl +
    "</coproc_intel_gpu><coproc_apple_gpu><count>1</count><model>Apple M3</model><have_metal>1"
    "</have_metal><ncores>10</ncores><metal_support>3</metal_support><peak_flops>4e12</"
    "peak_flops>" +
    kOpenCl +
    "</coproc_apple_gpu><coproc><type>Mali-G78</type><count>1</count><peak_flops>1e12</"
    "peak_flops>" +
    kOpenCl + "</coproc><coproc><type>miner_asic</type><count>3</count></coproc>";

}  // namespace

TEST_CASE("every kind of coprocessor is read", "[server][boinc]") {
    const auto all = parse_coprocessors(kAllKinds);
    REQUIRE(all.size() == 6);
    CHECK(all[0].type == "NVIDIA");
    CHECK(all[0].count == 2);
    CHECK(all[0].wanted_seconds == 5);
    CHECK(all[0].opencl_version == 300);
    CHECK(all[1].type == "ATI");
    CHECK(all[1].memory_bytes == 20464.0 * 1024 * 1024);
    CHECK(all[2].type == "intel_gpu");
    CHECK(all[2].driver == "31.0.101");
    CHECK(all[3].type == "apple_gpu");
    CHECK(all[3].name == "Apple M3");
    CHECK(all[4].type == "Mali-G78");
    CHECK(all[4].memory_bytes == 8589934592.0);
    CHECK(all[5].type == "miner_asic");
    CHECK(all[5].count == 3);
    const std::string serial = serial_text(all, 1000);
    CHECK(serial ==
          "[CUDA|NVIDIA RTX 4080|2|16384MB|58065|300][CAL|RX  7900  XT|1|20464MB|1.4.1848|300]"
          "[INTEL|Intel(R) Arc(TM) A770|1|8192MB|31.0.101|300][apple_gpu|Apple M3|1|8192MB|3|300]"
          "[opencl_gpu|Mali-G78|1|8192MB|31.0.101|300][miner_asic|miner_asic|3|0MB||0]");
    CHECK(count_gpus(serial, 16) == 6);
    CHECK(count_gpus(serial, 4) == 4);
}

TEST_CASE("the stored list of coprocessors ends with a whole entry", "[server][boinc]") {
    const auto request = parse_scheduler_request(
        "<scheduler_request><authenticator>a</authenticator><core_client_major_version>8"
        "</core_client_major_version><coprocs>" +
        kAllKinds + "</coprocs></scheduler_request>");
    REQUIRE(request);
    CHECK(request->host.coprocessors.size() == 6);
    CHECK(request->host.gpus == 6);
    CHECK(request->host.gpu_flops == 2 * 4e13 + 5e13 + 1e13 + 4e12 + 1e12);
    CHECK(request->nvidia.count == 2);
    const std::string& serial = request->host.serial;
    CHECK(serial.size() <= 254);
    CHECK_THAT(serial, Catch::EndsWith("][BOINC|8.0.0]"));
    CHECK_THAT(serial, Catch::Contains("[CUDA|") && Catch::Contains("[apple_gpu|"));
}

TEST_CASE("a name cannot make coprocessors up", "[server][boinc]") {
    const auto all = parse_coprocessors(
        "<coproc_ati><count>1</count><name>x|1|1MB|][CUDA|y|60</name></coproc_ati><coproc><type>"
        "[CUDA</type><count>1</count></coproc><coproc_cuda><count>-5</count></coproc_cuda>"
        "<coproc><type>B</type><count>1e9</count></coproc><coproc><type>B</type><count>1</count>"
        "</coproc><coproc><count>1</count></coproc>");
    REQUIRE(all.size() == 3);
    CHECK(all[2].count == kMaxInstances);
    CHECK(count_gpus(serial_text(all, 1000), 100) == 1);
    CHECK(count_gpus("[CUDA|a|nonsense][CUDA|b|2", 16) == 2);
    CHECK(count_gpus("[BOINC|7.20.5][vbox|6.1|1|1]", 16) == 0);
}

TEST_CASE("of a damaged coprocessor the others stay", "[server][boinc]") {
    std::string damaged = kAllKinds;
    damaged.replace(damaged.find("</coproc_ati>"), 13, "</coproc_at>");
    const auto all = parse_coprocessors(damaged);
    REQUIRE(all.size() == 5);
    CHECK(all[1].type == "intel_gpu");
    CHECK(all[4].type == "miner_asic");
}

}  // namespace dedloc::server
