#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "peer/base/error.hpp"
#include "peer/base/random.hpp"
#include "peer/platform/files.hpp"
#include "project_server/publishing/app_version.hpp"
#include "project_server/publishing/gzip_file.hpp"
#include "project_server/publishing/kernel_version.hpp"
#include "project_server/publishing/keys.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {
namespace {

void write_text(const std::filesystem::path& path, const std::string& text) {
    std::ofstream{path} << text;
}

}  // namespace

TEST_CASE("the public key verifies signatures of the private key", "[server]") {
    const TemporaryDirectory directory;
    make_key_pair(directory.path(), "upload");
    const SigningKey secret{directory.path() / "upload_private"};
    const VerifyingKey open{directory.path() / "upload_public"};
    const std::string signature = secret.sign_text("<name>a</name>");
    CHECK(open.verifies("<name>a</name>", signature));
    CHECK_FALSE(open.verifies("<name>b</name>", signature));
    CHECK_FALSE(open.verifies("<name>a</name>", ""));
    CHECK_FALSE(open.verifies("<name>a</name>", std::string(100'000, 'f')));
    std::string damaged = signature;
    damaged[3] = damaged[3] == '0' ? '1' : '0';
    CHECK_FALSE(open.verifies("<name>a</name>", damaged));
    struct stat status {};
    REQUIRE(stat((directory.path() / "upload_private").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    CHECK_THROWS_AS(make_key_pair(directory.path(), "upload"), IoError);
    CHECK(read_public_key_text(directory.path() / "upload_public").starts_with("1024\n"));
    write_text(directory.path() / "nokey", "hello\n");
    CHECK_THROWS_AS(VerifyingKey{directory.path() / "nokey"}, InputError);
}

TEST_CASE("MD5 of texts and files matches the standard", "[server]") {
    const TemporaryDirectory directory;
    write_text(directory.path() / "abc", "abc");
    CHECK(md5_of_text("abc") == "900150983cd24fb0d6963f7d28e17f72");
    CHECK(md5_of_file(directory.path() / "abc") == "900150983cd24fb0d6963f7d28e17f72");
    CHECK_THROWS_AS(md5_of_file(directory.path() / "absent"), IoError);
}

TEST_CASE("an app version is published once and never changes", "[server]") {
    TestProject project;
    make_key_pair(project.config().key_directory, "code_sign");
    const auto program = project.root() / "program";
    const auto library = project.root() / "libx++.so";
    write_text(program, "#!/bin/sh\n");
    write_text(library, "library");
    AppVersion version{
        .app = "dedloc_train",
        .friendly_name = "Trainer <1>",
        .files = {{.source = program, .open_name = "dedloc_train", .is_main_program = true},
                  {.source = library, .open_name = "libx++.so.1"}}};
    const auto id = add_app_version(project.database(), project.config(), version);
    CHECK(add_app_version(project.database(), project.config(), version) == id);
    const auto row =
        project.database().query_one("select xml_doc from app_version where id = ?", {id});
    const std::string xml = row->text("xml_doc");
    const std::string name = "libx__.so.1." + md5_of_text("library").substr(0, 12);
    CHECK_THAT(xml, Catch::Contains("<open_name>libx++.so.1</open_name>\n</file_ref>"));
    CHECK_THAT(xml, Catch::Contains("<file_name>" + name + "</file_name>"));
    CHECK_THAT(xml, Catch::Contains("<nbytes>7</nbytes>"));
    CHECK(std::filesystem::exists(project.config().download_directory / name));
    write_text(library, "another");
    CHECK_THROWS_WITH(add_app_version(project.database(), project.config(), version),
                      Catch::Contains("higher number"));
    version.version = 101;
    CHECK(add_app_version(project.database(), project.config(), version) != id);
    version.files[0].is_main_program = false;
    CHECK_THROWS_WITH(add_app_version(project.database(), project.config(), version),
                      Catch::Contains("one main program"));
}

TEST_CASE("clients download large files compressed, and are told the size", "[server]") {
    TestProject project;
    make_key_pair(project.config().key_directory, "code_sign");
    const auto program = project.root() / "program";
    const auto library = project.root() / "libx.so";
    write_text(program, "#!/bin/sh\n");
    write_text(library, std::string(1'000'000, 'a'));
    const AppVersion version{
        .app = "dedloc_train",
        .friendly_name = "Trainer",
        .plan_class = "mt_dedloc",
        .files = {{.source = program, .open_name = "dedloc_train", .is_main_program = true},
                  {.source = library, .open_name = "libx.so"}},
        .is_gzipped = true,
        .bill_of_materials = "{}\n"};
    const auto id = add_app_version(project.database(), project.config(), version);
    CHECK(add_app_version(project.database(), project.config(), version) == id);
    const std::string xml = project.database()
                                .query_one("select xml_doc from app_version where id = ?", {id})
                                ->text("xml_doc");
    const auto folder = project.config().download_directory;
    const std::string name = "libx.so." + md5_of_file(library).substr(0, 12);
    const auto bytes = std::filesystem::file_size(folder / (name + ".gz"));
    CHECK(bytes < 10'000);
    CHECK_THAT(xml, Catch::Contains('/' + name + ".gz</gzipped_url>") &&
                        Catch::Contains("<gzipped_nbytes>" + std::to_string(bytes) + "<") &&
                        Catch::Contains("<nbytes>1000000</nbytes>"));
    // A small file is not worth it.
    CHECK_THAT(xml,
               Catch::Contains("/dedloc_train." + md5_of_file(program).substr(0, 12) + "</url>"));
    CHECK(is_whole_gzip(folder / (name + ".gz")));
    CHECK(bill_name(version) == "dedloc_train_100_x86_64-pc-linux-gnu_mt_dedloc.cdx.json");
    CHECK(platform::read_text(folder / bill_name(version)) == "{}\n");
    std::string damaged = platform::read_text(folder / (name + ".gz"));
    damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);
    write_text(project.root() / "damaged", damaged);
    CHECK_FALSE(is_whole_gzip(project.root() / "damaged"));
    write_text(project.root() / "damaged", damaged.substr(0, 100));
    CHECK_FALSE(is_whole_gzip(project.root() / "damaged"));
    CHECK_FALSE(is_whole_gzip(program));
    CHECK_FALSE(is_whole_gzip(project.root() / "absent"));
}

TEST_CASE("an app may be one that clients run beside all others", "[server]") {
    TestProject project;
    make_key_pair(project.config().key_directory, "code_sign");
    const auto program = project.root() / "program";
    write_text(program, "#!/bin/sh\n");
    const auto flag_after = [&](bool is_non_cpu_intensive, int number) {
        AppVersion version{
            .app = "helper",
            .friendly_name = "Helper",
            .version = number,
            .files = {{.source = program, .open_name = "helper", .is_main_program = true}},
            .is_non_cpu_intensive = is_non_cpu_intensive};
        add_app_version(project.database(), project.config(), version);
        return project.database()
            .query_one("select non_cpu_intensive from app where name = 'helper'")
            ->integer("non_cpu_intensive");
    };
    CHECK(flag_after(true, 100) == 1);
    CHECK(flag_after(true, 101) == 1);
    CHECK(flag_after(false, 102) == 0);
}

TEST_CASE("a version is signed where the project's key is not", "[server]") {
    TestProject project;
    const TemporaryDirectory elsewhere;
    make_key_pair(elsewhere.path(), "code_sign");
    const auto keys = project.config().key_directory;
    std::filesystem::copy(elsewhere.path() / "code_sign_public", keys / "code_sign_public");
    const auto program = project.root() / "program";
    write_text(program, "#!/bin/sh\n");
    const AppVersion version{
        .app = "dedloc_train",
        .friendly_name = "Trainer",
        .files = {{.source = program, .open_name = "dedloc_train", .is_main_program = true}}};
    const auto add = [&](const std::filesystem::path& signatures) {
        return add_app_version(project.database(), project.config(), version, signatures);
    };
    const auto folder = elsewhere.path() / "signatures";
    CHECK_THROWS_WITH(add({}), Catch::Contains("is not here: sign the files where it is"));
    CHECK_THROWS_WITH(add(folder), Catch::Contains("has no signature"));
    const auto names = sign_files(version.files, elsewhere.path() / "code_sign_private", folder);
    REQUIRE(names.size() == 1);
    const auto file = folder / (names[0] + ".sig");
    const std::string signature = platform::read_text(file);
    for (const std::string& wrong : {std::string{}, std::string{"zz"}, std::string(100'000, '0'),
                                     (signature[0] == '0' ? '1' : '0') + signature.substr(1)}) {
        write_text(file, wrong);
        CHECK_THROWS_AS(add(folder), InputError);
    }
    CHECK(project.database().query("select id from app_version").empty());
    CHECK(std::filesystem::is_empty(project.config().download_directory));
    write_text(file, signature);
    const auto id = add(folder);
    CHECK_THAT(project.database()
                   .query_one("select xml_doc from app_version where id = ?", {id})
                   ->text("xml_doc"),
               Catch::Contains(signature));
    // Another key's signature is not the project's.
    const TemporaryDirectory stranger;
    make_key_pair(stranger.path(), "code_sign");
    sign_files(version.files, stranger.path() / "code_sign_private", folder);
    CHECK_THROWS_WITH(add(folder), Catch::Contains("not a signature of"));
}

TEST_CASE("a host's kernel is read from what its client reports", "[server]") {
    const auto of = [](std::string_view text) { return kernel_of_host(text); };
    CHECK(of("Debian GNU/Linux 12 (bookworm) [6.1.0-13-amd64|libc 2.36]") == KernelVersion{6, 1});
    CHECK(of("CentOS [2.6.32-754.el6.x86_64|libc 2.12 (GNU libc)]") == KernelVersion{2, 6});
    CHECK(of("a [b] [5.4]") == KernelVersion{5, 4});
    for (const char* const none : {"", "10.0.19045", "5.10.0-8-amd64", "[", "[5", "[5.", "[5.x]",
                                   "[-5.10]", "[99999999999999999999.1]", "[5.1000]"}) {
        INFO(none);
        CHECK_FALSE(of(none));
    }
    CHECK(KernelVersion{2, 6} < KernelVersion{2, 32});
}

TEST_CASE("the kernel that a program needs is read from its note", "[server]") {
    const std::string program = platform::read_text("/proc/self/exe");
    CHECK(needed_kernel(program) >= KernelVersion{2, 6});
    CHECK(needed_kernel(program) < KernelVersion{6, 0});
    // A file that ends early or is damaged has no note; nothing is read outside it.
    for (std::size_t bytes = 0; bytes < 1'024; ++bytes) needed_kernel(program.substr(0, bytes));
    Random random{1};
    for (int i = 0; i < 20'000; ++i) {
        std::string damaged = program.substr(0, 1'024);
        for (int hits = 0; hits < 4; ++hits) {
            damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
        }
        if (const auto read = needed_kernel(damaged)) CHECK(read->major < 1'000);
    }
    CHECK_FALSE(needed_kernel("#!/bin/sh\n"));
    CHECK_FALSE(needed_kernel(platform::read_text("/proc/self/comm")));
}

}  // namespace dedloc::server
