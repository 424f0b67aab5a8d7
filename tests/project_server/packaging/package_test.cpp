#include "project_server/packaging/package.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "project_server/packaging/bill_of_materials.hpp"
#include "project_server/packaging/origin.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::packaging {
namespace {

namespace fs = std::filesystem;

/// A folder with a program of unknown origin and a launcher.
struct Workshop {
    Workshop() {
        fs::copy_file("/bin/true", folder.path() / "tool");
        fs::copy_file("/bin/false", folder.path() / "dedloc_launcher");
        fs::create_directory(folder.path() / "made");
    }
    Package make() const {
        return make_package(folder.path() / "tool", {}, folder.path() / "made");
    }
    TemporaryDirectory folder;
};

std::set<std::string> names_of(const Package& package) {
    std::set<std::string> names;
    for (const auto& file : package.files) names.insert(file.open_name);
    return names;
}

}  // namespace

TEST_CASE("a package starts with its launcher and brings glibc and the licences", "[server]") {
    const Workshop workshop;
    const Package package = workshop.make();
    REQUIRE(package.files.size() > 4);
    CHECK(package.files[0].open_name == "tool_launcher");
    CHECK(std::ranges::count_if(package.files, &server::AppFile::is_main_program) == 1);
    const auto names = names_of(package);
    for (const char* const name : {"tool", "libc.so.6", "ld-linux-x86-64.so.2", "licences.txt"}) {
        INFO(name);
        CHECK(names.contains(name));
    }
    REQUIRE(package.kernel);
    CHECK(*package.kernel < server::KernelVersion{6, 0});
    CHECK(package.unknown == std::vector<std::string>{"tool"});
    CHECK(package.own_bytes() < package.bytes());
}

TEST_CASE("a package without a launcher, or with two files of one name, is refused", "[server]") {
    const Workshop workshop;
    const fs::path other = workshop.folder.path() / "other";
    fs::create_directory(other);
    fs::copy_file("/bin/false", other / "tool");
    CHECK_THROWS_WITH(make_package(workshop.folder.path() / "tool", {other / "tool"},
                                   workshop.folder.path() / "made"),
                      Catch::Contains("have the same name"));
    CHECK_THROWS_AS(make_package(other / "none", {}, other), InputError);
}

TEST_CASE("a package is the same after it was written and read", "[server]") {
    const Workshop workshop;
    const Package package = workshop.make();
    const fs::path out = workshop.folder.path() / "out";
    write_package(package, out);
    const Package again = read_package(out);
    CHECK(again.program == package.program);
    CHECK(names_of(again) == names_of(package));
    CHECK(again.kernel == package.kernel);
    CHECK(again.bill == package.bill);
    CHECK(again.bytes() == package.bytes());
    CHECK(std::ranges::find(again.files, true, &server::AppFile::is_main_program)->open_name ==
          "tool_launcher");
    CHECK_THROWS_WITH(write_package(package, out), Catch::Contains("not an empty folder"));
    fs::remove(out / "licences.txt");
    CHECK_THROWS_WITH(read_package(out), Catch::Contains("without tool, tool.cdx.json or licen"));
    fs::remove(out / "tool_launcher");
    CHECK_THROWS_WITH(read_package(out), Catch::Contains("holds no package"));
    CHECK_THROWS_AS(read_package(out / "absent"), InputError);
}

TEST_CASE("licences and bill of materials name each work with its text and its files", "[server]") {
    const Workshop workshop;
    const Package package = workshop.make();
    const std::string texts = platform::read_text(workshop.folder.path() / "made/licences.txt");
    CHECK_THAT(texts, Catch::Contains("\nlibc6 2.") && Catch::Contains("\nlibc.so.6\n"));
    // Debian's text for glibc names the LGPL; the licence itself must be there, too.
    CHECK_THAT(texts, Catch::Contains("common-licenses/LGPL-2.1") &&
                          Catch::Contains("GNU LESSER GENERAL PUBLIC LICENSE"));
    CHECK_THAT(package.bill, Catch::Contains("\"bomFormat\":\"CycloneDX\"") &&
                                 Catch::Contains("\"name\":\"libc6\"") &&
                                 Catch::Contains("pkg:deb/debian/libc6@") &&
                                 Catch::Contains("{\"type\":\"file\",\"name\":\"tool\""));
    // Well-known: SHA-256 of the empty file.
    const fs::path empty = workshop.folder.path() / "empty";
    platform::replace_file(empty, "");
    CHECK_THAT(bill_of_materials({.program = "p", .items = {{"empty", empty}}}, "now"),
               Catch::Contains("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
}

TEST_CASE("a file of a wheel comes from the wheel that has its name", "[server]") {
    const TemporaryDirectory folder;
    const auto put = [&](const std::string& name) {
        fs::create_directories((folder.path() / name).parent_path());
        platform::replace_file(folder.path() / name, name);
        return folder.path() / name;
    };
    put("torch-2.11.0.dist-info/licenses/LICENSE");
    put("nvidia_cuda_cupti-13.0.85.dist-info/licenses/License.txt");
    put("nvidia_cuda_runtime-13.0.96.dist-info/licenses/License.txt");
    const auto torch = put("torch/lib/libtorch_cpu.so");
    const auto cupti = put("nvidia/cu13/lib/libcupti.so.13");
    const auto runtime = put("nvidia/cu13/lib/libcudart.so.13");
    put("nvidia_cusparselt_cu13-0.8.0.dist-info/METADATA");
    put("nvidia/cusparselt/LICENSE.txt");
    put("nvidia_curand-10.4.0.35.dist-info/METADATA");
    put("nvidia_cusparse-12.6.3.3.dist-info/licenses/License.txt");
    const auto sparse = put("nvidia/cusparselt/lib/libcusparseLt.so.0");
    const auto without_licence = put("nvidia/cu13/lib/libcurand.so.10");
    const auto other = put("nvidia/cu13/lib/libother.so");
    const auto own = put("bin/dedloc_x");
    const auto origins =
        origins_of({torch, cupti, runtime, sparse, without_licence, other, own}, {own});
    CHECK(origins.at(torch).name == "torch");
    CHECK(origins.at(torch).version == "2.11.0");
    CHECK(origins.at(cupti).name == "nvidia_cuda_cupti");
    CHECK(origins.at(cupti).address == "pkg:pypi/nvidia-cuda-cupti@13.0.85");
    CHECK(origins.at(runtime).name == "nvidia_cuda_runtime");
    CHECK(origins.at(sparse).name == "nvidia_cusparselt_cu13");
    CHECK(origins.at(sparse).text == "nvidia/cusparselt/LICENSE.txt\n");
    CHECK_FALSE(origins.contains(without_licence));
    CHECK_FALSE(origins.contains(other));
    CHECK(origins.at(own).licences == "LGPL-3.0-or-later");
}

}  // namespace dedloc::packaging
