#include "project_server/publishing/key_change.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <set>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/folder_lock.hpp"
#include "project_server/publishing/app_version.hpp"
#include "project_server/publishing/code_sign_keys.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/xml/xml.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

void write(const fs::path& path, const std::string& text) {
    std::ofstream{path} << text;
}

/// A project with two versions that share a file.
struct Publisher {
    TestProject project;
    const fs::path keys = project.config().key_directory;
    const std::string first;  ///< the key that volunteers' clients have

    Publisher() : first(begin()) {
        publish(100);
        publish(101);
    }
    std::string begin() {
        make_key_pair(keys, "code_sign");
        write(project.root() / "library", "library");
        return read_public_key_text(keys / "code_sign_public");
    }
    AppVersion version(int number) const {
        const auto program = project.root() / "program";
        write(program, "program " + std::to_string(number));
        return {.app = "dedloc_train",
                .friendly_name = "Trainer",
                .version = number,
                .files = {{.source = program, .open_name = "train", .is_main_program = true},
                          {.source = project.root() / "library", .open_name = "library"}}};
    }
    void publish(int number, const fs::path& signatures = {}) {
        add_app_version(project.database(), project.config(), version(number), signatures);
    }
    std::string present() { return present_key(project.database(), keys); }
    KeyChange change(
        const fs::path& answer = {},
        const std::function<void(const std::string&)>& begins = [](const auto&) {}) {
        return change_key(project.database(), project.config(), answer, begins);
    }
    std::vector<std::string> documents() {
        std::vector<std::string> texts;
        for (const Row& row : project.database().query("select xml_doc from app_version")) {
            texts.push_back(row.text("xml_doc"));
        }
        return texts;
    }
    /// The files of all versions that a client with the present key would refuse.
    std::set<std::string> refused() {
        std::set<std::string> names;
        const VerifyingKey key{present(), "present"};
        for (const std::string& text : documents()) {
            XmlReader reader{text};
            while (const auto info = reader.next()) {
                if (info->name != "file_info") continue;
                const auto name = text_value(find_element(info->body, "name")->body);
                const auto signature = find_element(info->body, "file_signature")->body;
                const auto file = project.config().download_directory / name;
                // As clients do, which trim it.
                const auto value = clean_text(signature, 4'096) + "\n";
                if (!key.verifies_file(file, value)) names.insert(name);
            }
        }
        return names;
    }
    /// Keys from `key` to the present one, as a client with it learns them; empty: it cannot.
    std::vector<std::string> path_from(std::string key) {
        const CodeSignKeys known{keys, present()};
        std::vector<std::string> path;
        for (KeyNotice notice = known.notice_for(key); !notice.key.empty();
             notice = known.notice_for(key)) {
            CHECK(VerifyingKey{key, "client"}.verifies(notice.key, notice.signature + "\n"));
            CHECK(notice.can_verify == (notice.key == present()));
            key = notice.key;
            path.push_back(key);
        }
        if (key != present()) path.clear();
        return path;
    }
    bool is_pair() const {
        return VerifyingKey{keys / "code_sign_public"}.is_half_of(
            SigningKey{keys / "code_sign_private"});
    }
};

std::set<std::string> names_in(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator{folder}) {
        names.insert(entry.path().filename().string());
    }
    return names;
}

/// A crash of the process that changes the key.
struct Crash {};

}  // namespace

TEST_CASE("after a change of the key all versions are signed by the new one", "[server]") {
    Publisher publisher;
    const auto before = publisher.documents();
    const KeyChange change = publisher.change();
    CHECK(change.versions == 2);
    CHECK(change.files == 3);
    CHECK_FALSE(change.was_interrupted);
    CHECK(change.has_private_key);
    const std::string second = publisher.present();
    CHECK(second != publisher.first);
    CHECK(read_public_key_text(publisher.keys / "code_sign_public") == second);
    CHECK(publisher.is_pair());
    CHECK(publisher.refused().empty());
    CHECK(publisher.path_from(publisher.first) == std::vector{second});
    // Nothing but signatures has changed, and the files that remain are those of BOINC's server.
    const auto after = publisher.documents();
    REQUIRE(after.size() == before.size());
    CHECK(after[0] != before[0]);
    CHECK(after[0].size() == before[0].size());
    CHECK_THAT(after[0], Contains("<open_name>library</open_name>"));
    CHECK(names_in(publisher.keys) == std::set<std::string>{"code_sign_private", "code_sign_public",
                                                            "old_key_0", "signature_0"});
    struct stat facts {};
    REQUIRE(stat((publisher.keys / "code_sign_private").c_str(), &facts) == 0);
    CHECK((facts.st_mode & 0777) == 0600);
    // Publishing goes on: the same files are the same version, and a new one has the new key.
    publisher.publish(101);
    publisher.publish(102);
    CHECK(publisher.documents().size() == 3);
    CHECK(publisher.refused().empty());
}

TEST_CASE("a client that has missed a change of the key is led through both", "[server]") {
    Publisher publisher;
    publisher.change();
    const std::string second = publisher.present();
    publisher.change();
    const std::string third = publisher.present();
    CHECK(publisher.path_from(publisher.first) == std::vector{second, third});
    CHECK(publisher.path_from(second) == std::vector{third});
    CHECK(publisher.path_from(third).empty());
    const CodeSignKeys keys{publisher.keys, third};
    CHECK(keys.dead_ends().empty());
    CHECK(keys.notice_for("1024 of another project").is_unknown);
    CHECK_FALSE(keys.notice_for("1024 of another project").can_verify);
    CHECK(keys.notice_for("").key == third);
    // While a change is being prepared its signature is there and the key is still the former one.
    CHECK(CodeSignKeys{publisher.keys, second}.notice_for(second).key.empty());
    CHECK(CodeSignKeys{publisher.keys, second}.notice_for(publisher.first).key == second);
    // A damaged signature leads nowhere, and clients are told so.
    write(publisher.keys / "signature_1", "00\n.\n");
    const CodeSignKeys damaged{publisher.keys, third};
    CHECK(damaged.dead_ends() == std::vector<std::string>{"old_key_0", "old_key_1"});
    CHECK(damaged.notice_for(second).is_unknown);
    write(publisher.keys / "old_key_0", "no key\n");
    CHECK(CodeSignKeys{publisher.keys, third}.dead_ends().size() == 2);
}

TEST_CASE("a change of the key that ends anywhere leaves one key, and is completed", "[server]") {
    std::size_t crashes = 0;
    for (std::size_t last = 0;; ++last) {
        Publisher publisher;
        std::size_t step = 0;
        std::string at;
        try {
            publisher.change({}, [&](const std::string& begins) {
                at = begins;
                if (step++ == last) throw Crash{};
            });
            break;
        } catch (const Crash&) {
            ++crashes;
        }
        INFO(at);
        CHECK(publisher.refused().empty());
        const bool is_changed = publisher.present() != publisher.first;
        CHECK(publisher.path_from(publisher.first).size() == (is_changed ? 1 : 0));
        // Versions that are published now are signed by the present key or refused.
        try {
            publisher.publish(102);
        } catch (const InputError& refusal) {
            CHECK_THAT(refusal.what(), Contains("dedloc app rekey completes it"));
        }
        CHECK(publisher.refused().empty());
        const KeyChange rest = publisher.change();
        CHECK(rest.was_interrupted == (step > 1));
        CHECK(publisher.present() != publisher.first);
        CHECK(publisher.is_pair());
        CHECK(publisher.refused().empty());
        CHECK(publisher.path_from(publisher.first).size() == 1);
        CHECK_FALSE(fs::exists(publisher.keys / kNextKeys));
    }
    CHECK(crashes >= 7);
}

TEST_CASE("the key is changed where its private half is not", "[server]") {
    Publisher publisher;
    const TemporaryDirectory elsewhere;
    const auto secret = elsewhere.path() / "code_sign_private";
    fs::rename(publisher.keys / "code_sign_private", secret);
    CHECK_THROWS_WITH(publisher.change(), Contains("--request FILE"));
    const auto asked = [&] {
        return parse_signing_request(
            text_of(signing_request(publisher.project.database(), publisher.project.config())));
    };
    const SigningRequest request = asked();
    CHECK(request.present_key == publisher.first);
    REQUIRE(request.files.size() == 3);
    const auto new_keys = elsewhere.path() / "new";
    fs::create_directory(new_keys);
    make_key_pair(new_keys, "code_sign");
    const auto answer = elsewhere.path() / "answer";

    // The other machine signs only what its key has signed.
    SigningRequest hostile = request;
    hostile.files[1].md5 = md5_of_text("malware");
    CHECK_THROWS_WITH(answer_signing_request(hostile, secret, new_keys, answer),
                      Contains("has not signed the file"));
    hostile = request;
    hostile.present_key = read_public_key_text(new_keys / "code_sign_public");
    CHECK_THROWS_WITH(answer_signing_request(hostile, secret, new_keys, answer),
                      Contains("not the private half of the request's present key"));
    CHECK_FALSE(fs::exists(answer));
    answer_signing_request(request, secret, new_keys, answer);

    // The project takes only signatures by the new key, which the present key has signed.
    const auto file = answer / (request.files[0].name + ".sig");
    const std::string good = platform::read_text(file);
    write(file, request.files[0].signature + "\n");
    CHECK_THROWS_WITH(publisher.change(answer), Contains("is not a signature of the file"));
    fs::remove(file);
    CHECK_THROWS_WITH(publisher.change(answer), Contains("has no signature"));
    write(file, good);
    const std::string endorsement = platform::read_text(answer / "code_sign_public.sig");
    write(answer / "code_sign_public.sig", good);
    CHECK_THROWS_WITH(publisher.change(answer), Contains("is not the signature of a new key"));
    write(answer / "code_sign_public.sig", endorsement);
    CHECK(publisher.present() == publisher.first);
    CHECK(publisher.refused().empty());

    const KeyChange change = publisher.change(answer);
    CHECK(change.was_interrupted);  // the errors above did that
    CHECK_FALSE(change.has_private_key);
    CHECK(publisher.present() == read_public_key_text(new_keys / "code_sign_public"));
    CHECK(publisher.refused().empty());
    CHECK(publisher.path_from(publisher.first).size() == 1);
    CHECK_FALSE(fs::exists(publisher.keys / "code_sign_private"));
    const auto signatures = elsewhere.path() / "signatures";
    sign_files(publisher.version(102).files, new_keys / "code_sign_private", signatures);
    publisher.publish(102, signatures);
    CHECK(publisher.refused().empty());
    CHECK_THROWS_WITH(publisher.change(answer), Contains("is not the signature of a new key"));
}

TEST_CASE("the private key leaves the project's machine with a change", "[server]") {
    Publisher publisher;
    const TemporaryDirectory elsewhere;
    make_key_pair(elsewhere.path(), "code_sign");
    const auto answer = elsewhere.path() / "answer";
    answer_signing_request(
        signing_request(publisher.project.database(), publisher.project.config()),
        publisher.keys / "code_sign_private", elsewhere.path(), answer);
    CHECK_FALSE(publisher.change(answer).has_private_key);
    CHECK_FALSE(fs::exists(publisher.keys / "code_sign_private"));
    CHECK(publisher.refused().empty());
}

TEST_CASE("a file that is not what the key has signed is not signed again", "[server]") {
    Publisher publisher;
    const auto name = *names_in(publisher.project.config().download_directory).begin();
    const auto file = publisher.project.config().download_directory / name;
    write(file, "malware");
    CHECK_THROWS_WITH(publisher.change(), Contains("is not the file that the present key"));
    fs::remove(file);
    CHECK_THROWS_WITH(publisher.change(), Contains("is absent"));
    CHECK(publisher.present() == publisher.first);
    const platform::FolderLock backup{publisher.keys, platform::FolderLock::Sharing::kShared};
    CHECK_THROWS_WITH(publisher.change(), Contains("is in use by another process"));
}

TEST_CASE("a text that is no signing request is refused", "[server]") {
    const std::string md5 = md5_of_text("x");
    const auto with = [&](const std::string& files) {
        return "<signing_request><code_sign_key>1024\n00\n.\n</code_sign_key>" + files +
               "</signing_request>";
    };
    const auto file = [](const std::string& name, const std::string& digest) {
        return "<file_info><name>" + name + "</name><md5_cksum>" + digest +
               "</md5_cksum></file_info>";
    };
    CHECK(parse_signing_request(with(file("a", md5) + file("b", md5))).files.size() == 2);
    for (const std::string& text :
         {std::string{}, std::string{"<signing_request></signing_request>"},
          with(file("../a", md5)), with(file(".a", md5)), with(file("", md5)), with(file("a", "0")),
          with(file("a", md5) + file("a", md5))}) {
        INFO(text);
        CHECK_THROWS_AS(parse_signing_request(text), InputError);
    }
}

}  // namespace dedloc::server
