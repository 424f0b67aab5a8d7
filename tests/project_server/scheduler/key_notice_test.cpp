// What clients are told of the key that signs app versions.
#include <catch2/catch.hpp>

#include "project_server/publishing/app_version.hpp"
#include "project_server/publishing/key_change.hpp"
#include "project_server/xml/xml.hpp"
#include "tests/project_server/scheduler/office.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

/// A project with one version, which has a file, and whose key changes.
struct KeyOffice : Office {
    const std::filesystem::path keys = project.config().key_directory;
    int sequence = 1;

    explicit KeyOffice(int jobs) : Office(jobs) {
        std::ofstream{project.root() / "program"} << "program";
        add_app_version(project.database(), config,
                        {.app = "train",
                         .friendly_name = "Trainer",
                         .version = 101,
                         .files = {{.source = project.root() / "program",
                                    .open_name = "train",
                                    .is_main_program = true}}});
    }
    /// Changes the key and returns the new one; the scheduler knows it at the next request.
    std::string change() {
        change_key(project.database(), config, {}, [](const auto&) {});
        now += kCatalogueSeconds;
        return read_public_key_text(keys / "code_sign_public");
    }
    std::string with_key(const std::string& key, const std::string& extra = "") {
        return ask("<code_sign_key>\n" + key + "\n</code_sign_key>" + extra, 1, ++sequence);
    }
    std::string present() const { return read_public_key_text(keys / "code_sign_public"); }
};

/// The key in a reply; empty: none.
std::string key_in(const std::string& reply) {
    const auto whole = find_element(reply, "scheduler_reply");
    REQUIRE(whole);
    const auto key = find_element(whole->body, "code_sign_key");
    return key ? clean_text(key->body, 4'096) : std::string{};
}

/// Whether a client with `key` accepts the key in the reply.
bool is_accepted(const std::string& reply, const std::string& key) {
    const auto whole = find_element(reply, "scheduler_reply");
    const auto signature = find_element(whole->body, "code_sign_key_signature");
    return signature && VerifyingKey{key, "client"}.verifies(
                            key_in(reply), clean_text(signature->body, 4'096) + "\n");
}

/// Whether the key verifies all files that the reply describes with a signature, at least one.
bool verifies_files(const std::string& reply, const std::string& key) {
    int files = 0;
    const auto whole = find_element(reply, "scheduler_reply");
    XmlReader reader{whole->body};
    while (const auto info = reader.next()) {
        if (info->name != "file_info") continue;
        const auto signature = find_element(info->body, "file_signature");
        if (!signature) continue;
        ++files;
        if (!VerifyingKey{key, "client"}.verifies_md5(md5_of_text("program"),
                                                      clean_text(signature->body, 4'096) + "\n")) {
            return false;
        }
    }
    return files > 0;
}

}  // namespace

TEST_CASE("a changed signing key comes with a signature by the client's key", "[server][boinc]") {
    KeyOffice office{2};
    const std::string first = office.present();
    CHECK(key_in(office.ask(kWantTwo)) == first);
    CHECK(key_in(office.with_key(first)).empty());
    const std::string second = office.change();
    CHECK(key_in(office.with_key(second)).empty());
    const std::string reply = office.with_key(first);
    CHECK(key_in(reply) == second);
    CHECK(is_accepted(reply, first));
    // The client may still be downloading the files of its job, and checks them by the new key.
    CHECK(office.count("result where server_state = 4") == 1);
    CHECK(verifies_files(reply, second));
    CHECK_THAT(reply, !Contains("<app_version>"));
    // The former program is published again after a restart, and a new server knows the key, too.
    const Scheduler restarted{office.config};
    CHECK(key_in(restarted.serve(office.project.database(), office.request("", 0, 1), "10.0.0.1",
                                 office.now)) == second);
}

TEST_CASE("a job goes only to a client that can check its version", "[server][boinc]") {
    KeyOffice office{3};
    const std::string first = office.present();
    office.ask("");
    CHECK(sent(office.with_key("1024 of another project", kWantTwo)) == 0);
    const std::string second = office.change();
    const std::string third = office.change();
    // The client has missed a change, and learns one key after the other.
    const std::string hop = office.with_key(first, kWantTwo);
    CHECK(key_in(hop) == second);
    CHECK(is_accepted(hop, first));
    CHECK(sent(hop) == 0);
    CHECK_THAT(hop, Contains("has missed changes of the project") && !Contains("<file_info>"));
    const std::string last = office.with_key(second, kWantTwo);
    CHECK(key_in(last) == third);
    CHECK(is_accepted(last, second));
    CHECK(sent(last) == 1);
    CHECK(verifies_files(last, third));
    const std::string refusal = office.with_key("1024 of another project");
    CHECK_THAT(refusal, Contains("remove this project and add it again"));
    CHECK(key_in(refusal).empty());
}

}  // namespace dedloc::server
